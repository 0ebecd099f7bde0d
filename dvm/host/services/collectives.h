/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of the PMIx library between daemons: fence, connect, disconnect, groups. */
#ifndef DVM_SERVICES_COLLECTIVES_H
#define DVM_SERVICES_COLLECTIVES_H

#include "dvm/host/env/host_env.h"
#include "dvm/host/env/host_jobs.h"
#include "dvm/protocol/core/core.h"

struct collectives_io {
    /* A connect, or disconnect, of these processes has succeeded; `procs` is borrowed. */
    void (*connected)(const struct pmix_srv_proc *procs, size_t n, void *arg);
    void (*disconnected)(const struct pmix_srv_proc *procs, size_t n, void *arg);
    void *arg;
};

struct collectives;
/* Borrows all until collectives_destroy(), but copies `io`. */
struct collectives *collectives_create(const struct host_env *env, struct core *core,
                                       struct pmix_srv *pmix, const struct host_jobs *jobs,
                                       const struct collectives_io *io);
/* Pending requests are not answered. */
void collectives_destroy(struct collectives *s);
/* pmix_srv_upcalls.on_fence() */
void collectives_join(struct collectives *s, pmix_req req, char kind,
                      const struct pmix_srv_proc *procs, size_t nprocs, const void *data,
                      size_t len, int timeout_s);
/* The core's outcome (0, or one of dvm/protocol/gather/gather.h) and all contributions. */
void collectives_ended(struct collectives *s, pmix_req req, int outcome, const void *data,
                       size_t len);

#endif
