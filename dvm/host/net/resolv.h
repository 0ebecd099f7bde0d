/* SPDX-License-Identifier: BSD-3-Clause */
/* This host's configuration of names: which names are absolute, and which families of addresses are
 * of use. */
#ifndef DVM_NET_RESOLV_H
#define DVM_NET_RESOLV_H

struct ifaddrs;

/* Bits. */
enum resolv_families { RESOLV_V4 = 1, RESOLV_V6 = 2, RESOLV_BOTH = 3 };

/* The absolute form of a name, without the dot at its end, on the heap. NULL: the name is completed
 * by the search list. A name that ends in a dot is absolute. A name that ends in ".svc" is that of
 * a Kubernetes Service. The cluster's domain follows from the search list of `path`, which has an
 * entry "svc.<domain>" in a pod (kubernetes.io, "DNS for Services and Pods"). */
char *resolv_absolute(const char *path, const char *host);

/* Families of the addresses that this host has: global ones, or loopback ones if there are no
 * others. Both if there is none at all. */
unsigned resolv_families(void);
unsigned resolv_families_of(const struct ifaddrs *list);

#endif
