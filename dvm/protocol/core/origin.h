/* SPDX-License-Identifier: BSD-3-Clause */
/* Which daemon may send which message.
 *
 * In: the header of a frame, and the link that has carried it. Out: a reason to refuse the frame,
 * or none. core_conn_frame() asks for each frame, also for one that this daemon only relays.
 *
 * One table names the sender of each message type (origin.c). A message between neighbours comes
 * from the caller or the called daemon of the link, from above (the daemon that this one has
 * called) or from below. A routed message comes from the head, goes to the head, or neither.
 *
 * The source in a routed header is what the sender says. The link tells where it really comes from.
 * So a frame that comes from below has a source in the subtree of that neighbour, and never the
 * head. Trees change while frames are under way: the last ORIGIN_TREES trees count as well. A frame
 * that comes later is sent again by its source.
 *
 * Invariants: a type without a row is refused. The head's messages reach a member from above only,
 * and the head never.
 *
 * Limits: a neighbour above can name any source. A daemon is therefore trusted for its own subtree,
 * and for nothing else (docs/security.md). */
#ifndef DVM_CORE_ORIGIN_H
#define DVM_CORE_ORIGIN_H

#include "dvm/protocol/wire/msg/msg.h"

#include <hwloc/bitmap.h>

struct core;
struct neighbour;

enum origin_who {
    ORIGIN_NOBODY,
    ORIGIN_NEIGHBOUR, /* either end of the link */
    ORIGIN_CALLER,    /* the end that has made the connection */
    ORIGIN_CALLED,    /* the other end */
    ORIGIN_ABOVE,     /* the daemon that this one has called */
    ORIGIN_BELOW,     /* a daemon that has called this one, or its child in the tree */
    ORIGIN_HEAD,      /* routed: the head */
    ORIGIN_TO_HEAD,   /* routed: any daemon, to the head */
    ORIGIN_ANY,       /* routed: any daemon, to any daemon */
};

#define ORIGIN_TREES 8

struct origin { /* trees of earlier membership versions, by their live vpids; zeroed at first */
    hwloc_bitmap_t past[ORIGIN_TREES]; /* a ring */
    unsigned next;
};

enum origin_who origin_of(unsigned type);
/* The tree is about to change. */
void origin_note_tree(struct origin *o, hwloc_const_bitmap_t live);
/* This daemon has just joined that tree, and knows no earlier one. */
void origin_note_joined(struct origin *o, hwloc_const_bitmap_t live, uint32_t self);
void origin_clear(struct origin *o);
bool origin_was_child(const struct core *c, uint32_t vpid); /* before the tree changed last */
/* Why the frame is refused; NULL: its sender may send it. */
const char *origin_refusal(const struct core *c, const struct neighbour *k, const struct frame *f);

#endif
