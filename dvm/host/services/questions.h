/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions between daemons. Each question gets one answer, from the daemon that was asked. The
 * loss of that daemon counts as an answer. */
#ifndef DVM_SERVICES_QUESTIONS_H
#define DVM_SERVICES_QUESTIONS_H

#include "dvm/host/app/app.h"
#include "dvm/host/env/host_ask.h"
#include "dvm/host/env/host_env.h"
#include "dvm/protocol/core/core.h"

struct questions;
/* Borrows all until questions_destroy(). */
struct questions *questions_create(const struct host_env *env, struct core *core,
                                   struct pmix_srv *pmix);
/* Pending callbacks are not called; their data is freed. */
void questions_destroy(struct questions *q);
/* For other services, valid as long as `q`. */
const struct host_ask *questions_asking(struct questions *q);
/* The daemon has left or is lost: its unanswered questions are answered with
 * PMIX_ERR_LOST_CONNECTION. If it is the head, and another process of it is a member, requests for
 * published values go to that one. */
void questions_member_gone(struct questions *q, uint32_t vpid);
void questions_handle(struct questions *q, struct app_table *t); /* APP_ANSWER */

#endif
