/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of ranks and tools for another size of the DVM, between the PMIx library and the core.
 */
#include "dvm/host/services/resize_requests.h"

#include "base/log/log.h"
#include "dvm/host/jobspec/hosts.h"
#include "dvm/protocol/wire/msg/msg.h"

#include <stdlib.h>

struct resize_requests {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
};

static void refuse_request(struct resize_requests *s, pmix_req req, enum resize_status status,
                           const struct resize_request *a, const char *why)
{
    log_info("request of job %s rank %u refused: %s", a->nspace, a->rank, why);
    pmix_srv_resize_answer(s->pmix, req, status, "", "");
}

void resize_requests_ask(struct resize_requests *s, pmix_req req, const struct resize_request *a,
                         const char *nodes)
{
    struct resize_request ask = *a;
    FREE_AUTO uint32_t *vpids = NULL;
    struct err err = {0};

    if (*nodes && hosts_parse(nodes, &vpids, &ask.nvpids, &err) < 0) {
        refuse_request(s, req, RESIZE_BAD, a, err.msg);
        return;
    }
    if (*nodes && ask.count && ask.count != ask.nvpids) {
        refuse_request(s, req, RESIZE_BAD, a, "the list of nodes and their number differ");
        return;
    }
    if (*nodes)
        ask.count = 0;
    ask.vpids = vpids;
    host_enter(s->env);
    core_resize(s->core, req, &ask);
    host_drain(s->env);
}

void resize_requests_answered(struct resize_requests *s, const struct out_resize_answer *a)
{
    if (a->status != RESIZE_OK)
        log_info("a request for another size was refused: %s", a->why);
    pmix_srv_resize_answer(s->pmix, a->req, a->status, a->campaign, api_phase_name(a->phase));
}

void resize_requests_ended(struct resize_requests *s, const struct msg_resize_ended *end)
{
    struct pmix_srv_resize_end e = {.nspace = end->nspace,
                                    .rank = end->rank,
                                    .status = end->status,
                                    .id = end->campaign,
                                    .req_id = end->req_id,
                                    .cause = end->cause};

    pmix_srv_resize_ended(s->pmix, &e);
}

/* --- construction and destruction */

struct resize_requests *resize_requests_create(const struct host_env *env, struct core *core,
                                               struct pmix_srv *pmix)
{
    struct resize_requests *s = xcalloc(1, sizeof(*s));

    *s = (struct resize_requests){.env = env, .core = core, .pmix = pmix};
    return s;
}

void resize_requests_destroy(struct resize_requests *s)
{
    free(s);
}
