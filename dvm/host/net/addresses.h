/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses at which other daemons reach this one, as its user gives them. */
#ifndef DVM_NET_ADDRESSES_H
#define DVM_NET_ADDRESSES_H

#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>

#define ADDRESSES_MAX 4

struct addresses {
    size_t n;
    char *text[ADDRESSES_MAX]; /* numeric, except a single name */
};

struct ifaddrs;

/* A list with commas: numeric addresses, and names of interfaces, which stand for the first address
 * of that interface that other hosts can reach. With `names`, a list of one entry may be a DNS
 * name. -1 and a reason: too many entries, one that is no such thing or is there twice, an address
 * that no other host can reach beside others that they can. */
int addresses_parse(const char *list, bool names, struct addresses *out, struct err *err)
    __attribute__((warn_unused_result));
int addresses_parse_from(const char *list, bool names, const struct ifaddrs *interfaces,
                         struct addresses *out, struct err *err)
    __attribute__((warn_unused_result));
void addresses_free(struct addresses *a);
/* Where to listen so that all of them are reached: a loopback address itself, else all addresses of
 * the host, "::" if one is an IPv6 address. Returns how many; they are borrowed. */
size_t addresses_to_listen(const struct addresses *a, const char *out[ADDRESSES_MAX]);

#endif
