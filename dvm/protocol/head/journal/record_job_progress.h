/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of what becomes of a job after its launch is decided. */
#ifndef DVM_HEAD_JOURNAL_RECORD_JOB_PROGRESS_H
#define DVM_HEAD_JOURNAL_RECORD_JOB_PROGRESS_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdbool.h>

#define RECORD_LOSS_MAX 1023 /* bytes of the text of one loss */

/* The launch is decided, and no message of it has been sent. */
struct record_job_sent {
    uint64_t number;      /* of the job */
    uint64_t deadline_ms; /* when its time limit passes; 0: it has none */
};

struct record_job_rank_ended {
    uint64_t number;
    uint32_t rank;
    uint8_t state; /* PROC_TERMINATED, PROC_FAILED_TO_START */
    int status;    /* wait status; of a rank that was not started errno */
    char *loss;    /* how it failed, if the job continues without it; else "" */
};

/* Nothing of the job is left on a daemon. */
struct record_job_node_gone {
    uint64_t number;
    uint32_t node; /* index into the job's map */
    bool lost;     /* the ranks there that have not ended are lost */
    char *loss;    /* as above, of all these ranks */
};

void record_job_progress_put_sent(struct buf *b, const struct record_job_sent *r);
void record_job_progress_get_sent(struct cur *c, struct record_job_sent *r);
void record_job_progress_put_rank_ended(struct buf *b, const struct record_job_rank_ended *r);
/* -1 and a reason: no rank ends so. The caller frees `loss`. */
int record_job_progress_get_rank_ended(struct cur *c, struct record_job_rank_ended *r,
                                       struct err *err) __attribute__((warn_unused_result));
void record_job_progress_put_node_gone(struct buf *b, const struct record_job_node_gone *r);
/* The caller frees `loss`. */
void record_job_progress_get_node_gone(struct cur *c, struct record_job_node_gone *r);

#endif
