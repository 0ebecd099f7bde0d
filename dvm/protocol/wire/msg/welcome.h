/* SPDX-License-Identifier: BSD-3-Clause */
/* WELCOME: the answer to a HELLO that is accepted. */
#ifndef DVM_WIRE_MSG_WELCOME_H
#define DVM_WIRE_MSG_WELCOME_H

#include "dvm/protocol/wire/msg/member.h"

struct msg_welcome {
    uint32_t radix;
    struct epoch epoch;     /* of the caller */
    struct msg_member self; /* the daemon that answers */
    uint64_t session;       /* that of the HELLO, if it continues; else a new one */
    uint64_t received;      /* all frames of it up to this number have arrived */
};
MSG_CODEC(welcome);
MSG_OWNED(welcome);

#endif

#ifdef MSG_ROW
MSG_ROW(WELCOME, welcome, welcome, welcome, ON_LINK)
#endif
