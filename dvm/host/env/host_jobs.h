/* SPDX-License-Identifier: BSD-3-Clause */
/* How a service learns of jobs that have no ranks on this daemon. services/foreign_jobs.h
 * implements it; tests have their own implementation. */
#ifndef DVM_HOST_JOBS_H
#define DVM_HOST_JOBS_H

#include "dvm/host/pmix/pmix_srv.h"

typedef void (*host_jobs_learnt)(bool known, void *waiter);

struct host_jobs {
    /* The launch (borrowed for the call) of a job with ranks here, or of another job that has
     * been learnt. NULL: the job is not known here. */
    const struct job_launch *(*find)(const char *nspace, void *arg);
    /* Makes all jobs of these processes known to the PMIx library. learnt() comes once, maybe
     * within the call; `known` is false if one of the jobs does not run. If this daemon ends first,
     * it is not called. */
    void (*learn)(const struct pmix_srv_proc *procs, size_t nprocs, host_jobs_learnt learnt,
                  void *waiter, void *arg);
    void *arg;
};

static inline const struct job_launch *host_job_find(const struct host_jobs *j, const char *nspace)
{
    return j->find(nspace, j->arg);
}

static inline void host_jobs_learn(const struct host_jobs *j, const struct pmix_srv_proc *procs,
                                   size_t nprocs, host_jobs_learnt learnt, void *waiter)
{
    j->learn(procs, nprocs, learnt, waiter, j->arg);
}

#endif
