/* SPDX-License-Identifier: BSD-3-Clause */
/* LOST: to the head. A neighbour departed without BYE, or the sender itself cannot go on. */
#ifndef DVM_WIRE_MSG_LOST_H
#define DVM_WIRE_MSG_LOST_H

#include "dvm/protocol/wire/msg/target.h"

struct msg_lost {
    struct msg_target who;
    char *why;
};
MSG_CODEC(lost);
MSG_OWNED(lost);

#endif

#ifdef MSG_ROW
MSG_ROW(LOST, lost, lost, lost, ROUTED)
#endif
