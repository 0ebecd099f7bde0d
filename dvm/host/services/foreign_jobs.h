/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs without ranks on this daemon that its own ranks connect to or ask about. */
#ifndef DVM_SERVICES_FOREIGN_JOBS_H
#define DVM_SERVICES_FOREIGN_JOBS_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_ask.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/env/host_jobs.h"
#include "dvm/protocol/core/core.h"

struct foreign_jobs;
/* Borrows all until foreign_jobs_destroy(). */
struct foreign_jobs *foreign_jobs_create(const struct host_env *env, struct core *core,
                                         struct pmix_srv *pmix, const struct host_ask *ask);
/* Pending callbacks are not called; their data stays with their owners. */
void foreign_jobs_destroy(struct foreign_jobs *s);
/* For other services, valid as long as `s`. */
const struct host_jobs *foreign_jobs_known(struct foreign_jobs *s);
/* The job has ended in the whole DVM. */
void foreign_jobs_ended(struct foreign_jobs *s, const char *nspace);
void foreign_jobs_handle(struct foreign_jobs *s,
                         struct app_table *t); /* APP_JOB_ASK, at the head */

#endif
