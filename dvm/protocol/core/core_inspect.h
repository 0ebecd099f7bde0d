/* SPDX-License-Identifier: BSD-3-Clause */
/* A view of one daemon for checkers of invariants, and its voice for the simulator (dvm/sim). */
#ifndef DVM_CORE_CORE_INSPECT_H
#define DVM_CORE_CORE_INSPECT_H

#include "dvm/protocol/core/core.h"
#include "dvm/protocol/head/head.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/peer/peer.h"

const struct members *core_inspect_members(const struct core *c);
const struct head *core_inspect_head(const struct core *c); /* NULL on other daemons */
struct epoch core_inspect_epoch(const struct core *c);      /* of this epoch */
uint64_t
core_inspect_complete(const struct core *c); /* head: broadcasts that all daemons have processed */
uint32_t core_inspect_lifeline(const struct core *c); /* VPID_NONE: there is none */
/* Each link that is up, with the daemon at its other end. */
void core_inspect_links(const struct core *c, void (*on)(void *arg, uint32_t vpid, struct epoch e),
                        void *arg);
/* The frames between this daemon and a neighbour that is up, and its links. */
struct core_inspect_peer {
    uint32_t vpid;
    struct epoch epoch;
    uint64_t session;
    bool incoming, lifeline;
    size_t links, out;           /* greeted; those of them that are mapped out */
    size_t by_way[OUT_WAYS_MAX]; /* of the greeted ones, if we have made them */
    struct peer_stats frames;
};
void core_inspect_peers(const struct core *c,
                        void (*on)(void *arg, const struct core_inspect_peer *p), void *arg);
/* The head: keepers in sync, up to `max`; how many. */
size_t core_inspect_keepers(const struct core *c, uint32_t *vpids, size_t max);
/* Whether a keeper has the records of all that others have seen. */
bool core_inspect_kept_all(const struct core *c, uint32_t vpid);
bool core_inspect_from_volume(const struct core *c); /* the head has begun with its records */
/* Bytes of routed messages that wait or are not acknowledged. */
size_t core_inspect_waiting(const struct core *c);
/* The number of the last routed message to that daemon. */
uint64_t core_inspect_sent(const struct core *c, uint32_t vpid, enum out_class traffic);
/* The number of the last one that was taken from it, in order. */
uint64_t core_inspect_taken(const struct core *c, uint32_t vpid, enum out_class traffic);
/* The number of the hop whose turn it is on this connection; 0: it has not greeted. */
uint64_t core_inspect_turn(const struct core *c, uint64_t conn);
/* Sends a message in this daemon's own name, whatever it is: for daemons that lie. */
int core_inspect_send(struct core *c, uint32_t vpid, enum out_class traffic, const struct msg *m);
bool core_inspect_up(const struct core *c, uint64_t conn); /* greeted and not closing */
/* One input can bring several messages. on() is called after each of them, after each step of the
 * head, and at the end of each turn, while the actions still wait in the outbox. It must not make
 * an input. */
void core_inspect_watch(struct core *c, void (*on)(void *arg), void *arg);

#endif
