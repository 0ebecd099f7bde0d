/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress of a job since its launch was decided: the fold of the records JOB_SENT,
 * JOB_RANK_ENDED and JOB_NODE_GONE of one job. */
#ifndef DVM_HEAD_JOBS_JOB_PROGRESS_H
#define DVM_HEAD_JOBS_JOB_PROGRESS_H

#include "dvm/protocol/head/journal/record_job_map.h"
#include "dvm/protocol/head/journal/record_job_progress.h"

struct job_rank_end {
    uint8_t state; /* PROC_TERMINATED, PROC_FAILED_TO_START or PROC_LOST; 0: it has not ended */
    int status;    /* wait status; of a rank that was not started errno */
};

/* Ranks that have failed while their job continues (JOB_RECOVERABLE). The lost ones among them
 * have ended by a signal or with their daemon. */
struct job_losses {
    uint32_t nranks, nlost;
    uint32_t ntexts; /* the first ones are named, the others are counted */
    int first_code;  /* of the first failed rank */
    int own_code;    /* of the first that has exited by itself with a code */
    char *texts;     /* the first ones, or NULL */
};

struct job_progress {
    bool sent;
    uint64_t deadline_ms; /* 0: none */
    uint32_t nnodes_gone;
    bool *gone;                /* [nnodes of the map]; NULL until it is sent */
    struct job_rank_end *ends; /* [nranks of the map]; NULL until it is sent */
    struct job_losses losses;
};

/* Folds. -1 and a reason: the record does not fit, and nothing has changed. */
int job_progress_sent(struct job_progress *p, const struct record_job_map *map,
                      const struct record_job_sent *r, struct err *err)
    __attribute__((warn_unused_result));
int job_progress_rank_ended(struct job_progress *p, const struct record_job_map *map,
                            const struct record_job_rank_ended *r, struct err *err)
    __attribute__((warn_unused_result));
int job_progress_node_gone(struct job_progress *p, const struct record_job_map *map,
                           const struct record_job_node_gone *r, struct err *err)
    __attribute__((warn_unused_result));
/* The exit code of a job that continues without its losses: that of the first rank that has exited
 * by itself with a code; if `any` or if all ranks are lost, that of the first of all. */
int job_progress_exit_code(const struct job_progress *p, uint32_t nranks, bool any);
/* "3 of 8 ranks failed or were lost: …"; NULL: none. The caller frees it. */
char *job_progress_losses_text(const struct job_progress *p, uint32_t nranks);

void job_progress_save(const struct job_progress *p, const struct record_job_map *map,
                       struct buf *b);
/* Into a zeroed one. -1 and a reason; job_progress_free() frees what was allocated. */
int job_progress_load(struct job_progress *p, const struct record_job_map *map, struct cur *c,
                      struct err *err) __attribute__((warn_unused_result));
void job_progress_free(struct job_progress *p);

#endif
