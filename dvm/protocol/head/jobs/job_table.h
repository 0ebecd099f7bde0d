/* SPDX-License-Identifier: BSD-3-Clause */
/* The accepted jobs, as the fold of the records JOB_ACCEPTED, JOB_MAPPED, JOB_STEP, JOB_RESULT
 * and JOB_FORGOTTEN. */
#ifndef DVM_HEAD_JOBS_JOB_TABLE_H
#define DVM_HEAD_JOBS_JOB_TABLE_H

#include "dvm/protocol/head/journal/journal.h"

/* A job that is accepted and not forgotten. Others read it; only the fold changes it. */
struct job_entry {
    struct record_job accepted; /* owned */
    int state;                  /* enum job_state */
    struct record_job_result result;
    struct record_job_map map; /* owned */
};

struct job_table;

struct job_table *job_table_create(struct journal *j); /* borrows */
void job_table_destroy(struct job_table *t);
uint64_t job_table_last(const struct job_table *t); /* number of the last accepted job; 0: none */
/* Gives the job the next number, and copies it. The entry is borrowed until the job is forgotten.
 * NULL: the record was refused, and this was logged. */
const struct job_entry *job_table_accept(struct job_table *t, struct record_job *job);
/* The ranks of the job have nodes; `map` is copied, its number is set. -1 and a reason: the job is
 * mapped already or has ended, or the map is not one of its specification. */
int job_table_map(struct job_table *t, const struct job_entry *e, struct record_job_map *map,
                  struct err *err) __attribute__((warn_unused_result));
/* A step JOB_EV_REMAP frees the job's map. -1 and a reason: the job's state has no such step. */
int job_table_step(struct job_table *t, const struct job_entry *e, int event, struct err *err)
    __attribute__((warn_unused_result));
/* How the job will end, or has ended so far. The reason is copied. */
void job_table_result(struct job_table *t, const struct job_entry *e, int failure, int exit_code,
                      const char *reason);
/* The job has ended. The entry is freed. */
void job_table_forget(struct job_table *t, const struct job_entry *e);

#endif
