/* SPDX-License-Identifier: BSD-3-Clause */
/* The callers of a new head that asks for records: one is found, and those that fit are counted. */
#include "dvm/protocol/core/core_private.h"

#include "base/bitmap/bitmap.h"

#include <utlist.h>

struct asking_caller *callers_find(const struct asking *a, uint64_t conn)
{
    struct asking_caller *x;

    DL_FOREACH(a->callers, x)
    {
        if (x->conn == conn)
            return x;
    }
    return NULL;
}

unsigned callers_count(const struct asking *a, callers_test *counts, const struct asking_caller *as)
{
    hwloc_bitmap_t vpids = bitmap_alloc();
    const struct asking_caller *x;
    unsigned n;

    DL_FOREACH(a->callers, x)
    {
        if (counts(x, as))
            bitmap_set(vpids, x->vpid);
    }
    n = (unsigned)hwloc_bitmap_weight(vpids);
    hwloc_bitmap_free(vpids);
    return n;
}
