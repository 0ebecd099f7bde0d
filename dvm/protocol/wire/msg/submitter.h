/* SPDX-License-Identifier: BSD-3-Clause */
/* ACCEPTED, JOB_STATE, JOB_MAP, DONE: from the head to the daemon whose client has submitted the
 * job. IOF_END: from a daemon with ranks of it to the daemon whose client gets the output. */
#ifndef DVM_WIRE_MSG_SUBMITTER_H
#define DVM_WIRE_MSG_SUBMITTER_H

#include "dvm/protocol/wire/job_state.h"
#include "dvm/protocol/wire/msg/fields.h"

struct msg_client_job { /* ACCEPTED; IOF_END: no more output of the job from the sender */
    char *nspace;
    uint32_t client; /* at the receiver */
};
MSG_CODEC(client_job);
MSG_OWNED(client_job);

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

struct msg_job_map { /* before any rank starts */
    char *nspace;
    uint32_t client;
    const uint8_t *table; /* text; borrowed, also after decoding */
    size_t len;
};
MSG_CODEC(job_map);
MSG_OWNED(job_map);

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
