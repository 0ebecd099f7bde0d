/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbered events of this incarnation, in a bounded ring. */
#include "dvm/protocol/head/head_private.h"

#include <string.h>

/* Of a shrink: the targets whose nodes nobody has offered before. */
static void leave_offered_out(const struct campaign *c, struct api_campaign *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->ntargets; i++) {
        if (!c->targets[i].offered)
            out->targets[kept++] = c->targets[i].id.vpid;
    }
    out->ntargets = kept;
}

void head_event_add(struct head *l, enum api_event_type type, uint32_t vpid, uint64_t epoch,
                    struct campaign *c)
{
    struct api_event *e = &l->events[l->next_event % API_EVENTS_KEPT];

    if (e->number)
        api_event_free(e);
    memset(e, 0, sizeof *e);
    memcpy(e->incarnation, l->incarnation, sizeof e->incarnation);
    e->number = l->next_event++;
    e->time_ms = (int64_t)l->out->wall_ms;
    e->type = type;
    e->vpid = vpid;
    e->epoch = epoch;
    if (type >= API_EVENT_CAMPAIGN_COMPLETE && type <= API_EVENT_CAMPAIGN_CANCELLED)
        resize_request_ended(l, c);
    if (c) {
        e->has_campaign = true;
        campaign_fill(l, c, &e->campaign);
        if (type == API_EVENT_NODES_OFFERED)
            leave_offered_out(c, &e->campaign);
    }
    out_add(l->out, OUT_EVENT)->req = e->number;
}

const struct api_event *head_event(const struct head *l, uint64_t number)
{
    const struct api_event *e = &l->events[number % API_EVENTS_KEPT];

    return number && e->number == number ? e : NULL;
}

uint64_t head_event_next(const struct head *l)
{
    return l->next_event;
}
