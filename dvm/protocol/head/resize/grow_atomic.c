/* SPDX-License-Identifier: BSD-3-Clause */
/* Grow campaigns: the daemons of all targets are wired at once, or none is.
 *
 * In: an accepted grow; daemons that call home, depart, or are wired by a batch of joiners; the
 * deadline; a shrink or a size that leaves no room. Out: one ADD for all targets, or one REMOVE of
 * those that are in the tree; the end (campaign_end.c).
 *
 * 1. Gathering: daemons of its targets are admitted when they call, and wait. The fence is down. It
 *    can be cancelled.
 * 2. Wiring: all have called. The fence is up by their number until everybody has processed the
 *    ADD.
 * 3. Failing: the daemon of a target departs, the deadline has passed, or the grow gives way to a
 *    shrink or size. The size bound is restored at once. Daemons that have called are refused and
 *    leave. Those in the tree are removed after the ADD, so that each has its place in the tree and
 *    receives the REMOVE. Members that were wired before the grow stay.
 *
 * Waiters of a grow are unmapped jobs that were accepted only because a grow was running. If this
 * grow fails and a waiter does not fit without it, the waiter ends too. All other jobs stay. */
#include "dvm/protocol/head/resize/grow_atomic.h"

#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"
#include "dvm/protocol/head/resize/grow.h"
#include "dvm/protocol/wire/exit_code.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* --- jobs that wait for it */

/* True if the job needs a grow: it needs more slots than a DVM of `bound` members has, or a host
 * that is not there. hoped: a host that a running grow claims counts as there. */
static bool lacks_members(const struct campaigns *cs, const struct job *j, uint32_t bound,
                          bool hoped)
{
    const struct job_spec *spec = &job_map(j)->spec;
    uint64_t maximum = slots_maximum(cs->slots, bound);

    for (size_t i = 0; i < spec->nhosts; i++) {
        const struct member *m = members_get(cs->members, spec->hosts[i]);

        if ((!m || m->state == MEMBER_ABSENT || m->state == MEMBER_REPORTED ||
             m->state == MEMBER_PARKED) &&
            !(hoped && campaign_claims(cs, spec->hosts[i])))
            return true;
    }
    if (bound == 0 && size_bound_given(cs->bound)) /* the size is 0, not unknown */
        return job_slots_wanted(j) > slots_present(cs->slots);
    return maximum && job_slots_wanted(j) > maximum;
}

/* The same, or all slots that it could get are held by jobs that wait for it. */
static bool needs_grow(const struct campaigns *cs, const struct job *j, uint32_t bound, bool hoped)
{
    return lacks_members(cs, j, bound, hoped) || job_queue_in_circle(cs->jobs, j, bound);
}

/* True if the job fits with the grows that run, and only with them. */
bool grow_atomic_will_do(const struct campaigns *cs, const struct job *j)
{
    if (job_map(j)->spec.nhosts == 0 && slots_maximum(cs->slots, size_bound_now(cs->bound)) == 0)
        return false; /* without members there is no maximum */
    return needs_grow(cs, j, campaign_bound(cs, true), false) &&
           !needs_grow(cs, j, size_bound_now(cs->bound), true);
}

static void spare_waiters(struct campaigns *cs)
{
    struct job *j;

    for (j = jobs_first(cs->jobs); j; j = job_next(j)) {
        if (job_needs_grow(j) && !needs_grow(cs, j, campaign_bound(cs, true), false))
            job_clear_needs_grow(cs->jobs, j);
    }
}

/* Contract C1, C8: ends the jobs before their map that were accepted only because a grow was
 * running, and that do not fit without this one. */
static void abort_waiters(struct campaigns *cs, const struct campaign *c)
{
    struct job *j;

    for (j = jobs_first(cs->jobs); j; j = job_next(j)) {
        bool its_own = job_needs_grow(j) && needs_grow(cs, j, size_bound_now(cs->bound), true);

        if (!job_mapped(j) && its_own)
            job_fail(cs->jobs, j, JOB_EV_NEVER, EXIT_CODE_NOT_LAUNCHED,
                     "not launched: it needs the grow %s, which %s%s", c->id,
                     c->phase == API_PHASE_CANCELLED ? "was cancelled" : "has failed: ",
                     c->phase == API_PHASE_CANCELLED ? "" : c->cause);
    }
}

/* --- the end */

/* The grow has ended: its waiters end or stay, and all held jobs go on. */
static void settle_jobs(struct campaigns *cs, const struct campaign *c)
{
    char name[FENCE_NAME_MAX];

    if (c->phase == API_PHASE_COMPLETE)
        spare_waiters(cs);
    else
        abort_waiters(cs, c);
    fence_lower(cs->fence, campaign_fence_name(c, name));
}

static void end_grow(struct campaigns *cs, const struct campaign *c, enum campaign_event how)
{
    campaign_end(cs, c, how);
    settle_jobs(cs, c);
}

static void finish_rollback(struct campaigns *cs, const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        const struct member *m =
            roster_find(cs->roster, c->targets[i].id.vpid, c->targets[i].id.epoch);

        if (m && c->targets[i].added && m->state == MEMBER_LEAVING)
            roster_step(cs->roster, m, MEMBER_EV_LEFT);
    }
    op_queue_drop(cs->ops, c);
    end_grow(cs, c, CAMPAIGN_EV_LEFT);
}

/* Targets that have called home and are not wired have to leave. */
static void turn_targets_away(struct campaigns *cs, const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        const struct member *m = members_get(cs->members, c->targets[i].id.vpid);

        if (m)
            (void)roster_turn_away(cs->roster, c->targets[i].id.vpid, true);
    }
}

/* Queues one removal of all members that this campaign has added. It follows the ADD, so each of
 * them is in the tree and receives it. Returns how many. */
static size_t roll_back(struct campaigns *cs, const struct campaign *c)
{
    struct msg m = {.type = MSG_REMOVE, .remove = {.why = REMOVE_SHRINK, .text = c->id}};
    FREE_AUTO struct campaign_target *now = xcalloc(c->ntargets, sizeof(*now));

    m.remove.targets = xcalloc(c->ntargets + 1, sizeof(*m.remove.targets));
    for (size_t i = 0; i < c->ntargets; i++) {
        struct campaign_target *t = &now[i];

        *t = c->targets[i];
        t->departed = t->out = !t->added || !members_current(cs->members, t->id.vpid, t->id.epoch);
        if (t->out)
            continue;
        roster_end_ordered(cs->roster, t->id.vpid);
        roster_step(cs->roster, roster_find(cs->roster, t->id.vpid, t->id.epoch), MEMBER_EV_REMOVE);
        m.remove.targets[m.remove.ntargets++] = t->id;
    }
    campaign_note_targets(cs, c, now, c->ntargets);
    if (m.remove.ntargets)
        op_queue_add(cs->ops, &m, false, c);
    free(m.remove.targets);
    return m.remove.ntargets;
}

__attribute__((format(printf, 4, 5))) static void fail_grow(struct campaigns *cs,
                                                            const struct campaign *c,
                                                            enum resize_status why, const char *fmt,
                                                            ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    op_queue_drop(cs->ops, c);
    /* the size bound is as before from here on */
    campaign_enter(
        cs, c, (struct record_campaign_step){.event = CAMPAIGN_EV_FAIL, .why = why, .cause = text});
    campaign_apply_bound(cs);
    turn_targets_away(cs, c);
    if (roll_back(cs, c))
        campaign_tell(cs, API_EVENT_CAMPAIGN_CHANGED, c);
    else
        finish_rollback(cs, c);
}

void grow_atomic_cancel(struct campaigns *cs, const struct campaign *c)
{
    campaign_end(cs, c, CAMPAIGN_EV_CANCEL);
    campaign_apply_bound(cs);
    turn_targets_away(cs, c);
    settle_jobs(cs, c);
}

void grow_atomic_give_way(struct campaigns *cs, uint32_t highest, const char *why)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        if (campaign_runs_grow(c) && c->phase != API_PHASE_ROLLING_BACK &&
            c->targets[c->ntargets - 1].id.vpid > highest)
            fail_grow(cs, c, RESIZE_NO_ROOM, "%s leaves no room for vpid %u", why,
                      c->targets[c->ntargets - 1].id.vpid);
    }
}

/* --- gathering and wiring */

struct gathered {
    size_t reported; /* have called and wait to be wired */
    size_t missing;  /* targets without a call home, or that a batch of joiners is wiring */
    const struct campaign_target *lost;
    size_t nfound; /* have called since the last look */
    struct campaign_target *found;
};

static void look_at(const struct campaigns *cs, const struct campaign_target *t, struct gathered *g)
{
    const struct member *m = members_get(cs->members, t->id.vpid);
    bool here = m && (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED);

    if (!epoch_none(t->id.epoch) &&
        !(here && epoch_eq(members_epoch(cs->members, m), t->id.epoch))) {
        g->lost = t;
    } else if (!here) {
        g->missing++;
    } else {
        if (epoch_none(t->id.epoch)) {
            g->found[g->nfound] = *t;
            g->found[g->nfound++].id.epoch = members_epoch(cs->members, m);
        }
        if (m->state == MEMBER_REPORTED) {
            bool live = members_live(cs->members, t->id.vpid);

            g->missing += live;
            g->reported += !live;
        }
    }
}

static struct gathered look_at_all(struct campaigns *cs, const struct campaign *c)
{
    FREE_AUTO struct campaign_target *found = xcalloc(c->ntargets, sizeof(*found));
    struct gathered g = {.found = found};

    for (size_t i = 0; i < c->ntargets; i++)
        look_at(cs, &c->targets[i], &g);
    campaign_note_targets(cs, c, found, g.nfound);
    g.found = NULL;
    return g;
}

static void start_wiring(struct campaigns *cs, const struct campaign *c, size_t n)
{
    struct msg m = {.type = MSG_ADD};
    struct msg_add *add = &m.add;
    FREE_AUTO struct campaign_target *added = xcalloc(n, sizeof(*added));
    char name[FENCE_NAME_MAX];

    add->members = xcalloc(n, sizeof(*add->members));
    for (size_t i = 0; i < c->ntargets; i++) {
        const struct member *x = members_get(cs->members, c->targets[i].id.vpid);

        if (!x || x->state != MEMBER_REPORTED)
            continue;
        added[add->nmembers] = c->targets[i];
        added[add->nmembers].added = true;
        add->members[add->nmembers++] = members_facts(cs->members, c->targets[i].id.vpid);
    }
    campaign_enter(cs, c, (struct record_campaign_step){.event = CAMPAIGN_EV_COME});
    campaign_note_targets(cs, c, added, add->nmembers);
    fence_raise(cs->fence, campaign_fence_name(c, name), (uint32_t)n);
    campaign_tell(cs, API_EVENT_CAMPAIGN_CHANGED, c);
    op_queue_add(cs->ops, &m, false, c);
    for (size_t i = 0; i < add->nmembers; i++)
        msg_member_free(&add->members[i]);
    free(add->members);
}

static void try_wiring(struct campaigns *cs, const struct campaign *c, const struct gathered *g)
{
    if (g->missing)
        return;
    if (g->reported == 0)
        end_grow(cs, c, CAMPAIGN_EV_WIRED);
    else if (!op_queue_busy(cs->ops) && !grow_running(cs->grow) && !fence_defers(cs->fence))
        start_wiring(cs, c, g->reported);
}

static void check_wired(struct campaigns *cs, const struct campaign *c)
{
    if (!c->op || c->op > op_queue_completed(cs->ops))
        return;
    grow_wire_added(cs);
    end_grow(cs, c, CAMPAIGN_EV_WIRED);
}

void grow_atomic_step(struct campaigns *cs, const struct campaign *c)
{
    struct gathered g;

    if (c->phase == API_PHASE_ROLLING_BACK) {
        /* Without a number its removal has not started, and all its targets were lost meanwhile. */
        if (campaign_all_out(cs, c) && (!c->op || c->op <= op_queue_completed(cs->ops)))
            finish_rollback(cs, c);
        return;
    }
    g = look_at_all(cs, c);
    if (g.lost)
        fail_grow(cs, c, RESIZE_LOST, "the daemon of vpid %u (epoch %llu) has left or was lost",
                  g.lost->id.vpid, (unsigned long long)g.lost->id.epoch.ctr);
    else if (c->deadline_ms && c->deadline_ms <= cs->out->now_ms)
        fail_grow(cs, c, RESIZE_TIMEOUT,
                  "its deadline of %lld s has passed, %zu of %zu daemons have not joined",
                  (long long)c->req.deadline_s, g.missing, c->ntargets);
    else if (incarnation_ending(cs->inc) && c->phase == API_PHASE_GATHERING)
        fail_grow(cs, c, RESIZE_UNREACHABLE, "the DVM shuts down");
    else if (c->phase == API_PHASE_GATHERING)
        try_wiring(cs, c, &g);
    else
        check_wired(cs, c);
}

/* --- admission */

int grow_atomic_check(const struct campaigns *cs, const struct api_campaign_request *r,
                      enum api_reason *reason, struct err *err)
{
    const struct api_size_limits *limits = size_bound_limits(cs->bound);

    if (limits->set && r->targets[r->ntargets - 1] > limits->max) {
        *reason = API_REASON_BAD_REQUEST;
        return err_code(err, 400, "targets: %u is above the largest size, %u",
                        r->targets[r->ntargets - 1], limits->max);
    }
    for (size_t i = 0; i < r->ntargets; i++) {
        const struct campaign *c;

        if (r->targets[i] == VPID_HEAD) {
            *reason = API_REASON_BAD_REQUEST;
            return err_code(err, 400, "targets: vpid 0 is the head's own");
        }
        DL_FOREACH(campaign_table_first(cs->table), c)
        {
            if (!campaign_runs_grow(c) || !campaign_table_target(c, r->targets[i]))
                continue;
            *reason = API_REASON_GROW_RUNNING;
            return err_code(err, 409, "vpid %u is a target of the grow %s, which is running",
                            r->targets[i], c->id);
        }
    }
    return 0;
}

void grow_atomic_accept(struct campaigns *cs, const struct campaign *c)
{
    struct gathered g;

    campaign_apply_bound(cs);
    g = look_at_all(cs, c);
    if (g.missing + g.reported == 0) { /* C7: terminal by the answer, no event */
        campaign_end(cs, c, CAMPAIGN_EV_NOBODY);
        return;
    }
    campaign_tell(cs, API_EVENT_CAMPAIGN_ACCEPTED, c);
}
