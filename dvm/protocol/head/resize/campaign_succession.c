/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaigns and the batch of joiners under a new head, which has folded the records of the former
 * one.
 *
 * In: the table of campaigns, and the number of the operation by which the new head has made itself
 * known. Out: the shares of the fence; removals that the former head had not started, again.
 *
 * A removal starts and is applied in one turn, so a target that is still a member shows that its
 * removal has not started. Daemons that had called the former head call again, with another epoch,
 * and a grow that gathers waits for them. Members that an ADD has put into the tree count as wired
 * when all daemons have processed the operation of the new head. */
#include "dvm/protocol/head/resize/campaign_private.h"
#include "dvm/protocol/head/resize/grow.h"

#include <stdlib.h>
#include <utlist.h>

/* Targets that have not left yet and are members. */
static uint32_t list_members(const struct campaigns *cs, const struct campaign *c,
                             struct msg_target *list)
{
    uint32_t n = 0;

    for (size_t i = 0; i < c->ntargets; i++) {
        const struct campaign_target *t = &c->targets[i];

        if (!t->out && members_current(cs->members, t->id.vpid, t->id.epoch))
            list[n++] = t->id;
    }
    return n;
}

/* A removal that waited for its turn is in no record. One that has started has its time to be
 * acknowledged from now on. */
static void resume_removal(struct campaigns *cs, const struct campaign *c)
{
    FREE_AUTO struct msg_target *targets = xcalloc(c->ntargets + 1, sizeof(*targets));
    struct msg m = {.type = MSG_REMOVE,
                    .remove = {.why = REMOVE_SHRINK, .text = c->id, .targets = targets}};

    m.remove.ntargets = list_members(cs, c, targets);
    if (m.remove.ntargets)
        op_queue_add(cs->ops, &m, false, c);
    else if (c->op)
        campaign_op_started(cs, c, c->op);
}

static void resume_campaign(struct campaigns *cs, const struct campaign *c)
{
    char name[FENCE_NAME_MAX];
    bool removes = c->phase == API_PHASE_REMOVING || c->phase == API_PHASE_ROLLING_BACK;
    uint32_t n = 0;

    if (!removes && c->phase != API_PHASE_WIRING)
        return;
    for (size_t i = 0; i < c->ntargets; i++)
        n += removes ? !c->targets[i].out : c->targets[i].added;
    fence_raise(cs->fence, campaign_fence_name(c, name), n ? n : 1);
    if (removes)
        resume_removal(cs, c);
}

/* Its targets that had called are counted when they call again. */
static void await_callers(struct campaigns *cs, const struct campaign *c)
{
    FREE_AUTO struct campaign_target *again = xcalloc(c->ntargets + 1, sizeof(*again));
    size_t n = 0;

    for (size_t i = 0; c->phase == API_PHASE_GATHERING && i < c->ntargets; i++) {
        const struct msg_target *t = &c->targets[i].id;
        const struct member *m = roster_find(cs->roster, t->vpid, t->epoch);

        if (!m || m->state != MEMBER_REPORTED || members_live(cs->members, t->vpid))
            continue;
        again[n] = c->targets[i];
        again[n++].id.epoch = (struct epoch){0, 0};
    }
    campaign_note_targets(cs, c, again, n);
}

void campaign_succeed(struct campaigns *cs, uint64_t op)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        await_callers(cs, c);
    }
    roster_turn_callers_away(cs->roster);
    grow_succeed(cs->grow, op);
    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        resume_campaign(cs, c);
    }
    if (fence_sum(cs->fence) == 0)
        jobs_release_held(cs->jobs);
}
