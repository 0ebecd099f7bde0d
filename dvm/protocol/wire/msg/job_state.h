/* SPDX-License-Identifier: BSD-3-Clause */
/* JOB_STATE: to the daemon whose client has submitted the job. */
#ifndef DVM_WIRE_MSG_JOB_STATE_H
#define DVM_WIRE_MSG_JOB_STATE_H

#include "api/job_state.h"
#include "dvm/protocol/wire/msg/fields.h"

struct msg_job_state {
    char *nspace;
    uint32_t client;
    enum job_state state;
    char *reason;
    size_t nstdin; /* of JOB_STARTED: the daemons that take the client's input */
    uint32_t *stdin_vpids;
};
MSG_CODEC(job_state);
MSG_OWNED(job_state);

#endif

#ifdef MSG_ROW
MSG_ROW(JOB_STATE, job_state, job_state, job_state, ROUTED)
#endif
