/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks on this daemon: registered with the PMIx server, created by the spawner, cleaned up at
 * their end; and the processes that write and read the files of jobs. Carries out the actions of
 * the core's state machine of a job's ranks (dvm/protocol/core/local.c) and reports their
 * results. It keeps no state of that machine. */
#ifndef DVM_RANKS_RANKS_H
#define DVM_RANKS_RANKS_H

#include "dvm/host/env/host_env.h"
#include "dvm/host/iof/iof.h"
#include "dvm/host/odls/odls.h"
#include "dvm/host/pmix/pmix_srv.h"
#include "dvm/protocol/core/core.h"
#include "dvm/protocol/files/files.h"

struct ranks_io { /* callbacks that the owner gives to this service */
    /* A client here may send this many bytes of pieces of its job's files, in all. */
    void (*files_room)(uint32_t client, uint64_t total, void *arg);
    void *arg;
};

struct ranks_parts { /* borrowed until ranks_destroy() */
    struct core *core;
    struct odls *odls;
    struct pmix_srv *pmix;
    struct iof *iof;
    struct files *files;
};

struct ranks;
/* Borrows env, copies io. */
struct ranks *ranks_create(const struct host_env *env, const struct ranks_io *io);
/* The parts of the service. They are made with the upcalls below and this service as their
 * argument, before any of them calls. */
void ranks_join(struct ranks *r, const struct ranks_parts *parts);
void ranks_destroy(struct ranks *r);
extern const struct odls_upcalls ranks_odls_upcalls;
extern const struct files_io ranks_files_io; /* the caller sets its arg */

/* OUT_LAUNCH, OUT_TAKE_FILES, OUT_DROP_FILES, OUT_CREATE, OUT_START, OUT_SIGNAL, OUT_END_RANKS,
 * OUT_CONTINUE and OUT_CLEAN. */
void ranks_act(struct ranks *r, const struct out_act *act);

/* A request of another process here: a signal for one rank. SIGTERM comes with a grace, then
 * SIGKILL. Ranks that do not run here are ignored. */
void ranks_signal_one(struct ranks *r, const char *nspace, uint32_t rank, int signum);
/* Writes a text as output of the rank, to its stdout (1) or stderr (2). */
void ranks_write(struct ranks *r, const char *nspace, uint32_t rank, int stream, const void *data,
                 size_t len);

/* Files of a job that a rank here spawns. `own` gets the spec with the files' names on the job's
 * daemons; the caller frees it in any case. `sources` gets the paths where the files are read.
 * -1: they cannot be named, with a reason. */
int ranks_spawn_files(struct ranks *r, const struct job_spec *spec, struct job_spec *own,
                      char ***sources, struct err *err) __attribute__((warn_unused_result));
/* Reads the files when there is room, for the client that stands for the spawn. Takes `sources`. */
void ranks_read_files(struct ranks *r, uint32_t client, char **sources, size_t n);
void ranks_client_gone(struct ranks *r, uint32_t client); /* nothing more is read for this client */

#endif
