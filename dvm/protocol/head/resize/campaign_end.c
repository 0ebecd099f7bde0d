/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a campaign of any kind: record, events, answer.
 *
 * In: a campaign whose last step is done, and how it ends. Out, in this order: 1. the record: the
 * terminal phase, the time, and whether the asker is notified; 2. the events: the nodes that are
 * free now, then the end; 3. the answer to the process that has asked for it by PMIx.
 *
 * So the record exists when the answer comes. A campaign has one terminal record, and its requester
 * gets one terminal event. A campaign that has nothing to change ends in its acceptance: there is
 * no event, and the answer to the request says it. Releases that daemons request for themselves
 * have no requester; only their cancellation is an event.
 *
 * Nodes are offered once for each epoch that a shrink removes. A grow that fails or is cancelled
 * offers the nodes of all its targets.
 *
 * The caller has released the campaign's members before, and lowers the fence after: jobs
 * continue when the end is known. */
#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"

#include <utlist.h>

static enum api_event_type event_of(enum api_phase phase)
{
    return phase == API_PHASE_COMPLETE ? API_EVENT_CAMPAIGN_COMPLETE
           : phase == API_PHASE_FAILED ? API_EVENT_CAMPAIGN_FAILED
                                       : API_EVENT_CAMPAIGN_CANCELLED;
}

static bool frees_nodes(const struct campaign *c)
{
    if (c->req.kind == API_KIND_GROW)
        return c->phase != API_PHASE_COMPLETE;
    for (size_t i = 0; c->phase == API_PHASE_COMPLETE && i < c->ntargets; i++) {
        if (!c->targets[i].offered)
            return true;
    }
    return false;
}

static bool is_told(const struct campaign *c)
{
    return c->has_requester || c->phase == API_PHASE_CANCELLED;
}

/* An asker that has departed is not answered, and the record says so. The campaign was not
 * stopped. */
static enum api_told choose_told(const struct campaigns *cs, const struct campaign *c,
                                 enum campaign_event how)
{
    if (how == CAMPAIGN_EV_NOBODY)
        return API_TOLD_ANSWER;
    if (!c->asker.nspace)
        return API_TOLD_NOT_YET;
    if (asker_present(cs, &c->asker))
        return API_TOLD_EVENT;
    out_log(cs->out, LOG_LEVEL_INFO, "campaign %s: job %s rank %u has departed and is not notified",
            c->id, c->asker.nspace, c->asker.rank);
    return API_TOLD_GONE;
}

void campaign_end(struct campaigns *cs, const struct campaign *c, enum campaign_event how)
{
    struct record_campaign_step end = {.event = (uint8_t)how,
                                       .why = RESIZE_CANCELLED, /* if it is cancelled */
                                       .told = choose_told(cs, c, how)};
    bool told;

    campaign_enter(cs, c, end);
    if (how == CAMPAIGN_EV_NOBODY)
        return;
    told = is_told(c);
    if (frees_nodes(c))
        campaign_tell(cs, API_EVENT_NODES_OFFERED, c);
    if (told)
        campaign_tell(cs, event_of(c->phase), c);
    if (told && c->asker.told == API_TOLD_EVENT)
        asker_answer_end(cs, c);
    out_log(cs->out, LOG_LEVEL_INFO, "campaign %s: %s%s%s", c->id, api_phase_name(c->phase),
            c->cause ? ": " : "", c->cause ? c->cause : "");
}
