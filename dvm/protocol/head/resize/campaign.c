/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of campaigns: targets, phases, the size bound that they make.
 *
 * In: new campaigns; targets that have processed the command, are lost or have departed. Out: the
 * vpids that are named, the joiners that are claimed, and the size bound.
 *
 * A shrink: draining, removing, complete; or cancelled. A grow: gathering, wiring, complete; or
 * cancelled, or rolling back, failed (docs/graphs/campaign.md). A terminal phase is final. Ended
 * campaigns are kept for later queries. At RESIZE_CAMPAIGNS_MAX the oldest is forgotten, and leaves
 * its change of the bound in the base.
 *
 * The bound is the size in force, changed by each campaign of a requester that was accepted under
 * it: a grow raises it to its highest target, a shrink lowers it below its lowest. A campaign that
 * was cancelled or has failed changes nothing.
 *
 * The files of this folder, from the bottom up; each calls only those before it: fence, asker,
 * campaign, drain, campaign_view, campaign_end, shrink, grow, grow_atomic, campaign_admit,
 * release, resize_request, resize */
#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

bool campaign_removes(const struct campaigns *cs)
{
    const struct campaign *c;

    DL_FOREACH(cs->list, c)
    {
        if (c->phase == API_PHASE_REMOVING)
            return true;
    }
    return false;
}

static int compare_vpids(const void *key, const void *element)
{
    uint32_t vpid = *(const uint32_t *)key;
    uint32_t other = ((const struct target *)element)->id.vpid;

    return vpid < other ? -1 : vpid > other;
}

struct target *campaign_target(const struct campaign *c, uint32_t vpid)
{
    return bsearch(&vpid, c->targets, c->ntargets, sizeof(*c->targets), compare_vpids);
}

bool campaign_names(const struct campaigns *cs, uint32_t vpid)
{
    const struct campaign *c;

    DL_FOREACH(cs->list, c)
    {
        bool running = !api_phase_terminal(c->phase);
        const struct target *t = running ? campaign_target(c, vpid) : NULL;

        if (t &&
            (c->req.kind == API_KIND_SHRINK || (c->phase == API_PHASE_ROLLING_BACK && t->added)))
            return true;
    }
    return false;
}

bool campaign_runs_grow(const struct campaign *c)
{
    return c->req.kind == API_KIND_GROW && !api_phase_terminal(c->phase);
}

const struct campaign *campaign_claims(const struct campaigns *cs, uint32_t vpid)
{
    const struct member *m = members_get(cs->members, vpid);
    const struct campaign *c;

    if (m && (m->state == MEMBER_WIRED || m->state == MEMBER_DRAINING))
        return NULL;
    DL_FOREACH(cs->list, c)
    {
        if (campaign_runs_grow(c) && campaign_target(c, vpid))
            return c;
    }
    return NULL;
}

void campaign_free(struct campaign *c)
{
    for (size_t i = 0; i < c->nended; i++) {
        free(c->ended[i].job);
        free(c->ended[i].ranks);
    }
    free(c->ended);
    free(c->targets);
    free(c->cause);
    asker_free(&c->asker);
    free(c->id);
    api_campaign_request_free(&c->req);
    free(c);
}

/* The size bound after a campaign, if it was `bound` before. */
static uint32_t bound_after(const struct campaigns *cs, const struct campaign *c, uint32_t bound)
{
    uint32_t first = c->ntargets ? c->targets[0].id.vpid : 0;
    uint32_t last = c->ntargets ? c->targets[c->ntargets - 1].id.vpid : 0;

    if (!c->has_requester || c->req.keeps_size || !first ||
        c->size_sequence != size_bound_sequence(cs->bound) || c->phase == API_PHASE_CANCELLED ||
        c->phase == API_PHASE_FAILED || c->phase == API_PHASE_ROLLING_BACK)
        return bound;
    if (c->req.kind == API_KIND_GROW)
        return last > bound ? last : bound;
    return first <= bound ? first - 1 : bound;
}

uint32_t campaign_bound(const struct campaigns *cs, bool settled)
{
    uint32_t bound = size_bound_base(cs->bound);
    const struct campaign *c;

    DL_FOREACH(cs->list, c)
    {
        if (!settled || c->req.kind == API_KIND_SHRINK || api_phase_terminal(c->phase))
            bound = bound_after(cs, c, bound);
    }
    return bound;
}

static struct campaign *oldest_ended(const struct campaigns *cs)
{
    struct campaign *c;

    DL_FOREACH(cs->list, c)
    {
        if (api_phase_terminal(c->phase))
            return c;
    }
    return NULL;
}

bool campaign_room(const struct campaigns *cs)
{
    return cs->n < RESIZE_CAMPAIGNS_MAX || oldest_ended(cs);
}

static void forget_campaign(struct campaigns *cs, struct campaign *c)
{
    size_bound_rebase(cs->bound, bound_after(cs, c, size_bound_base(cs->bound)));
    DL_DELETE(cs->list, c);
    campaign_free(c);
    cs->n--;
}

struct campaign *campaign_new(struct campaigns *cs, const char *id, const uint32_t *vpids, size_t n)
{
    struct campaign *c = xcalloc(1, sizeof(*c));
    struct campaign *old = oldest_ended(cs);

    if (cs->n >= RESIZE_CAMPAIGNS_MAX && old)
        forget_campaign(cs, old);
    c->id = xstrdup(id);
    c->targets = xcalloc(n + 1, sizeof(*c->targets));
    c->accepted_wall = (int64_t)cs->out->wall_ms;
    c->size_sequence = size_bound_sequence(cs->bound);
    for (size_t i = 0; i < n; i++)
        c->targets[i].id.vpid = vpids[i];
    c->ntargets = n;
    DL_APPEND(cs->list, c);
    cs->n++;
    return c;
}

struct campaign *campaign_by_id(const struct campaigns *cs, const char *id)
{
    struct campaign *c;

    DL_FOREACH(cs->list, c)
    {
        if (strcmp(c->id, id) == 0)
            return c;
    }
    return NULL;
}

void campaign_enter(struct campaigns *cs, struct campaign *c, enum campaign_event ev)
{
    int phase = (int)c->phase;
    struct err err = {0};

    if (fsm_step(&campaign_fsm, &phase, (int)ev, NULL, &err) < 0)
        out_log(cs->out, LOG_LEVEL_ERROR, "campaign %s: %s", c->id, err.msg);
    c->phase = (enum api_phase)phase;
}

const char *campaign_fence_name(const struct campaign *c, char name[FENCE_NAME_MAX])
{
    snprintf(name, FENCE_NAME_MAX, "campaign %s", c->id);
    return name;
}

void campaign_op_started(struct campaigns *cs, struct campaign *c, uint64_t op)
{
    c->op = op;
    c->ack_by_ms = cs->out->now_ms + cs->ack_ms;
}

void campaign_target_out(struct campaign *c, struct target *t)
{
    c->nout += !t->out;
    t->out = true;
}

static bool all_out(const struct campaign *c)
{
    return c->nout == c->ntargets;
}

bool campaign_all_out(struct campaigns *cs, struct campaign *c)
{
    bool late = c->op && c->ack_by_ms <= cs->out->now_ms && !all_out(c);

    for (size_t i = 0; late && i < c->ntargets; i++) {
        if (c->targets[i].out)
            continue;
        out_log(cs->out, LOG_LEVEL_WARN, "campaign %s: vpid %u is silent and is declared lost",
                c->id, c->targets[i].id.vpid);
        campaign_target_out(c, &c->targets[i]);
    }
    return all_out(c);
}

uint64_t campaign_next_deadline(const struct campaigns *cs)
{
    uint64_t due = UINT64_MAX;
    const struct campaign *c;

    DL_FOREACH(cs->list, c)
    {
        if (c->phase == API_PHASE_DRAINING && c->deadline_ms && !c->told_jobs &&
            c->deadline_ms < due)
            due = c->deadline_ms;
        if ((c->phase == API_PHASE_GATHERING || c->phase == API_PHASE_WIRING) && c->deadline_ms &&
            c->deadline_ms < due)
            due = c->deadline_ms;
        if ((c->phase == API_PHASE_REMOVING || c->phase == API_PHASE_ROLLING_BACK) && c->op &&
            !all_out(c) && c->ack_by_ms < due)
            due = c->ack_by_ms;
    }
    return due;
}

bool campaign_mark(struct campaigns *cs, uint32_t vpid, struct epoch epoch, bool departed)
{
    struct campaign *c;
    bool news = false;

    DL_FOREACH(cs->list, c)
    {
        struct target *t = campaign_target(c, vpid);

        if (!t || !epoch_eq(t->id.epoch, epoch))
            continue;
        campaign_target_out(c, t);
        news |= departed && !t->departed;
        t->departed |= departed;
    }
    return news;
}
