/* SPDX-License-Identifier: BSD-3-Clause */
/* Assemblies: processes that PMIx_Connect has joined, some of them on this daemon. They, the other
 * ranks of a job and its spawner are notified when one of its ranks is lost. */
#ifndef DVM_SERVICES_ASSEMBLIES_H
#define DVM_SERVICES_ASSEMBLIES_H

#include "dvm/host/pmix/pmix_srv.h"

/* Limit. Further ones are logged and not kept: their processes are not notified of each other's
 * loss. */
#define ASSEMBLIES_MAX 1024

struct assemblies;
struct assemblies *
assemblies_create(struct pmix_srv *pmix); /* Borrows it until assemblies_destroy(). */
void assemblies_destroy(struct assemblies *a);
/* A connect of these processes has succeeded, or a disconnect. `procs` are copied. */
void assemblies_connect(struct assemblies *a, const struct pmix_srv_proc *procs, size_t n);
void assemblies_disconnect(struct assemblies *a, const struct pmix_srv_proc *procs, size_t n);
/* The job's processes leave all assemblies. */
void assemblies_job_ended(struct assemblies *a, const char *nspace);
/* The body of MSG_RANKS_LOST (dvm/protocol/wire/msg/msg.h). */
void assemblies_ranks_lost(struct assemblies *a, const struct msg_ranks_lost *m);

#endif
