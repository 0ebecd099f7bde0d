/* SPDX-License-Identifier: BSD-3-Clause */
/* The heads of an incarnation, one after the other, and the version since which the table names
 * each of them. */
#ifndef DVM_MEMBER_HEADS_H
#define DVM_MEMBER_HEADS_H

#include <stddef.h>
#include <stdint.h>

#define HEADS_MAX 64 /* the oldest are forgotten */

struct heads { /* zeroed: none is known */
    size_t n;
    struct {
        uint64_t ctr;   /* of its epoch */
        uint64_t since; /* a version: that of its own ADD, or that of a snapshot which names it */
    } tab[HEADS_MAX];   /* the oldest is first */
};

/* A later one than all before. */
void heads_add(struct heads *h, uint64_t ctr, uint64_t since);
/* The version since which the table names a later head than this one, of whose epoch the low 32
 * bits are given. A daemon that knows no later head has processed no such version, or another
 * operation of that number. UINT64_MAX: no later head is known. */
uint64_t heads_since_after(const struct heads *h, uint32_t known);

#endif
