/* SPDX-License-Identifier: BSD-3-Clause */
/* Data of ranks on other daemons: direct modex, and the data store of the head. */
#ifndef DVM_SERVICES_MODEX_H
#define DVM_SERVICES_MODEX_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_ask.h"
#include "dvm/host/env/host_jobs.h"
#include "dvm/protocol/core/core.h"

struct modex;
/* Borrows all until modex_destroy(). */
struct modex *modex_create(const struct core *core, struct pmix_srv *pmix,
                           const struct host_ask *ask, const struct host_jobs *jobs);
/* Pending requests are not answered. */
void modex_destroy(struct modex *m);
/* pmix_srv_upcalls.on_dmodex(): asks the daemon of the rank. */
void modex_fetch(struct modex *m, pmix_req req, const char *nspace, uint32_t rank, int timeout_s);
/* pmix_srv_upcalls.on_data(): asks the head. */
void modex_data(struct modex *m, pmix_req req, char op, const void *blob, size_t len);
/* APP_MODEX_ASK; at the head APP_DATA_ASK. */
void modex_handle(struct modex *m, struct app_table *t);

#endif
