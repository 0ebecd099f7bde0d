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

static void refuse_request(struct resize_requests *s, pmix_req req, enum alloc_status status,
                           const struct alloc_ask *a, const char *why)
{
    log_info("request of job %s rank %u refused: %s", a->nspace, a->rank, why);
    pmix_srv_alloc_answer(s->pmix, req, status, "", "");
}

void resize_requests_ask(struct resize_requests *s, pmix_req req, const struct alloc_ask *a,
                         const char *nodes)
{
    struct alloc_ask ask = *a;
    FREE_AUTO uint32_t *vpids = NULL;
    struct err err = {0};

    if (*nodes && hosts_parse(nodes, &vpids, &ask.nvpids, &err) < 0) {
        refuse_request(s, req, ALLOC_BAD, a, err.msg);
        return;
    }
    if (*nodes && ask.count && ask.count != ask.nvpids) {
        refuse_request(s, req, ALLOC_BAD, a, "the list of nodes and their number differ");
        return;
    }
    if (*nodes)
        ask.count = 0;
    ask.vpids = vpids;
    host_enter(s->env);
    core_alloc(s->core, req, &ask);
    host_drain(s->env);
}

void resize_requests_answered(struct resize_requests *s, const struct out_act *act)
{
    struct cur c = cur_of(act->data.data, act->data.len);
    FREE_AUTO char *why = cur_str(&c, MSG_TEXT_MAX);

    if (act->number != ALLOC_OK)
        log_info("a request for another size was refused: %s", c.bad ? "" : why);
    pmix_srv_alloc_answer(s->pmix, act->req, (enum alloc_status)act->number, act->a,
                          api_phase_name((enum api_phase)act->kind_app));
}

void resize_requests_ended(struct resize_requests *s, const struct out_act *act)
{
    struct cur c = cur_of(act->data.data, act->data.len);
    FREE_AUTO char *id = cur_str(&c, MSG_TEXT_MAX);
    FREE_AUTO char *req_id = cur_str(&c, MSG_TEXT_MAX);
    FREE_AUTO char *cause = cur_str(&c, MSG_TEXT_MAX);
    struct pmix_srv_alloc_end e = {.nspace = act->a,
                                   .rank = act->rank,
                                   .status = (enum alloc_status)act->number,
                                   .id = id,
                                   .req_id = req_id,
                                   .cause = cause};

    if (!c.bad)
        pmix_srv_alloc_ended(s->pmix, &e);
}

/* --- life */

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
