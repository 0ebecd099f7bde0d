/* SPDX-License-Identifier: BSD-3-Clause */
/* The names in the signature of a collective. */
#ifndef DVM_GATHER_SIGNATURE_H
#define DVM_GATHER_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A signature is a byte for its kind and then names. A name is a namespace, ended by NUL, and a
 * rank of 4 bytes, big-endian. */
struct signature_name {
    const char *nspace; /* borrows of the signature */
    uint32_t rank;
};

/* The next complete name; the first one with *at = 0. False: there is none. */
bool signature_next(const void *sig, size_t siglen, size_t *at, struct signature_name *out);
/* True if it is nothing else than a kind and complete names, one at least. Others belong to no
 * job. */
bool signature_has_jobs(const void *sig, size_t siglen);
bool signature_names(const void *sig, size_t siglen, const char *nspace);

#endif
