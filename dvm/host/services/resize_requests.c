/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of ranks and tools for another size of the DVM, between PMIx and the core. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"
#include "dvm/host/jobspec/hosts.h"
#include "dvm/protocol/wire/msg.h"

#include <stdlib.h>

static void refuse(struct daemon *d, pmix_req req, enum alloc_status status,
                   const struct alloc_ask *a, const char *why)
{
    log_info("request of job %s rank %u refused: %s", a->nspace, a->rank, why);
    pmix_srv_alloc_answer(d->pmix, req, status, "", "");
}

/* A number beside the list may only say the same. */
void alloc_ask(pmix_req req, const struct alloc_ask *a, const char *nodes, void *arg)
{
    struct daemon *d = arg;
    struct alloc_ask ask = *a;
    uint32_t *vpids FREE_AUTO = NULL;
    struct err err = {0};

    if (*nodes && hosts_parse(nodes, &vpids, &ask.nvpids, &err) < 0) {
        refuse(d, req, ALLOC_BAD, a, err.msg);
        return;
    }
    if (*nodes && ask.count && ask.count != ask.nvpids) {
        refuse(d, req, ALLOC_BAD, a, "the list of nodes and their number differ");
        return;
    }
    if (*nodes)
        ask.count = 0;
    ask.vpids = vpids;
    daemon_enter(d);
    core_alloc(d->core, req, &ask);
    daemon_drain(d);
}

void alloc_answered(struct daemon *d, const struct out_act *act)
{
    struct cur c = cur_of(act->data.data, act->data.len);
    char *why FREE_AUTO = cur_str(&c, MSG_TEXT_MAX);

    if (act->number != ALLOC_OK)
        log_info("a request for another size was refused: %s", c.bad ? "" : why);
    pmix_srv_alloc_answer(d->pmix, act->req, (enum alloc_status)act->number, act->a,
                          api_phase_name((enum api_phase)act->kind_app));
}

void alloc_over(struct daemon *d, const struct out_act *act)
{
    struct cur c = cur_of(act->data.data, act->data.len);
    char *id FREE_AUTO = cur_str(&c, MSG_TEXT_MAX);
    char *req_id FREE_AUTO = cur_str(&c, MSG_TEXT_MAX);
    char *cause FREE_AUTO = cur_str(&c, MSG_TEXT_MAX);
    struct pmix_srv_alloc_end e = {.nspace = act->a,
                                   .rank = act->rank,
                                   .status = (enum alloc_status)act->number,
                                   .id = id,
                                   .req_id = req_id,
                                   .cause = cause};

    if (!c.bad)
        pmix_srv_alloc_ended(d->pmix, &e);
}
