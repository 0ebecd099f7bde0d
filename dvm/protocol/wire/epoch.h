/* SPDX-License-Identifier: BSD-3-Clause */
/* The epoch of a daemon: one membership of a vpid, from its admission to its removal. No two
 * daemons of a cluster have the same epoch. */
#ifndef DVM_WIRE_EPOCH_H
#define DVM_WIRE_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: no epoch. */
struct epoch {
    uint64_t inc; /* incarnation of the head; 0: no epoch */
    uint64_t ctr; /* the head counts it up at each admission */
};

static inline bool epoch_eq(struct epoch a, struct epoch b)
{
    return a.inc == b.inc && a.ctr == b.ctr;
}

static inline bool epoch_none(struct epoch e)
{
    return e.inc == 0;
}

#endif
