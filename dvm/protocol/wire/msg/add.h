/* SPDX-License-Identifier: BSD-3-Clause */
/* ADD: a broadcast of the head. The daemons that it names become members. Their keys come last, of
 * all or of none. Broadcasts are numbered
 * from 1 without a gap; every daemon processes each of them once and in order. */
#ifndef DVM_WIRE_MSG_ADD_H
#define DVM_WIRE_MSG_ADD_H

#include "dvm/protocol/wire/msg/member.h"

struct msg_add {
    uint64_t op;
    size_t nmembers;
    struct msg_member *members;
};
MSG_CODEC(add);
MSG_OWNED(add);

#endif

#ifdef MSG_ROW
MSG_ROW(ADD, add, add, add, NUMBERED)
#endif
