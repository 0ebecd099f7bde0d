/* SPDX-License-Identifier: BSD-3-Clause */
/* Routed messages: delivered once and in order per (peer, epoch, class), even when links and
 * relays on their way fail. */
#ifndef DVM_RML_RML_H
#define DVM_RML_RML_H

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/neighbour/neighbour.h"
#include "dvm/protocol/rml/hop.h"

#define RML_WINDOW_BYTES (4u << 20) /* in flight per stream; more waits at the sender */
#define RML_REORDER_MAX 256 /* early frames that are kept; more are dropped and sent again */
#define RML_RESEND_MS 1000  /* without progress, doubling to 8 s */
#define RML_RESEND_BYTES (16u << 20) /* with more in flight 2, 4 or 8 s at first */
#define RML_BACKOFFS 6               /* 0.25 and 0.5 s after a change of the route; 1, 2, 4, 8 s */
#define RML_BACKOFF_FIRST 2
#define RML_ACK_DELAY_MS 40
/* Bytes of a stream that wait or are unacknowledged. At this limit rml_send() refuses SUBMIT,
 * LAUNCH, LOCAL_JOB, APP, RESIZE_ASK and contributions to collectives, whose senders handle that.
 * Other messages are small, and bounded by the number of jobs, or answer contributions. At twice
 * the limit the peer is declared lost. If nothing waits, a message of any length is accepted. A
 * message that is itself longer than the limit does not count towards the peer's loss: its length
 * says how long its acknowledgement takes. */
#define RML_BACKLOG_MAX (128u << 20)
#define RML_BACKLOG_END (2 * RML_BACKLOG_MAX)
#define RML_DEFER_MAX 1024          /* messages of a later membership version that wait, */
#define RML_DEFER_BYTES (64u << 20) /* and their bytes; more are dropped and sent again */

struct rml;

/* Borrows all but backlog_max, the limit for the bytes of a stream (0: RML_BACKLOG_MAX). */
struct rml *rml_create(struct out *out, struct members *members, struct neighbours *neighbours,
                       size_t backlog_max);
void rml_destroy(struct rml *r);
/* From which length on frames go as transfers, and these by RNDV (dvm/protocol/rml/hop.h). */
void rml_set_hop_limits(struct rml *r, const struct hop_limits *limits);
/* This daemon's own epoch, none at first. */
void rml_set_epoch(struct rml *r, struct epoch epoch);
/* The header fields of a frame from this daemon. */
struct frame rml_from(const struct rml *r);
/* Encodes and queues; -1 (nothing queued) only if the peer is not a member now, the message is too
 * long, or too much waits for the peer already. */
int rml_send(struct rml *r, uint32_t vpid, enum out_class traffic, const struct msg *m,
             struct err *err);
/* A routed frame came over a link: it is relayed unread, or processed here. */
void rml_input(struct rml *r, const struct frame *f, const uint8_t *data, size_t len);
/* A message of a transfer came over a link that is up. rml_transferred() has the frames that it
 * completes, until the next call; the caller checks their sender, then calls rml_input(). */
void rml_transfer(struct rml *r, struct neighbour *k, const struct msg *m);
/* The next complete frame; the caller frees it. */
bool rml_transferred(struct rml *r, struct buf *frame);
/* The next message for this daemon; `bytes` (header and body) is the caller's to free. */
bool rml_next(struct rml *r, struct buf *bytes);
/* Routes have changed, or a neighbour is up. Frames in flight are sent again if their route is
 * another one, since a relay may have taken them with it. */
void rml_routes_changed(struct rml *r);
/* The neighbour has begun a new session, and has none of the frames of the former one. */
void rml_new_session(struct rml *r, const struct neighbour *k);
/* A neighbour may have room again for frames that wait. */
void rml_room(struct rml *r);
/* The vpid's epoch has ended: its streams end. */
void rml_forget(struct rml *r, uint32_t vpid);
void rml_tick(struct rml *r);
uint64_t rml_deadline(const struct rml *r);
size_t rml_waiting(const struct rml *r); /* bytes in all streams */
size_t rml_backlog(const struct rml *r, uint32_t vpid, enum out_class traffic);
/* The number of the last message sent; and whether all messages up to a number have arrived.
 * Also true if the peer's epoch has ended, since they never will. */
uint64_t rml_sent(const struct rml *r, uint32_t vpid, enum out_class traffic);
bool rml_arrived(const struct rml *r, uint32_t vpid, enum out_class traffic, uint64_t seq);
/* The number of the last message that was taken from it, in order. */
uint64_t rml_taken(const struct rml *r, uint32_t vpid, enum out_class traffic);

/* Calls back for each message to the peer that it has not acknowledged, in their order: the whole
 * frame, borrowed. */
void rml_each_unacked(const struct rml *r, uint32_t vpid, enum out_class traffic,
                      void (*each)(void *arg, const uint8_t *data, size_t len), void *arg);

/* The peer whose backlog is beyond its limit, once: the caller ends one of the two epochs. False:
 * none. */
bool rml_behind(struct rml *r, struct msg_target *who, size_t *limit);
bool rml_has_next(const struct rml *r); /* rml_next() has one */

struct rml_stats {
    uint64_t stale;      /* frames refused */
    uint64_t circled;    /* frames that had made FRAME_HOPS_MAX hops and were not passed on */
    size_t backlog_most; /* the most bytes that any stream has had */
    size_t nstreams;
    size_t ndeferred, deferred_bytes; /* messages of a later membership version */
    struct transfer_stats transfers;  /* of all neighbours */
};
struct rml_stats rml_stats(const struct rml *r);

#endif
