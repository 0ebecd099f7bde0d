/* SPDX-License-Identifier: BSD-3-Clause */
/* Large messages between two neighbours that have several links (docs/protocol/transfer.md). */
#ifndef DVM_TRANSFER_TRANSFER_H
#define DVM_TRANSFER_TRANSFER_H

#include "dvm/protocol/transfer/transfer_fsm.h"
#include "dvm/protocol/wire/msg/msg.h"

#define TRANSFER_FRAGS_MAX 8 /* outstanding fragments of one transfer */
#define TRANSFER_TAKEN_MAX 8 /* transfers that are taken from a neighbour at once; others wait */
#define TRANSFER_TAKEN_BYTES (256u << 20) /* their bytes; one longer message is taken alone */
#define TRANSFER_WINDOW 256               /* from the oldest unfinished transfer to the newest */
#define TRANSFER_REGION_BYTES (8ull * TRANSFER_FRAG_BYTES) /* of PUT and GET */
#define TRANSFER_LINK_ANY UINT32_MAX

/* One of the two ends: all transfers of this daemon with one neighbour, both ways. */
struct transfer_end;

/* The message of a sender. It is read in any order, and again after an error. */
struct transfer_source {
    void *arg;
    uint64_t size;
    struct transfer_match match;
    bool exposed; /* the receiver reads it (GET) */
    /* At most TRANSFER_FRAG_BYTES. The bytes of a message that is sent as MATCH stay until end().
     */
    const uint8_t *(*read)(void *arg, uint64_t offset, size_t len);
    void (*end)(void *arg, bool arrived); /* once, the last call */
};

/* Where a receiver puts a message. Bytes may come twice, with the same content. */
struct transfer_sink {
    void *arg;
    bool regions; /* written region by region (PUT), at the receiver's pace */
    void (*write)(void *arg, uint64_t offset, const uint8_t *data, size_t len);
    void (*end)(void *arg, bool complete); /* once, the last call */
};

/* What an end needs of the layer below. The layer calls transfer_sent() once for each frame that
 * it has accepted, and never from within send(): with true when the other end has processed it,
 * with false after an error of its link. Such a frame may have arrived, or arrive later; the link
 * is not one of those that are up when its frames are reported. */
struct transfer_io {
    void *arg;
    uint32_t (*links)(void *arg);           /* numbered from 0 */
    bool (*room)(void *arg, uint32_t link); /* it takes a fragment now */
    /* On this link, or on the best one (TRANSFER_LINK_ANY). False: no such link is up. */
    bool (*send)(void *arg, uint32_t link, uint64_t frame, const struct msg *m);
    /* A message is offered. False: it is not wanted, and its sender is notified. */
    bool (*accept)(void *arg, const struct transfer_match *match, uint64_t size,
                   struct transfer_sink *sink);
    void (*log)(void *arg, const char *text); /* a frame that the other end cannot have sent */
    uint64_t eager_bytes; /* up to here as MATCH; at most, and if 0, TRANSFER_EAGER_BYTES */
    uint64_t taken_bytes; /* 0: TRANSFER_TAKEN_BYTES */
};

/* `id` is greater than that of every earlier end of this daemon, and not 0. Copies `io`. No
 * function of `io`, of a source or of a sink may call this module. */
struct transfer_end *transfer_end_create(const struct transfer_io *io, uint64_t id);
/* Sources and sinks get their end(), with false. */
void transfer_end_destroy(struct transfer_end *e);
/* Sends the message, in one frame (MATCH) if it is small enough, else by RNDV or RGET. Takes
 * over the source. A message that is being sent already (same match data) is not sent again: only
 * its offer is, if nothing of it is outstanding. */
void transfer_send(struct transfer_end *e, const struct transfer_source *source);
/* A frame of the other end. Its bytes are borrowed. */
void transfer_input(struct transfer_end *e, const struct msg *m);
/* The frame has been processed by the other end, or its link has failed. */
void transfer_sent(struct transfer_end *e, uint64_t frame, bool processed);
/* A link came up or has room again: what waits is sent. */
void transfer_push(struct transfer_end *e);

struct transfer_stats {
    size_t sending, taking; /* transfers that have not ended */
    size_t outstanding;     /* frames without completion */
    uint64_t ended;         /* transfers of either direction that have arrived */
    uint64_t restarts;      /* dances that this end has begun as a sender */
    uint64_t ignored;       /* frames that came late or twice, or of a former dance */
    uint64_t illegal;       /* events that the tables do not have */
};
struct transfer_stats transfer_stats(const struct transfer_end *e);

/* True if the type is one of the messages that transfer_input() takes. */
static inline bool transfer_is_msg(enum msg_type type)
{
    return type >= MSG_MATCH && type <= MSG_ANEW;
}

#endif
