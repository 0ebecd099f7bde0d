/* SPDX-License-Identifier: BSD-3-Clause */
/* KILL: to a member. A signal for the ranks of a job, or their end. */
#ifndef DVM_WIRE_MSG_KILL_H
#define DVM_WIRE_MSG_KILL_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_kill {
    char *nspace;
    int signum;
    int64_t grace_ms; /* SIGTERM now and SIGKILL after so long; -1: only `signum` */
};
MSG_CODEC(kill);
MSG_OWNED(kill);

#endif

#ifdef MSG_ROW
MSG_ROW(KILL, kill, kill, kill, ROUTED)
#endif
