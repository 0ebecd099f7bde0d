/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Query_info about jobs, answered from a table of the head. */
#ifndef DVM_SERVICES_QUERIES_H
#define DVM_SERVICES_QUERIES_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_ask.h"
#include "dvm/host/env/host_env.h"
#include "dvm/protocol/core/core.h"

struct queries;
/* Borrows all until queries_destroy(). */
struct queries *queries_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                               const struct host_ask *ask);
void queries_destroy(struct queries *q);
/* pmix_srv_upcalls.on_query(): asks the head. */
void queries_ask(struct queries *q, pmix_req req, const char *nspaces);
void queries_handle(struct queries *q, struct app_table *t); /* APP_QUERY_ASK, at the head */

#endif
