/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of jobs that a tool here did not spawn itself, for tools here (PMIx_IOF_pull). */
#ifndef DVM_SERVICES_PULLED_OUTPUT_H
#define DVM_SERVICES_PULLED_OUTPUT_H

#include "dvm/host/env/host_env.h"
#include "dvm/host/env/host_jobs.h"
#include "dvm/host/iof/iof.h"

struct pulled_output_io {
    /* Whether a tool here has spawned the job: its output then comes here anyway. */
    bool (*is_spawned_here)(const char *nspace, void *arg);
    void *arg;
};

struct pulled_output;
/* Borrows all until pulled_output_destroy(), but copies `io`. */
struct pulled_output *pulled_output_create(const struct host_env *env, struct core *core,
                                           struct pmix_srv *pmix, struct iof *iof,
                                           const struct host_jobs *jobs,
                                           const struct pulled_output_io *io);
/* Pending requests are not answered. */
void pulled_output_destroy(struct pulled_output *s);
/* pmix_srv_upcalls.on_pull() */
void pulled_output_ask(struct pulled_output *s, pmix_req req, const struct pmix_srv_proc *procs,
                       size_t nprocs);
/* iof_io.copy() */
void pulled_output_copy(struct pulled_output *s, enum iof_kind kind, const char *nspace,
                        uint32_t rank, int stream, const void *data, size_t len);
/* pmix_srv_upcalls.on_output_read() if it concerns no client */
void pulled_output_read(struct pulled_output *s, const char *nspace, size_t len, bool wanted);
/* pmix_srv_upcalls.on_output_over() */
void pulled_output_over(struct pulled_output *s, const char *nspace);
/* OUT_JOB_ENDED: ranks and tools here are notified of it (pmix_srv_notify_job_end()) after its
 * output, if that is pulled here. */
void pulled_output_job_ended(struct pulled_output *s, const char *nspace, int exit_code);
void pulled_output_member_gone(struct pulled_output *s, uint32_t vpid);

#endif
