/* SPDX-License-Identifier: BSD-3-Clause */
/* Job control by ranks and tools: signals to ranks and jobs; texts for a job's output or the
 * daemon's log. */
#ifndef DVM_SERVICES_CONTROL_H
#define DVM_SERVICES_CONTROL_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_ask.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/env/host_jobs.h"
#include "dvm/protocol/core/core.h"

struct control_io { /* the ranks of this daemon; one that does not run is ignored */
    void (*signal_rank)(const char *nspace, uint32_t rank, int signum, void *arg);
    /* Writes a text as output of the rank, to its stdout (1) or stderr (2). */
    void (*write_output)(const char *nspace, uint32_t rank, int stream, const void *data,
                         size_t len, void *arg);
    void *arg;
};

struct control;
/* Borrows all until control_destroy(), but copies `io`. */
struct control *control_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                               const struct host_ask *ask, const struct host_jobs *jobs,
                               const struct control_io *io);
void control_destroy(struct control *s);
/* pmix_srv_upcalls.on_control(). A whole job gets the signal by the head, as from prun; a single
 * rank by its daemon. Nothing is sent if one of the jobs does not run, or if the head does not let
 * a process of `nspace` control it. */
void control_signal(struct control *s, pmix_req req, const char *nspace,
                    const struct pmix_srv_proc *procs, size_t nprocs, int signum);
/* pmix_srv_upcalls.on_log() */
void control_log(struct control *s, pmix_req req, const char *nspace, uint32_t rank, int stream,
                 const char *text);
void control_handle(struct control *s,
                    struct app_table *t); /* APP_SIGNAL_ASK; at the head APP_CONTROL_ASK */

#endif
