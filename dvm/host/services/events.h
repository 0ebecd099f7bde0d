/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of ranks and tools for processes of other daemons. */
#ifndef DVM_SERVICES_EVENTS_H
#define DVM_SERVICES_EVENTS_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_ask.h"
#include "dvm/host/env/host_env.h"
#include "dvm/protocol/core/core.h"

struct events;
/* Borrows all until events_destroy(). */
struct events *events_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                             const struct host_ask *ask);
void events_destroy(struct events *e);
/* pmix_srv_upcalls.on_notify() */
void events_notify(struct events *e, pmix_req req, const char *nspace,
                   const struct pmix_srv_reach *to, const void *event, size_t len);
/* pmix_srv_upcalls.on_tool(): from now on the head passes events on to this daemon. The request
 * succeeds in any case: a tool is of use without events. */
void events_tool_attached(struct events *e, pmix_req req);
/* At the head: no events for a daemon that is no longer a member. */
void events_member_gone(struct events *e, uint32_t vpid);
/* APP_NOTIFY; at the head APP_NOTIFY_ALL and APP_TOOL_HERE. */
void events_handle(struct events *e, struct app_table *t);

#endif
