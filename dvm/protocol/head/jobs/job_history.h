/* SPDX-License-Identifier: BSD-3-Clause */
/* The last jobs that have ended, for later questions. */
#ifndef DVM_HEAD_JOBS_JOB_HISTORY_H
#define DVM_HEAD_JOBS_JOB_HISTORY_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/msg/target.h"

#define JOB_HISTORY_MAX 64

struct job_past {
    uint64_t number;
    struct msg_target submitter; /* its daemon, */
    uint32_t client;             /* and the daemon's number of it */
    int failure;                 /* enum job_event; 0: it has not failed */
    int exit_code;               /* 0 to 255 */
    char *reason;                /* of its failure, or its losses; else "" */
    uint32_t nranks;
    size_t nvpids; /* daemons that had ranks of it */
    uint32_t *vpids;
    struct job_past *next, *prev;
};

struct job_history {
    struct job_past *list; /* the oldest first */
    size_t n;
};

void job_past_free(struct job_past *past);
/* Takes `past`, with what it owns, and drops the oldest if there are more than JOB_HISTORY_MAX. */
void job_history_add(struct job_history *h, struct job_past *past);
void job_history_save(const struct job_history *h, struct buf *b);
/* Into an empty one. -1 and a reason; job_history_free() frees what was allocated. */
int job_history_load(struct job_history *h, struct cur *c, struct err *err)
    __attribute__((warn_unused_result));
void job_history_free(struct job_history *h);

#endif
