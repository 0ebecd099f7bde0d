/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the head's records to a checker; changes nothing. */
#include "dvm/protocol/head/head_inspect.h"

#include "dvm/protocol/head/head_private.h"

#include <utlist.h>

void head_inspect_jobs(const struct head *l, void (*on)(void *arg, const struct inspect_job *j),
                       void *arg)
{
    const struct job *j;

    DL_FOREACH(l->jobs, j)
    {
        struct inspect_job x = {.nspace = j->map.nspace,
                                .reason = j->reason,
                                .state = j->state,
                                .exit_code = j->exit_code,
                                .mapped = j->mapped,
                                .sent = j->sent,
                                .queued = j->queued,
                                .home_vpid = j->map.home_vpid,
                                .nranks = j->mapped ? j->map.nranks : 0,
                                .nnodes = j->mapped ? j->map.nnodes : 0,
                                .nodes = j->map.nodes,
                                .rank_node = j->map.rank_node,
                                .rank_slot = j->rank_slot,
                                .rank_taken = j->rank_taken,
                                .rank_state = j->rank_state};

        on(arg, &x);
    }
}

void head_inspect_campaigns(const struct head *l,
                            void (*on)(void *arg, const struct inspect_campaign *c), void *arg)
{
    const struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        struct inspect_campaign x = {.id = c->id,
                                     .kind = c->req.kind,
                                     .phase = c->phase,
                                     .has_requester = c->has_requester,
                                     .op = c->op,
                                     .ntargets = c->ntargets,
                                     .record = c};

        on(arg, &x);
    }
}

void head_inspect_fence_shares(const struct head *l,
                               void (*on)(void *arg, const char *name, uint32_t count), void *arg)
{
    const struct fence_share *h;

    DL_FOREACH(l->fence_shares, h)
    {
        on(arg, h->name, h->count);
    }
}

const uint16_t *head_inspect_load(const struct head *l, uint32_t vpid, uint32_t *n)
{
    const struct topo *t = cpu_ledger_topo(l, vpid);

    *n = t ? t->npus : 0;
    return cpu_ledger_load(l, vpid);
}

uint32_t head_inspect_fence(const struct head *l)
{
    return l->fence;
}

bool head_inspect_growing(const struct head *l)
{
    return l->grow_op != 0;
}

struct inspect_batch head_inspect_batch(const struct head *l)
{
    return l->grow_op ? (struct inspect_batch){l->batches, l->grow_op}
                      : (struct inspect_batch){0, 0};
}

struct inspect_target head_inspect_target(const struct inspect_campaign *c, size_t i)
{
    const struct target *t = &c->record->targets[i];

    return (struct inspect_target){t->id.vpid, t->id.epoch, t->added};
}

uint32_t head_inspect_bound(const struct head *l)
{
    return l->bound;
}
