/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's table of jobs and processes, from which a daemon answers a client's query. */
#ifndef DVM_PMIX_JOBTABLE_H
#define DVM_PMIX_JOBTABLE_H

#include "base/buf/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jobtable_job {
    char *nspace;
    bool over;
    uint32_t ranks;
    int exit_code; /* of a job that has ended */
};

struct jobtable_proc {
    uint32_t job; /* index into jobs */
    uint32_t rank;
    char *host;
    char *program;
    int pid; /* 0: not started */
    int exit_code;
    uint8_t state; /* pmix_proc_state_t */
};

struct jobtable {
    uint32_t universe; /* slots of the DVM */
    size_t njobs;
    struct jobtable_job *jobs;
    size_t nprocs; /* only of the jobs that were named */
    struct jobtable_proc *procs;
};

void jobtable_encode(struct buf *b, const struct jobtable *t);
int jobtable_decode(const void *data, size_t len, struct jobtable *out)
    __attribute__((warn_unused_result)); /* -1: malformed, nothing is left allocated */
void jobtable_free(struct jobtable *t);

#endif
