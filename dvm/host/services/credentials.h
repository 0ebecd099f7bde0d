/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of ranks and tools: made here for processes that are connected here, checked for
 * anybody. */
#ifndef DVM_SERVICES_CREDENTIALS_H
#define DVM_SERVICES_CREDENTIALS_H

#include "base/tls/tls.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/env/host_jobs.h"
#include "dvm/protocol/core/core.h"

struct credentials;
/* Borrows all until credentials_destroy(). */
struct credentials *credentials_create(const struct host_env *env, const struct tls_ctx *tls,
                                       struct core *core, struct pmix_srv *pmix,
                                       const struct host_jobs *jobs);
/* Checks that wait are not answered. */
void credentials_destroy(struct credentials *s);
/* pmix_srv_upcalls.on_cred_get() */
void credentials_make(struct credentials *s, pmix_req req, const struct pmix_srv_holder *who);
/* pmix_srv_upcalls.on_cred_check(): good if a daemon of this DVM has signed it, and its holder's
 * job runs. */
void credentials_check(struct credentials *s, pmix_req req, const void *data, size_t len);

#endif
