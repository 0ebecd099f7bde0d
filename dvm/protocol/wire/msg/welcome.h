/* SPDX-License-Identifier: BSD-3-Clause */
/* WELCOME: the answer to a HELLO that is accepted. */
#ifndef DVM_WIRE_MSG_WELCOME_H
#define DVM_WIRE_MSG_WELCOME_H

#include "dvm/protocol/wire/msg/member.h"

struct msg_welcome {
    uint32_t radix;
    struct epoch epoch;     /* of the caller */
    struct msg_member self; /* the daemon that answers */
};
MSG_CODEC(welcome);
MSG_OWNED(welcome);

#endif

#ifdef MSG_ROW
MSG_ROW(WELCOME, welcome, welcome, welcome)
#endif
