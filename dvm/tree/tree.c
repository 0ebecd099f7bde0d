/* SPDX-License-Identifier: BSD-3-Clause */
/* Parent, children and next hop in a radix tree with promotion. */
#include "dvm/tree/tree.h"

#include <stdbool.h>

static bool is_live(const struct tree *t, uint64_t pos)
{
    return pos <= INT32_MAX && hwloc_bitmap_isset(t->live, (unsigned)pos);
}

/* Each level of a position's subtree is one run of positions, so one look per level is enough. */
static bool subtree_live(const struct tree *t, uint64_t pos)
{
    int last = hwloc_bitmap_last(t->live);
    uint64_t lo = pos;
    uint64_t hi = pos;

    while (last >= 0 && lo <= (uint64_t)last) {
        int next = hwloc_bitmap_next(t->live, (int)lo - 1);

        if (next >= 0 && (uint64_t)next <= hi)
            return true;
        lo = lo * t->radix + 1;
        hi = hi * t->radix + t->radix;
    }
    return false;
}

/* Who fills a position whose subtree has a live vpid. */
static uint32_t occupant(const struct tree *t, uint64_t pos)
{
    while (!is_live(t, pos)) {
        uint64_t child = pos * t->radix + 1;

        while (!subtree_live(t, child))
            child++;
        pos = child;
    }
    return (uint32_t)pos;
}

/* The highest position that the vpid fills. */
static uint64_t top_position(const struct tree *t, uint32_t vpid)
{
    uint64_t pos = vpid;

    while (pos > 0 && occupant(t, (pos - 1) / t->radix) == vpid)
        pos = (pos - 1) / t->radix;
    return pos;
}

uint32_t tree_parent(const struct tree *t, uint32_t vpid)
{
    uint64_t top = top_position(t, vpid);

    return top == 0 ? TREE_NONE : occupant(t, (top - 1) / t->radix);
}

size_t tree_children(const struct tree *t, uint32_t vpid, uint32_t *out, size_t max)
{
    uint64_t top = top_position(t, vpid);
    size_t n = 0;

    for (uint64_t pos = vpid;; pos = (pos - 1) / t->radix) {
        for (uint64_t child = pos * t->radix + 1; child <= pos * t->radix + t->radix; child++) {
            if ((int64_t)child > hwloc_bitmap_last(t->live))
                break;
            if (!subtree_live(t, child) || occupant(t, child) == vpid)
                continue;
            if (out && n < max)
                out[n] = occupant(t, child);
            n++;
        }
        if (pos == top)
            return n;
    }
}

uint32_t tree_next_hop(const struct tree *t, uint32_t self, uint32_t dst)
{
    uint32_t v = dst;

    if (dst == self || !is_live(t, dst) || !is_live(t, self))
        return TREE_NONE;
    while (v != TREE_NONE) {
        uint32_t parent = tree_parent(t, v);

        if (parent == self)
            return v;
        v = parent;
    }
    return tree_parent(t, self);
}

uint32_t tree_depth(const struct tree *t, uint32_t vpid)
{
    uint32_t depth = 0;

    for (uint32_t v = tree_parent(t, vpid); v != TREE_NONE; v = tree_parent(t, v))
        depth++;
    return depth;
}
