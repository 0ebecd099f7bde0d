/* SPDX-License-Identifier: BSD-3-Clause */
/* SNAPSHOT: replaces all broadcasts up to a number, for a child that has missed more than
 * the parent keeps. */
#ifndef DVM_WIRE_MSG_SNAPSHOT_H
#define DVM_WIRE_MSG_SNAPSHOT_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_snapshot {
    uint64_t op; /* all broadcasts up to this one are in the table */
    uint32_t radix;
    const uint8_t *table; /* of members (dvm/protocol/member); borrowed, also after decoding */
    size_t len;
};
MSG_CODEC(snapshot);

#endif

#ifdef MSG_ROW
MSG_ROW(SNAPSHOT, snapshot, snapshot, nothing, NUMBERED)
#endif
