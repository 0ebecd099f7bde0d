/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGNAL: to the head, of the sender's client for its job; or of a process, for any job. */
#ifndef DVM_WIRE_MSG_SIGNAL_H
#define DVM_WIRE_MSG_SIGNAL_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_signal {
    char *nspace;
    int signum; /* 0: the client has departed, its job is to end */
};
MSG_CODEC(signal);
MSG_OWNED(signal);

#endif

#ifdef MSG_ROW
MSG_ROW(SIGNAL, signal, signal, signal, ROUTED)
#endif
