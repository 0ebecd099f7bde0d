/* SPDX-License-Identifier: BSD-3-Clause */
/* Parent, children and next hop in a radix tree with promotion. */
#include "dvm/protocol/tree/tree.h"

#include <stdbool.h>

/* The tree and its last live vpid. It is searched once for each call, since after a removal of
 * the highest vpids the search has to pass over the empty end of the set. */
struct view {
    const struct tree *t;
    int last;
};

static struct view view_of(const struct tree *t)
{
    return (struct view){t, hwloc_bitmap_last(t->live)};
}

static bool is_live(const struct tree *t, uint64_t pos)
{
    return pos <= INT32_MAX && hwloc_bitmap_isset(t->live, (unsigned)pos);
}

/* Each level of a position's subtree is one run of positions, so one look per level suffices. */
static bool subtree_live(const struct view *w, uint64_t pos)
{
    const struct tree *t = w->t;
    uint64_t lo = pos;
    uint64_t hi = pos;

    while (w->last >= 0 && lo <= (uint64_t)w->last) {
        int next = hwloc_bitmap_next(t->live, (int)lo - 1);

        if (next >= 0 && (uint64_t)next <= hi)
            return true;
        lo = lo * t->radix + 1;
        hi = hi * t->radix + t->radix;
    }
    return false;
}

/* The vpid that fills a position whose subtree has a live vpid. */
static uint32_t occupant_of(const struct view *w, uint64_t pos)
{
    while (!is_live(w->t, pos)) {
        uint64_t child = pos * w->t->radix + 1;

        while (!subtree_live(w, child))
            child++;
        pos = child;
    }
    return (uint32_t)pos;
}

/* The highest position that the vpid fills. */
static uint64_t top_position(const struct view *w, uint32_t vpid)
{
    uint64_t pos = vpid;

    while (pos > 0 && occupant_of(w, (pos - 1) / w->t->radix) == vpid)
        pos = (pos - 1) / w->t->radix;
    return pos;
}

static uint32_t parent_of(const struct view *w, uint32_t vpid)
{
    uint64_t top = top_position(w, vpid);

    return top == 0 ? TREE_NONE : occupant_of(w, (top - 1) / w->t->radix);
}

uint32_t tree_parent(const struct tree *t, uint32_t vpid)
{
    struct view w = view_of(t);

    return parent_of(&w, vpid);
}

size_t tree_children(const struct tree *t, uint32_t vpid, uint32_t *out, size_t max)
{
    struct view w = view_of(t);
    uint64_t top = top_position(&w, vpid);
    size_t n = 0;

    for (uint64_t pos = vpid;; pos = (pos - 1) / t->radix) {
        for (uint64_t child = pos * t->radix + 1; child <= pos * t->radix + t->radix; child++) {
            uint32_t who;

            if ((int64_t)child > w.last)
                break;
            if (!subtree_live(&w, child))
                continue;
            who = occupant_of(&w, child);
            if (who == vpid)
                continue;
            if (out && n < max)
                out[n] = who;
            n++;
        }
        if (pos == top)
            return n;
    }
}

uint32_t tree_next_hop(const struct tree *t, uint32_t self, uint32_t dst)
{
    struct view w = view_of(t);
    uint32_t v = dst;

    if (dst == self || !is_live(t, dst) || !is_live(t, self))
        return TREE_NONE;
    while (v != TREE_NONE) {
        uint32_t parent = parent_of(&w, v);

        if (parent == self)
            return v;
        v = parent;
    }
    return parent_of(&w, self);
}

uint32_t tree_depth(const struct tree *t, uint32_t vpid)
{
    struct view w = view_of(t);
    uint32_t depth = 0;

    for (uint32_t v = parent_of(&w, vpid); v != TREE_NONE; v = parent_of(&w, v))
        depth++;
    return depth;
}
