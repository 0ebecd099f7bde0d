/* SPDX-License-Identifier: BSD-3-Clause */
/* XACK: to the parent. The sender's whole subtree in the tree of `op` has processed `op`. */
#ifndef DVM_WIRE_MSG_XACK_H
#define DVM_WIRE_MSG_XACK_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_xack {
    uint64_t op;
};
MSG_CODEC(xack);

#endif

#ifdef MSG_ROW
MSG_ROW(XACK, xack, xack, nothing, NUMBERED)
#endif
