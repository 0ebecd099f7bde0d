/* SPDX-License-Identifier: BSD-3-Clause */
/* CONTINUE: to a member. Ranks that are stopped for a debugger go on. */
#ifndef DVM_WIRE_MSG_CONTINUE_H
#define DVM_WIRE_MSG_CONTINUE_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_continue {
    char *nspace;
    uint32_t rank; /* or JOB_RANK_ALL */
};
MSG_CODEC(continue);
MSG_OWNED(continue);

#endif

#ifdef MSG_ROW
MSG_ROW(CONTINUE, go_on, continue, continue, ROUTED)
#endif
