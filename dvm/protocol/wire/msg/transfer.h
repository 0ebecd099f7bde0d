/* SPDX-License-Identifier: BSD-3-Clause */
/* MATCH, RNDV, RGET, FRAG, ACK, PUT, GET, FIN, RNDVRESTARTNOTIFY, RECVERRNOTIFY, RNDVRESTARTACK,
 * RNDVRESTARTNACK, ANEW, TAKEN: large messages between two neighbours (docs/protocol/transfer.md).
 * The bytes of a decoded message are borrowed from its frame. */
#ifndef DVM_WIRE_MSG_TRANSFER_H
#define DVM_WIRE_MSG_TRANSFER_H

#include "dvm/protocol/wire/msg/fields.h"

#define TRANSFER_FRAG_BYTES (64u << 10) /* of each fragment but the last one */
#define TRANSFER_EAGER_BYTES (512u << 10)

/* Which transfer it is. Numbers of transfers count from 1 in each series of their sender. */
struct transfer_ref {
    uint64_t from_end; /* which object at the sender of this frame; later ones are greater */
    uint64_t to_end;   /* the same of its receiver; 0: not known yet */
    uint32_t series;   /* of the sender of the transfer */
    uint64_t number;
    uint32_t dance; /* restarts of this transfer so far */
};

/* Which message it carries: the match data. */
struct transfer_match {
    uint32_t src, dst;
    struct epoch src_epoch;
    uint8_t traffic; /* enum out_class */
    uint64_t seq;    /* in the stream of source, destination and class */
};

struct msg_match { /* MATCH: a whole message */
    struct transfer_ref ref;
    struct transfer_match match;
    const uint8_t *data;
    size_t len; /* at most TRANSFER_EAGER_BYTES */
};
MSG_CODEC(match);

/* RNDV: a message of `size` bytes waits to be sent. RGET: it waits to be read by the receiver.
 * RNDVRESTARTNOTIFY: it has to be restarted; ref.dance is the dance that begins. */
struct msg_rndv {
    struct transfer_ref ref;
    struct transfer_match match;
    uint64_t size;
};
MSG_CODEC(rndv);

struct msg_frag { /* FRAG: a part of a message */
    struct transfer_ref ref;
    uint64_t offset;
    const uint8_t *data;
    size_t len;
};
MSG_CODEC(frag);

/* All bytes up to offset + len may be sent. ACK: all of the message. PUT: this region may be
 * written. GET: this region is read. RNDVRESTARTACK: the same, and bytes before `offset` are there;
 * ref.dance begins. */
struct msg_grant {
    struct transfer_ref ref;
    uint64_t offset;
    uint64_t len;
};
MSG_CODEC(grant);

struct msg_fin { /* FIN: all bytes before `offset` have been written, or read */
    struct transfer_ref ref;
    struct transfer_match match;
    uint64_t offset;
    bool by_receiver; /* it has read all; else by the sender */
};
MSG_CODEC(fin);

/* RECVERRNOTIFY: the receiver met an error in this dance. RNDVRESTARTNACK: the receiver needs no
 * more of this transfer. ANEW: only says which end there is now. */
struct msg_ref {
    struct transfer_ref ref;
};
MSG_CODEC(ref);

struct msg_taken { /* TAKEN: so many frames of transfers have come over this link */
    uint64_t count;
};
MSG_CODEC(taken);

static inline bool transfer_match_eq(const struct transfer_match *a, const struct transfer_match *b)
{
    return a->src == b->src && a->dst == b->dst && epoch_eq(a->src_epoch, b->src_epoch) &&
           a->traffic == b->traffic && a->seq == b->seq;
}

#endif
