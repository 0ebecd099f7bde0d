/* SPDX-License-Identifier: BSD-3-Clause */
/* HELD, CONTINUE_ASK, CONTINUE: ranks that stop for a debugger. */
#ifndef DVM_WIRE_MSG_DEBUG_STOP_H
#define DVM_WIRE_MSG_DEBUG_STOP_H

#include "dvm/protocol/wire/msg/fields.h"

/* To the head: when all ranks on the sender that are to stop have stopped, and again when none of
 * them is stopped any more. */
struct msg_held {
    char *nspace;
    uint32_t nstopped; /* ranks that are stopped on the sender */
};
MSG_CODEC(held);
MSG_OWNED(held);

struct msg_continue { /* CONTINUE_ASK: to the head; CONTINUE: to a member */
    char *nspace;
    uint32_t rank; /* or JOB_RANK_ALL */
};
MSG_CODEC(continue);
MSG_OWNED(continue);

#endif
