/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of a routed frame to the next daemon: as it is, or as a transfer if it is large. */
#ifndef DVM_RML_HOP_H
#define DVM_RML_HOP_H

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/neighbour/neighbour.h"
#include "dvm/protocol/transfer/transfer.h"

/* A longer frame is a transfer. What a client sends at once (CLIENT_DATA_MAX) is not: input would
 * cost a quarter more CPU. */
#define HOP_DIRECT_BYTES (272u << 10)
#define HOP_FRAGS_MAX 8 /* fragments on a link that the peer has not processed */
#define HOP_FRAME_BYTES (MSG_ROUTED_MAX + (1u << 20)) /* of the longest frame */
#define HOP_REGIONS_BYTES (4u << 20) /* a longer message is written region by region (PUT) */

struct hops; /* of one daemon */

struct hop_limits { /* 0: the default */
    size_t direct_bytes;
    size_t eager_bytes;   /* a longer transfer goes by RNDV or RGET */
    size_t waiting_bytes; /* that transfers to a neighbour may hold; PEER_BACKLOG_MAX */
};

/* Borrows all. */
struct hops *hops_create(struct out *out, struct members *members, struct neighbours *neighbours);
void hops_set_limits(struct hops *h, const struct hop_limits *limits); /* copied */
void hops_destroy(struct hops *h);
void hops_set_epoch(struct hops *h, struct epoch epoch);
/* A routed frame goes over this link, or over another one to the same daemon. */
int hops_send(struct hops *h, struct neighbour *k, const void *frame, size_t len)
    __attribute__((warn_unused_result));
/* The same for a frame of another daemon: its header with one hop more, its body unchanged. */
int hops_relay(struct hops *h, struct neighbour *k, const struct frame *f, const uint8_t *body,
               size_t len) __attribute__((warn_unused_result));
/* A message of a transfer has come over a link that is up. */
void hops_input(struct hops *h, struct neighbour *k, const struct msg *m);
/* The next routed frame that has come as a transfer. The caller frees it. */
bool hops_next(struct hops *h, struct buf *frame);
/* Links have come up, or the tree has changed. */
void hops_check(struct hops *h);
/* The same, if links have gone since the last check. */
void hops_tick(struct hops *h);
/* The other side has begun a new session: the frames of the former one have met an error. */
void hops_new_session(struct hops *h, const struct neighbour *k);
/* The vpid's epoch has ended. */
void hops_forget(struct hops *h, uint32_t vpid);
struct transfer_stats hops_stats(const struct hops *h);

#endif
