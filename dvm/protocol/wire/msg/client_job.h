/* SPDX-License-Identifier: BSD-3-Clause */
/* ACCEPTED, IOF_END: a job and the client that has submitted it or gets its output. */
#ifndef DVM_WIRE_MSG_CLIENT_JOB_H
#define DVM_WIRE_MSG_CLIENT_JOB_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_client_job {
    char *nspace;
    uint32_t client; /* at the receiver */
};
MSG_CODEC(client_job);
MSG_OWNED(client_job);

#endif
