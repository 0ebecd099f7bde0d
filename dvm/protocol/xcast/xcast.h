/* SPDX-License-Identifier: BSD-3-Clause */
/* Reliable broadcast of membership operations down the tree, with acknowledgement up and completion
 * at the head. */
#ifndef DVM_XCAST_XCAST_H
#define DVM_XCAST_XCAST_H

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/neighbour/neighbour.h"

/* Each operation has a number, which is also the membership version that it makes. An operation is
 * forwarded before it is handled, so that a parent tells a child the cause before it closes its
 * link.
 *
 * A daemon acknowledges version v to its parent in the tree of v. Before, it has processed v,
 * and all its children in that tree have acknowledged v. Both sides have to be at the same
 * version, so that no daemon is missed between two trees. At the head, the completion of v
 * completes all operations up to v. */
#define XCAST_RING                                                                                 \
    256 /* operations kept for daemons that come back; a daemon that has missed more gets a        \
           snapshot */

struct xcast;

/* Borrows all. */
struct xcast *xcast_create(struct out *out, struct members *members, struct neighbours *neighbours);
void xcast_destroy(struct xcast *x);
/* Head: every daemon is known to have processed all operations up to this one. */
uint64_t xcast_completed(const struct xcast *x);
/* The next operation in order: keeps it, and forwards it to the children in the tree before it.
 * The caller then applies it to the members (which sets members->version) and calls
 * xcast_check(). */
void xcast_forward(struct xcast *x, const struct frame *from, const struct msg *m);
/* Sends every kept operation after `have` over a link that came up; false if some are no longer
 * kept. */
bool xcast_replay(struct xcast *x, struct neighbour *k, const struct frame *from, uint64_t have);
void xcast_ack(struct xcast *x, uint32_t vpid, struct epoch epoch, uint64_t version);
/* Acknowledges to the parent, or completes at the head, if that is due now. */
void xcast_check(struct xcast *x, const struct frame *from);
/* The link to the parent is a new one: acknowledges again. */
void xcast_parent_changed(struct xcast *x);
/* True if this child has not acknowledged the present version. */
bool xcast_waits_for(const struct xcast *x, uint32_t child);

#endif
