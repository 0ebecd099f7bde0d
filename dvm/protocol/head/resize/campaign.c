/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of campaigns: targets, phases, the size bound that they make.
 *
 * In: new campaigns; targets that have processed the command, are lost or have departed. Out:
 * records of the journal; the vpids that are named, the joiners that are claimed, and the size
 * bound.
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
 * The files of this folder, from the bottom up; each calls only those before it: campaign_table,
 * fence, asker, campaign, drain, campaign_view, campaign_end, shrink, grow, grow_atomic,
 * campaign_admit, extension, campaign_succession, release, resize_request, resize */
#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"

#include <stdio.h>
#include <utlist.h>

bool campaign_removes(const struct campaigns *cs)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        if (c->phase == API_PHASE_REMOVING)
            return true;
    }
    return false;
}

bool campaign_names(const struct campaigns *cs, uint32_t vpid)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        bool running = !api_phase_terminal(c->phase);
        const struct campaign_target *t = running ? campaign_table_target(c, vpid) : NULL;

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
    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        if (campaign_runs_grow(c) && campaign_table_target(c, vpid))
            return c;
    }
    return NULL;
}

/* A member that no shrink is to remove, or that still has jobs although one is. */
static bool stays_for_now(const struct campaigns *cs, const struct campaign *c, uint32_t vpid)
{
    const struct member *m = members_get(cs->members, vpid);
    const struct campaign *o;

    if (!m || campaign_table_target(c, vpid))
        return false;
    if (m->state != MEMBER_DRAINING)
        return m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED;
    DL_FOREACH(campaign_table_first(cs->table), o)
    {
        if (o->phase == API_PHASE_DRAINING && o->look->waits && campaign_table_target(o, vpid))
            return true;
    }
    return false;
}

bool campaign_is_top(const struct campaigns *cs, const struct campaign *c)
{
    uint32_t first = c->targets[0].id.vpid;
    const struct campaign *o;

    if (!c->asker.nspace || !*c->asker.of || c->req.keeps_size)
        return true;
    for (uint32_t v = first; v < cs->members->n; v++) {
        if (stays_for_now(cs, c, v))
            return false;
    }
    DL_FOREACH(campaign_table_first(cs->table), o)
    {
        if (campaign_runs_grow(o) && o->targets[o->ntargets - 1].id.vpid > first)
            return false;
    }
    return true;
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
    if (c->phase == API_PHASE_DRAINING && !campaign_is_top(cs, c))
        return bound;
    return first <= bound ? first - 1 : bound;
}

uint32_t campaign_bound(const struct campaigns *cs, bool settled)
{
    uint32_t bound = size_bound_base(cs->bound);
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        if (!settled || c->req.kind == API_KIND_SHRINK || api_phase_terminal(c->phase))
            bound = bound_after(cs, c, bound);
    }
    return bound;
}

void campaign_apply_bound(struct campaigns *cs)
{
    size_bound_set(cs->bound, campaign_bound(cs, false));
    jobs_kick(cs->jobs);
}

const struct campaign *campaign_accept(struct campaigns *cs, const struct campaign *draft,
                                       struct err *err)
{
    const struct campaign *old = campaign_table_next_forgotten(cs->table);
    struct record r = {.type = RECORD_CAMPAIGN, .campaign = (struct campaign *)draft};

    if (old)
        size_bound_rebase(cs->bound, bound_after(cs, old, size_bound_base(cs->bound)));
    return journal_put(cs->journal, &r, err) < 0 ? NULL : campaign_table_last(cs->table);
}

const struct campaign *campaign_by_id(const struct campaigns *cs, const char *id)
{
    return campaign_table_find(cs->table, id);
}

void campaign_enter(struct campaigns *cs, const struct campaign *c,
                    struct record_campaign_step step)
{
    struct record r = {.type = RECORD_CAMPAIGN_STEP, .campaign_step = step};

    r.campaign_step.id = c->id;
    r.campaign_step.wall_ms = (int64_t)cs->out->wall_ms;
    if (!step.cause)
        r.campaign_step.cause = (char *)"";
    journal_note(cs->journal, &r);
}

void campaign_note_targets(struct campaigns *cs, const struct campaign *c,
                           struct campaign_target *list, size_t n)
{
    struct record r = {.type = RECORD_CAMPAIGN_TARGETS, .campaign_targets = {c->id, n, list}};

    if (n)
        journal_note(cs->journal, &r);
}

void campaign_note_job(struct campaigns *cs, const struct campaign *c, struct api_job_ref *job)
{
    struct record r = {.type = RECORD_CAMPAIGN_JOBS, .campaign_jobs = {c->id, job ? 1 : 0, job}};

    journal_note(cs->journal, &r);
}

void campaign_note_asker(struct campaigns *cs, const struct campaign *c, struct msg_target daemon,
                         uint64_t op)
{
    struct record r = {.type = RECORD_CAMPAIGN_ASKER, .campaign_asker = {c->id, daemon, op}};

    journal_note(cs->journal, &r);
}

const char *campaign_fence_name(const struct campaign *c, char name[FENCE_NAME_MAX])
{
    snprintf(name, FENCE_NAME_MAX, "campaign %s", c->id);
    return name;
}

void campaign_op_started(struct campaigns *cs, const struct campaign *c, uint64_t op)
{
    struct record r = {.type = RECORD_CAMPAIGN_OP,
                       .campaign_op = {c->id, op, cs->out->now_ms + cs->ack_ms}};

    journal_note(cs->journal, &r);
}

static bool all_out(const struct campaign *c)
{
    return c->nout == c->ntargets;
}

/* For each campaign that names them, as when they leave. */
static void declare_silent(struct campaigns *cs, const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        if (c->targets[i].out)
            continue;
        out_log(cs->out, LOG_LEVEL_WARN, "campaign %s: vpid %u is silent and is declared lost",
                c->id, c->targets[i].id.vpid);
        (void)campaign_mark(cs, c->targets[i].id.vpid, c->targets[i].id.epoch, false);
    }
}

bool campaign_all_out(struct campaigns *cs, const struct campaign *c)
{
    if (c->op && c->ack_by_ms <= cs->out->now_ms && !all_out(c))
        declare_silent(cs, c);
    return all_out(c);
}

uint64_t campaign_next_deadline(const struct campaigns *cs)
{
    uint64_t due = UINT64_MAX;
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
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
    const struct campaign *c;
    bool news = false;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        const struct campaign_target *t = campaign_table_target(c, vpid);
        struct campaign_target now;

        if (!t || !epoch_eq(t->id.epoch, epoch) || (t->out && (t->departed || !departed)))
            continue;
        now = *t;
        now.out = true;
        now.departed |= departed;
        news |= departed && !t->departed;
        campaign_note_targets(cs, c, &now, 1);
    }
    return news;
}
