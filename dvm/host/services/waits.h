/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the head what jobs with ranks here wait for. */
#ifndef DVM_SERVICES_WAITS_H
#define DVM_SERVICES_WAITS_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/odls/odls.h"
#include "dvm/protocol/core/core.h"

#define WAITS_TOLD_MS 10000 /* a wait that lasts so long is told */

struct waits;
/* Borrows all until waits_destroy(). told_ms 0: WAITS_TOLD_MS. */
struct waits *waits_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                           const struct odls *odls, uint64_t told_ms);
void waits_destroy(struct waits *w);
/* A job has ranks here: its waits are looked at from now on, until there is no job any more. */
void waits_begin(struct waits *w);
/* pmix_srv_upcalls.on_waits() */
void waits_seen(struct waits *w, const struct pmix_srv_wait *list, size_t n);
/* At the head APP_JOB_WAITS. */
void waits_handle(struct waits *w, struct app_table *t);

#endif
