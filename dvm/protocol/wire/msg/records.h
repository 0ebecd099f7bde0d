/* SPDX-License-Identifier: BSD-3-Clause */
/* RECORDS: the head to a keeper, which keeps them; a keeper to a new head that has asked for them.
 * A group of records, or a snapshot, comes in pieces over one connection. */
#ifndef DVM_WIRE_MSG_RECORDS_H
#define DVM_WIRE_MSG_RECORDS_H

#include "dvm/protocol/wire/msg/fields.h"

#define RECORDS_PIECE_BYTES (256u << 10)

struct msg_records {
    uint64_t stream;     /* named by the head, each with a higher number; a snapshot begins it */
    uint64_t seq;        /* of the group: its number in this epoch of the head */
    uint64_t now_ms;     /* by the head's clock, with which its keeper goes on */
    bool begins, ends;   /* it is the first piece of the group, the last one */
    bool snapshot;       /* the group replaces all before it */
    bool drop;           /* this daemon is no keeper any more; stream 0: of release 0.1.0 */
    const uint8_t *data; /* borrowed, also after decoding */
    size_t len;
};
MSG_CODEC(records);

#endif

#ifdef MSG_ROW
MSG_ROW(RECORDS, records, records, nothing, ON_LINK)
#endif
