/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of ranks and tools for another size of the DVM (PMIx_Allocation_request), between the
 * PMIx library and the core. */
#ifndef DVM_SERVICES_RESIZE_REQUESTS_H
#define DVM_SERVICES_RESIZE_REQUESTS_H

#include "api/campaign.h"
#include "dvm/host/env/host_env.h"
#include "dvm/host/pmix/pmix_srv.h"
#include "dvm/protocol/core/core.h"

struct resize_requests;
/* Borrows all until resize_requests_destroy(). */
struct resize_requests *resize_requests_create(const struct host_env *env, struct core *core,
                                               struct pmix_srv *pmix);
void resize_requests_destroy(struct resize_requests *s);
/* pmix_srv_upcalls.on_resize(). A count beside the list of nodes has to equal its length. */
void resize_requests_ask(struct resize_requests *s, pmix_req req, const struct resize_request *ask,
                         const char *nodes);
/* OUT_RESIZE_ANSWER */
void resize_requests_answered(struct resize_requests *s, const struct out_resize_answer *a);
/* OUT_RESIZE_ENDED */
void resize_requests_ended(struct resize_requests *s, const struct msg_resize_ended *end);

#endif
