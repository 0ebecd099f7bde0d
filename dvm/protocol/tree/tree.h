/* SPDX-License-Identifier: BSD-3-Clause */
/* The radix tree of daemons: pure arithmetic over the set of live vpids. */
#ifndef DVM_TREE_TREE_H
#define DVM_TREE_TREE_H

#include <hwloc/bitmap.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_NONE UINT32_MAX

/* Position p has the child positions p*radix+1 .. p*radix+radix. A live vpid sits on its own
 * position. An empty position is filled by promotion: by the occupant of its first child
 * position whose subtree has a live vpid. The tree is thus a function of (live, radix) alone:
 * daemons with the same set have the same tree, whatever its history. Vpid 0 must be live.
 * Fan-out: if the deepest live vpid's own position is on level d (vpid 0: level 0), no daemon
 * has more than radix + (d-2)*(radix-1) children, or radix if d <= 2. Some set reaches this
 * bound (proof: docs/protocol/tree.md). `live` is borrowed. Cost of each call: O(radix *
 * depth^2), without a walk over the vpids. */
struct tree {
    hwloc_const_bitmap_t live;
    uint32_t radix;
};

/* TREE_NONE for vpid 0. `vpid` must be live. */
uint32_t tree_parent(const struct tree *t, uint32_t vpid);
/* Fills `out` (may be NULL) with at most `max` children in ascending position; returns their
 * number. */
size_t tree_children(const struct tree *t, uint32_t vpid, uint32_t *out, size_t max);
/* The neighbour of `self` towards `dst`; TREE_NONE if either is not live, or dst is self. */
uint32_t tree_next_hop(const struct tree *t, uint32_t self, uint32_t dst);
uint32_t tree_depth(const struct tree *t, uint32_t vpid);

#endif
