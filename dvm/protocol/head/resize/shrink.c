/* SPDX-License-Identifier: BSD-3-Clause */
/* Shrink campaigns: members leave without losing work.
 *
 * In: an accepted shrink; jobs that end; targets that have processed the command. Out: one
 * broadcast that removes all targets; the end (campaign_end.c).
 *
 * 1. Draining: the targets get no new jobs. The shrink waits for the jobs there, ends them (mode
 * Kill), or ends them at the deadline. It can be cancelled. It also waits for other campaigns that
 * remove some of its targets, and while the fence defers. At its end, jobs that wait for slots and
 * whose prun is at a target are given back. 2. Removing: the fence is up by the
 * number of targets. One REMOVE names them all. This phase ends when all daemons have processed it
 * and each target has processed it, is lost, or has been silent for the time of an acknowledgement.
 * 3. Teardown of all targets in one pass; record, events, answer; then the fence is lowered.
 *
 * A target that has called home and is not wired yet is turned away at once. */
#include "dvm/protocol/head/resize/shrink.h"

#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"
#include "dvm/protocol/head/resize/drain.h"

#include <stdlib.h>
#include <utlist.h>

void shrink_find_targets(struct campaigns *cs, struct campaign *draft)
{
    for (size_t i = 0; i < draft->ntargets; i++) {
        struct msg_target *t = &draft->targets[i].id;
        const struct member *m = members_get(cs->members, t->vpid);

        if (!m || roster_turn_away(cs->roster, t->vpid, false))
            continue;
        if (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED || m->state == MEMBER_DRAINING)
            t->epoch = members_epoch(cs->members, m);
    }
}

static void drain_members(struct campaigns *cs, const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        const struct member *m = members_get(cs->members, c->targets[i].id.vpid);

        if (m && m->state == MEMBER_WIRED)
            roster_step(cs->roster, m, MEMBER_EV_NAME);
    }
}

static bool nobody_there(const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        if (!epoch_none(c->targets[i].id.epoch))
            return false;
    }
    return true;
}

/* True if another campaign is removing a target already: this one waits for its end. It does not
 * wait for one that drains, or two campaigns with one target would wait for each other. */
static bool others_remove(const struct campaigns *cs, const struct campaign *c)
{
    const struct campaign *o;

    DL_FOREACH(campaign_table_first(cs->table), o)
    {
        bool removes = o->phase == API_PHASE_REMOVING || o->phase == API_PHASE_ROLLING_BACK;

        for (size_t i = 0; o != c && removes && i < c->ntargets; i++) {
            if (campaign_table_target(o, c->targets[i].id.vpid))
                return true;
        }
    }
    return false;
}

void shrink_accept(struct campaigns *cs, const struct campaign *c)
{
    drain_members(cs, c);
    campaign_apply_bound(cs);
    if (nobody_there(c) && !others_remove(cs, c)) { /* C7: terminal by the answer, no event */
        campaign_end(cs, c, CAMPAIGN_EV_NOBODY);
        return;
    }
    campaign_tell(cs, API_EVENT_CAMPAIGN_ACCEPTED, c);
}

/* True if another shrink has offered the target's node for the same epoch. */
static bool offered_already(const struct campaigns *cs, const struct campaign *c,
                            const struct campaign_target *own)
{
    const struct campaign *o;

    if (epoch_none(own->last))
        return false;
    DL_FOREACH(campaign_table_first(cs->table), o)
    {
        bool over = o->req.kind == API_KIND_SHRINK && o->phase == API_PHASE_COMPLETE;
        const struct campaign_target *t = over ? campaign_table_target(o, own->id.vpid) : NULL;

        if (t && o != c && epoch_eq(t->last, own->last))
            return true;
    }
    return false;
}

static void note_epoch(const struct campaigns *cs, const struct campaign *c,
                       struct campaign_target *t)
{
    const struct member *m = members_get(cs->members, t->id.vpid);

    if (m)
        t->last = members_epoch(cs->members, m);
    t->offered = offered_already(cs, c, t);
}

static void start_removing(struct campaigns *cs, const struct campaign *c)
{
    char name[FENCE_NAME_MAX];
    struct msg m = {.type = MSG_REMOVE, .remove = {.why = REMOVE_SHRINK, .text = c->id}};
    FREE_AUTO struct campaign_target *now = xcalloc(c->ntargets, sizeof(*now));
    uint32_t count = 0;

    m.remove.targets = xcalloc(c->ntargets + 1, sizeof(*m.remove.targets));
    for (size_t i = 0; i < c->ntargets; i++) {
        struct campaign_target *t = &now[i];
        const struct member *x;

        *t = c->targets[i];
        x = roster_find(cs->roster, t->id.vpid, t->id.epoch);
        roster_end_ordered(cs->roster, t->id.vpid);
        note_epoch(cs, c, t);
        if (x && members_current(cs->members, t->id.vpid, t->id.epoch)) {
            roster_step(cs->roster, x, MEMBER_EV_REMOVE);
            m.remove.targets[m.remove.ntargets++] = t->id;
            count++;
        } else {
            t->out = t->departed = true;
        }
    }
    campaign_enter(cs, c, (struct record_campaign_step){.event = CAMPAIGN_EV_DRAINED});
    campaign_note_targets(cs, c, now, c->ntargets);
    campaign_apply_bound(cs);
    fence_raise(cs->fence, campaign_fence_name(c, name), count);
    campaign_tell(cs, API_EVENT_CAMPAIGN_CHANGED, c);
    if (count)
        op_queue_add(cs->ops, &m, false, c);
    free(m.remove.targets);
}

static void finish_removing(struct campaigns *cs, const struct campaign *c)
{
    char name[FENCE_NAME_MAX];

    for (size_t i = 0; i < c->ntargets; i++) {
        const struct member *m =
            roster_find(cs->roster, c->targets[i].id.vpid, c->targets[i].id.epoch);

        if (m && m->state == MEMBER_LEAVING)
            roster_step(cs->roster, m, MEMBER_EV_LEFT);
    }
    op_queue_drop(cs->ops, c);
    campaign_end(cs, c, CAMPAIGN_EV_LEFT);
    fence_lower(cs->fence, campaign_fence_name(c, name));
}

/* True if no job keeps the shrink waiting. All jobs are looked at only after a job has changed. */
static bool is_drained(struct campaigns *cs, const struct campaign *c)
{
    bool ends = c->req.drain_mode == API_DRAIN_KILL ||
                (c->deadline_ms && c->deadline_ms <= cs->out->now_ms);

    if (c->look->changes == jobs_changes(cs->jobs) && (!ends || c->told_jobs))
        return c->look->waits == 0;
    if (ends)
        drain_end_jobs(cs, c);
    c->look->changes = jobs_changes(cs->jobs);
    c->look->waits = drain_waits(cs, c, NULL);
    return c->look->waits == 0;
}

/* A target knows which jobs of its clients have been taken, and which were given back. The clients
 * of the others may submit them at another daemon, so no job runs twice. A silent target is lost by
 * its links. */
static bool targets_have_acknowledged(const struct campaigns *cs, const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        const struct msg_target *id = &c->targets[i].id;

        if (members_current(cs->members, id->vpid, id->epoch) &&
            !jobs_acknowledged_by(cs->jobs, id->vpid))
            return false;
    }
    return true;
}

void shrink_step(struct campaigns *cs, const struct campaign *c)
{
    if (c->phase == API_PHASE_DRAINING && is_drained(cs, c) && campaign_is_top(cs, c) &&
        !others_remove(cs, c) && !fence_defers(cs->fence) && targets_have_acknowledged(cs, c) &&
        !drain_give_back(cs, c))
        start_removing(cs, c);
    if (c->phase != API_PHASE_REMOVING)
        return;
    if (campaign_all_out(cs, c) && (!c->op || c->op <= op_queue_completed(cs->ops)))
        finish_removing(cs, c);
}

void shrink_cancel(struct campaigns *cs, const struct campaign *c)
{
    campaign_end(cs, c, CAMPAIGN_EV_CANCEL);
    campaign_apply_bound(cs);
    for (size_t i = 0; i < c->ntargets; i++) {
        const struct member *m =
            roster_find(cs->roster, c->targets[i].id.vpid, c->targets[i].id.epoch);

        if (m && m->state == MEMBER_DRAINING && !campaign_names(cs, c->targets[i].id.vpid))
            roster_step(cs->roster, m, MEMBER_EV_CANCEL);
    }
}
