/* SPDX-License-Identifier: BSD-3-Clause */
/* The accepted jobs, as the fold of the records of jobs (JOB_ACCEPTED to JOB_FORGOTTEN). */
#ifndef DVM_HEAD_JOBS_JOB_TABLE_H
#define DVM_HEAD_JOBS_JOB_TABLE_H

#include "dvm/protocol/head/jobs/job_history.h"
#include "dvm/protocol/head/jobs/job_progress.h"
#include "dvm/protocol/head/journal/journal.h"

/* A job that is accepted and not forgotten. Others read it; only the fold changes it. */
struct job_entry {
    struct record_job accepted; /* owned */
    int state;                  /* enum job_state */
    struct record_job_result result;
    struct record_job_map map; /* owned */
    struct job_progress progress;
    uint8_t judgement; /* enum job_judgement */
    int kin_code;      /* of its descendants, the end of the first that failed */
    char *kin_text;    /* owned; NULL: none has failed */
};

struct job_table;

struct job_table *job_table_create(struct journal *j); /* borrows */
void job_table_destroy(struct job_table *t);
uint64_t job_table_last(const struct job_table *t); /* number of the last accepted job; 0: none */
/* Calls back for each accepted job that is not forgotten, in the order of their numbers. */
void job_table_each(const struct job_table *t, void (*on)(void *arg, const struct job_entry *e),
                    void *arg);
const struct job_history *job_table_history(const struct job_table *t); /* forgotten jobs */
/* Gives the job the next number, and copies it. The entry is borrowed until the job is forgotten.
 * NULL: the record was refused, and this was logged. */
const struct job_entry *job_table_accept(struct job_table *t, struct record_job *job);
/* All records were lost, and jobs that members report may be adopted: those of former heads, with
 * numbers up to job_table_last(). */
bool job_table_adopts(const struct job_table *t);
/* Copies the job, with its number. They come in the order of their numbers. NULL and a reason: no
 * former head has given that number, or it is out of order. */
const struct job_entry *job_table_adopt(struct job_table *t, const struct record_job *job,
                                        struct err *err);
void job_table_adopted_all(struct job_table *t); /* from now on none is adopted */
/* The job fits the DVM, or fits after the grows that run. It is not judged again. */
void job_table_judge(struct job_table *t, const struct job_entry *e, enum job_judgement judgement);
/* A job that ranks of the job have spawned has failed. The first failure stays. Copies the text. */
void job_table_kin_failed(struct job_table *t, const struct job_entry *e, int exit_code,
                          const char *text);
/* The ranks of the job have nodes; `map` is copied, its number is set. -1 and a reason: the job is
 * mapped already or has ended, or the map is not one of its specification. */
int job_table_map(struct job_table *t, const struct job_entry *e, struct record_job_map *map,
                  struct err *err) __attribute__((warn_unused_result));
/* The launch is decided. deadline_ms: when its time limit passes; 0: none. -1 and a reason: the job
 * is not mapped, is sent already, or has ended. */
int job_table_sent(struct job_table *t, const struct job_entry *e, uint64_t deadline_ms,
                   struct err *err) __attribute__((warn_unused_result));
/* state: PROC_TERMINATED with a wait status, PROC_FAILED_TO_START with an errno. loss: how the rank
 * failed, if the job continues without it; else "". */
void job_table_rank_ended(struct job_table *t, const struct job_entry *e, uint32_t rank, int state,
                          int status, const char *loss);
/* Nothing of the job is left on this daemon of its map. lost: the daemon is lost, and so are the
 * ranks there that have not ended; `loss` is as above. */
void job_table_node_gone(struct job_table *t, const struct job_entry *e, uint32_t node, bool lost,
                         const char *loss);
/* A step JOB_EV_REMAP frees the job's map. -1 and a reason: the job's state has no such step. */
int job_table_step(struct job_table *t, const struct job_entry *e, int event, struct err *err)
    __attribute__((warn_unused_result));
/* How the job will end: `failure` is not 0. The reason is copied. */
void job_table_result(struct job_table *t, const struct job_entry *e, int failure, int exit_code,
                      const char *reason);
/* The end of a job, as the history will have it. job_past_free() frees it. */
struct job_past *job_table_past(const struct job_entry *e);
/* The job has ended. Its end goes into the history, and the entry is freed. */
void job_table_forget(struct job_table *t, const struct job_entry *e);

#endif
