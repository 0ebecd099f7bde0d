/* SPDX-License-Identifier: BSD-3-Clause */
/* Routed messages: end to end once and in order per (peer, life, class), whatever links and relays
 * fail between. */
#ifndef DVM_RML_RML_H
#define DVM_RML_RML_H

#include "dvm/link/link.h"
#include "dvm/member/member.h"

#define RML_WINDOW_BYTES                                                                           \
    (4u << 20) /* on the way unacknowledged, per stream; more waits at the sender */
#define RML_REORDER_MAX                                                                            \
    256 /* frames kept that came before their turn; more are dropped and come again */
#define RML_RESEND_MS 1000 /* without progress, doubling to 8 s */
#define RML_BACKOFFS 4     /* 1, 2, 4, 8 s */
#define RML_ACK_DELAY_MS 40
#define RML_DEFER_MAX 1024 /* messages ahead of our membership version that wait for it */

struct rml_frame { /* an encoded frame that waits: for its acknowledgement, or for its turn */
    uint64_t seq;
    struct buf bytes;
    bool sent;
    struct rml_frame *next, *prev;
};

struct rml_stream;

struct rml {
    struct out *out;
    struct members *members;
    struct links *links;
    struct rml_stream *streams;               /* by (vpid, class) */
    struct rml_stream *acks;                  /* that owe one, by time */
    struct rml_stream *resends[RML_BACKOFFS]; /* with frames on their way, by time; by backoff */
    struct rml_frame *inbox; /* whole frames to be delivered, in order; also those to ourselves */
    struct rml_frame *deferred; /* ahead of our membership version */
    size_t ndeferred;
    struct epoch epoch; /* our own life */
    uint64_t stale;     /* frames refused */
    uint64_t circled;   /* frames that had made FRAME_HOPS_MAX hops and were not passed on */
};

void rml_init(struct rml *r, struct out *out, struct members *members, struct links *links);
void rml_free(struct rml *r);
/* The header fields that say who we are. */
struct frame rml_from(const struct rml *r);
/* Encodes and queues; -1 (nothing queued) only if the peer is not a member now or the message is
 * too long. */
int rml_send(struct rml *r, uint32_t vpid, enum out_class traffic, const struct msg *m,
             struct err *err);
/* A routed frame came over a link: relays it unread, or takes it in. */
void rml_input(struct rml *r, const struct frame *f, const uint8_t *data, size_t len);
/* The next message for this daemon; `bytes` (header and body) is the caller's to free. */
bool rml_next(struct rml *r, struct buf *bytes);
/* Routes have changed or a link came up: what is unacknowledged goes again. */
void rml_routes_changed(struct rml *r);
/* The vpid's life is over: its streams end. */
void rml_forget(struct rml *r, uint32_t vpid);
void rml_tick(struct rml *r);
uint64_t rml_deadline(const struct rml *r);
size_t rml_backlog(const struct rml *r, uint32_t vpid, enum out_class traffic);
/* The number of the last message sent so, and whether all up to a number have arrived (or will
 * never: the peer's life is over). */
uint64_t rml_sent(const struct rml *r, uint32_t vpid, enum out_class traffic);
bool rml_arrived(const struct rml *r, uint32_t vpid, enum out_class traffic, uint64_t seq);

#endif
