/* SPDX-License-Identifier: BSD-3-Clause */
/* SUBMIT, LAUNCH, LOCAL_JOB, SIGNAL, KILL, JOB_ENDED, and messages that only name a job. */
#ifndef DVM_WIRE_MSG_JOB_H
#define DVM_WIRE_MSG_JOB_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_submit {
    uint32_t client; /* at the sender */
    struct job_spec spec;
};
MSG_CODEC(submit);
MSG_OWNED(submit);

/* LAUNCH: to each daemon with ranks of the job. LOCAL_JOB: in answer to ASK, for each job with
 * ranks on the sender. Its reports follow again: LAUNCHED, EXITED, REGISTERED, LOCAL_GONE. */
struct msg_launch {
    struct job_launch map;
};
MSG_CODEC(launch);
MSG_OWNED(launch);

struct msg_job { /* REGISTERED, START */
    char *nspace;
};
MSG_CODEC(job);
MSG_OWNED(job);

struct msg_signal { /* of the sender's client, for its job; or of a process, for any job */
    char *nspace;
    int signum; /* 0: the client has departed, its job is to end */
};
MSG_CODEC(signal);
MSG_OWNED(signal);

struct msg_kill {
    char *nspace;
    int signum;
    int64_t grace_ms; /* SIGTERM now and SIGKILL after so long; -1: only `signum` */
};
MSG_CODEC(kill);
MSG_OWNED(kill);

struct msg_job_ended { /* the whole job has ended */
    char *nspace;
    int exit_code;
};
MSG_CODEC(job_ended);
MSG_OWNED(job_ended);

#endif
