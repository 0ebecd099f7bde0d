/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of ranks and tools: issued for processes that are connected here, checked for any
 * process. */
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
/* Pending checks are not answered. */
void credentials_destroy(struct credentials *s);
/* pmix_srv_upcalls.on_cred_get() */
void credentials_make(struct credentials *s, pmix_req req, const struct pmix_srv_holder *who);
/* pmix_srv_upcalls.on_cred_check(). A credential is valid if a daemon of this DVM has signed it
 * and the job of its holder runs. */
void credentials_check(struct credentials *s, pmix_req req, const void *data, size_t len);

#endif
