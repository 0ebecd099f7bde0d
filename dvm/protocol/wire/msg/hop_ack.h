/* SPDX-License-Identifier: BSD-3-Clause */
/* HOP_ACK: the frames that a neighbour has received. The header acknowledges all up to a number;
 * the ranges are those after a gap, in ascending order. */
#ifndef DVM_WIRE_MSG_HOP_ACK_H
#define DVM_WIRE_MSG_HOP_ACK_H

#include "dvm/protocol/wire/msg/fields.h"

#define HOP_RANGES_MAX 32

struct hop_range {
    uint64_t first, last;
};

struct msg_hop_ack {
    size_t n;
    struct hop_range ranges[HOP_RANGES_MAX];
};
MSG_CODEC(hop_ack);

#endif

#ifdef MSG_ROW
MSG_ROW(HOP_ACK, hop_ack, hop_ack, nothing, ON_LINK)
#endif
