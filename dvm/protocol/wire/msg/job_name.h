/* SPDX-License-Identifier: BSD-3-Clause */
/* REGISTERED, READY, START: the name of a job. */
#ifndef DVM_WIRE_MSG_JOB_NAME_H
#define DVM_WIRE_MSG_JOB_NAME_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_job_name {
    char *nspace;
};
MSG_CODEC(job_name);
MSG_OWNED(job_name);

#endif
