/* SPDX-License-Identifier: BSD-3-Clause */
/* JOB_ENDED: to a member. The whole job has ended. */
#ifndef DVM_WIRE_MSG_JOB_ENDED_H
#define DVM_WIRE_MSG_JOB_ENDED_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_job_ended {
    char *nspace;
    int exit_code;
};
MSG_CODEC(job_ended);
MSG_OWNED(job_ended);

#endif

#ifdef MSG_ROW
MSG_ROW(JOB_ENDED, job_ended, job_ended, job_ended, ROUTED)
#endif
