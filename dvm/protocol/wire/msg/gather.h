/* SPDX-License-Identifier: BSD-3-Clause */
/* GATHER_UP, GATHER_DOWN: a part of a collective (dvm/protocol/gather). */
#ifndef DVM_WIRE_MSG_GATHER_H
#define DVM_WIRE_MSG_GATHER_H

#include "dvm/protocol/wire/msg/fields.h"

/* The outcome of a collective. Its first participant decides it for all. If that daemon is lost,
 * participants that have no outcome yet get GATHER_LOST. */
enum gather_outcome {
    GATHER_OK,
    GATHER_LOST,    /* a participant was lost, or never took part */
    GATHER_TIMEOUT, /* the time limit of one participant has passed */
    /* Since edition 1. A daemon of edition 0 drops a message with one of these: the collective then
     * waits for the end of its job. */
    GATHER_ENDED, /* as OK, but ranks had ended before they contributed */
    GATHER_WAITS, /* DOWN, and no outcome: the sender waits for the receiver's contribution */
    GATHER_OUTCOMES
};

/* All contributions are in the data. */
static inline bool gather_is_good(enum gather_outcome o)
{
    return o == GATHER_OK || o == GATHER_ENDED;
}

struct msg_gather { /* data is borrowed, also after decoding */
    uint64_t seq;   /* within this signature */
    const uint8_t *sig;
    size_t siglen;
    enum gather_outcome outcome; /* UP: a failure that the sender has seen */
    size_t nvpids;               /* the participants, ascending; DOWN may omit them */
    uint32_t *vpids;
    const uint8_t *data;
    size_t len;
};
MSG_CODEC(gather);
MSG_OWNED(gather);

#endif
