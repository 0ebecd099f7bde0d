/* SPDX-License-Identifier: BSD-3-Clause */
/* DONE: to the daemon whose client has submitted the job, which has ended. */
#ifndef DVM_WIRE_MSG_DONE_H
#define DVM_WIRE_MSG_DONE_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_done {
    char *nspace;
    uint32_t client;
    int exit_code;
    char *text;     /* who, where, why; "" after success */
    size_t noutput; /* daemons whose output is not complete yet */
    uint32_t *output_vpids;
};
MSG_CODEC(done);
MSG_OWNED(done);

#endif

#ifdef MSG_ROW
MSG_ROW(DONE, done, done, done, ROUTED)
#endif
