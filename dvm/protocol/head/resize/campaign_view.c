/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign's record as the control API and events show it. */
#include "dvm/protocol/head/resize/campaign_private.h"
#include "dvm/protocol/head/resize/drain.h"

#include <string.h>

void campaign_fill(const struct campaigns *cs, const struct campaign *c, struct api_campaign *out)
{
    memset(out, 0, sizeof(*out));
    out->id = xstrdup(c->id);
    out->sequence = c->req.sequence;
    out->kind = c->req.kind;
    out->keeps_size = c->req.keeps_size;
    out->cause = xstrdup(c->cause ? c->cause : "");
    if (c->asker.nspace)
        out->requester = (struct api_requester){.job = xstrdup(c->asker.nspace),
                                                .rank = c->asker.rank,
                                                .vpid = c->asker.daemon.vpid,
                                                .id = xstrdup(c->asker.req_id),
                                                .told = c->asker.told};
    out->phase = c->phase;
    out->targets = xcalloc(c->ntargets + 1, sizeof(*out->targets));
    out->departed = xcalloc(c->ntargets + 1, sizeof(*out->departed));
    for (size_t i = 0; i < c->ntargets; i++) {
        out->targets[out->ntargets++] = c->targets[i].id.vpid;
        if (c->targets[i].departed)
            out->departed[out->ndeparted++] = c->targets[i].id.vpid;
    }
    if (c->phase == API_PHASE_DRAINING)
        out->nwaiting = drain_waits(cs, c, &out->waiting);
    out->ended = xcalloc(c->nended + 1, sizeof(*out->ended));
    for (size_t i = 0; i < c->nended; i++) {
        struct api_job_ref *to = &out->ended[out->nended++];

        to->job = xstrdup(c->ended[i].job);
        to->nranks = c->ended[i].nranks;
        to->ranks = xcalloc(to->nranks + 1, sizeof(*to->ranks));
        memcpy(to->ranks, c->ended[i].ranks, to->nranks * sizeof(*to->ranks));
    }
    out->accepted_ms = c->accepted_wall;
    out->drained_ms = c->drained_wall;
    out->fence_ms = c->fence_wall;
    out->complete_ms = c->complete_wall;
}

/* Of a shrink: the targets whose nodes have not been offered before. */
static void leave_offered_out(const struct campaign *c, struct api_campaign *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->ntargets; i++) {
        if (!c->targets[i].offered)
            out->targets[kept++] = c->targets[i].id.vpid;
    }
    out->ntargets = kept;
}

void campaign_tell(struct campaigns *cs, enum api_event_type type, const struct campaign *c)
{
    struct api_campaign record;

    campaign_fill(cs, c, &record);
    if (type == API_EVENT_NODES_OFFERED)
        leave_offered_out(c, &record);
    event_log_add(cs->events, type, 0, 0, &record);
}
