/* SPDX-License-Identifier: BSD-3-Clause */
/* Grow campaigns: the daemons of all targets are wired at once, or none is; who fails, is cancelled
 * or gives way to a shrink takes back what it has begun. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static bool runs(const struct campaign *c)
{
    return c->req.kind == API_KIND_GROW && !api_phase_terminal(c->phase);
}

/* A running grow that has yet to wire this vpid, or NULL: nobody else wires it. */
const struct campaign *grow_atomic_claims(const struct head *l, uint32_t vpid)
{
    const struct member *m = members_get(l->members, vpid);
    const struct campaign *c;

    if (m && (m->state == MEMBER_WIRED || m->state == MEMBER_DRAINING))
        return NULL;
    DL_FOREACH(l->campaigns, c)
    {
        if (runs(c) && campaign_target(c, vpid))
            return c;
    }
    return NULL;
}

/* --- jobs that wait for it */

static uint64_t present_slots(const struct head *l)
{
    uint64_t sum = 0;

    for (uint32_t v = 0; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);

        sum += m && m->state == MEMBER_WIRED ? members_slots(l->members, m) : 0;
    }
    return sum;
}

/* Whether the job lacks something that only a grow could bring: slots at a size of `bound`, or a
 * host that is not there and that no running grow brings (`hoped`: one does count). */
static bool lacks(const struct head *l, const struct job *j, uint32_t bound, bool hoped)
{
    const struct job_spec *spec = &j->map.spec;
    uint64_t maximum = job_maximum_slots(l, bound);

    for (size_t i = 0; i < spec->nhosts; i++) {
        const struct member *m = members_get(l->members, spec->hosts[i]);

        if ((!m || m->state == MEMBER_ABSENT || m->state == MEMBER_REPORTED ||
             m->state == MEMBER_PARKED) &&
            !(hoped && grow_atomic_claims(l, spec->hosts[i])))
            return true;
    }
    if (bound == 0 && (l->size_sequence || l->opts.size)) /* and not for want of a word on it */
        return job_slots_wanted(j) > present_slots(l);
    return maximum && job_slots_wanted(j) > maximum;
}

/* Asked once, when a job is first to be mapped and does not fit: does it do so with the grows that
 * run? */
bool grow_atomic_will_do(const struct head *l, const struct job *j)
{
    if (j->map.spec.nhosts == 0 && job_maximum_slots(l, l->bound) == 0)
        return false; /* nobody has come yet to judge by */
    return lacks(l, j, bound_now(l, true), false) && !lacks(l, j, l->bound, true);
}

static void spare_waiters(struct head *l)
{
    struct job *j;

    DL_FOREACH(l->jobs, j)
    {
        j->needs_grow = j->needs_grow && lacks(l, j, bound_now(l, true), false);
    }
}

/* C1, C8: its own waiters are the jobs at the map boundary that were accepted only because a grow
 * was under way, and that do not fit without this one. */
static void abort_waiters(struct head *l, const struct campaign *c)
{
    struct job *j;

    DL_FOREACH(l->jobs, j)
    {
        bool its_own = j->needs_grow && lacks(l, j, l->bound, true);

        if (!j->mapped && (its_own || MUTANT(ABORT_ALL_WAITERS)) && !MUTANT(WAITERS_STAY))
            job_fail(l, j, JOB_EV_NEVER, EXIT_CODE_NOT_LAUNCHED,
                     "not launched: it needs the grow %s, which %s%s", c->id,
                     c->phase == API_PHASE_CANCELLED ? "was cancelled" : "has failed: ",
                     c->phase == API_PHASE_CANCELLED ? "" : c->cause);
    }
}

/* --- the end */

/* It has entered its last phase. */
static void end(struct head *l, struct campaign *c, enum api_event_type event)
{
    char name[FENCE_NAME_MAX];

    c->complete_wall = (int64_t)l->out->wall_ms;
    if (c->phase == API_PHASE_COMPLETE)
        spare_waiters(l);
    else
        abort_waiters(l, c);
    if (c->phase != API_PHASE_COMPLETE)
        head_event_add(l, API_EVENT_NODES_OFFERED, 0, 0, c);
    if (c->has_requester && !(MUTANT(FAIL_UNTOLD) && c->phase == API_PHASE_FAILED) &&
        !(MUTANT(GROW_UNTOLD) && c->phase == API_PHASE_COMPLETE))
        head_event_add(l, event, 0, 0, c);
    if (MUTANT(GROW_TWICE) && c->phase == API_PHASE_COMPLETE)
        head_event_add(l, event, 0, 0, c);
    out_log(l->out, LOG_LEVEL_INFO, "campaign %s: %s%s%s", c->id, api_phase_name(c->phase),
            c->cause ? ": " : "", c->cause ? c->cause : "");
    l->kick = true;
    fence_lower(l, campaign_fence_name(c, name));
}

static void complete(struct head *l, struct campaign *c)
{
    campaign_enter(l, c, CAMPAIGN_EV_WIRED);
    end(l, c, API_EVENT_CAMPAIGN_COMPLETE);
}

static void failed(struct head *l, struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        struct member *m = member_now(l, c->targets[i].id.vpid, c->targets[i].id.epoch);

        if (m && c->targets[i].added && m->state == MEMBER_LEAVING)
            member_event(l, m, MEMBER_EV_LEFT);
    }
    campaign_enter(l, c, CAMPAIGN_EV_LEFT);
    end(l, c, API_EVENT_CAMPAIGN_FAILED);
}

/* Who has called and is not wired is told to leave. */
static void turn_away(struct head *l, const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        struct member *m = members_get(l->members, c->targets[i].id.vpid);

        if (m)
            (void)grow_turn_away(l, c->targets[i].id.vpid, true);
    }
}

/* One removal of all that are in the tree by this campaign, after the broadcast that adds them: so
 * each has its place in the tree, and hears it. */
static size_t roll_back(struct head *l, struct campaign *c)
{
    struct msg m = {.type = MSG_REMOVE, .number = REMOVE_SHRINK, .text = c->id};

    m.targets = xcalloc(c->ntargets + 1, sizeof *m.targets);
    c->nout = 0;
    for (size_t i = 0; i < c->ntargets; i++) {
        struct target *t = &c->targets[i];

        t->departed = t->out = !t->added || !members_current(l->members, t->id.vpid, t->id.epoch);
        c->nout += t->out;
        if (t->out)
            continue;
        join_backoff_forget(l, t->id.vpid);
        member_event(l, member_now(l, t->id.vpid, t->id.epoch), MEMBER_EV_REMOVE);
        m.targets[m.ntargets++] = t->id;
    }
    c->op = 0;
    if (MUTANT(TAKE_SOME_BACK) && m.ntargets > 1)
        m.ntargets--;
    if (m.ntargets)
        op_queue(l, &m, false, c);
    free(m.targets);
    return m.ntargets;
}

void grow_atomic_fail(struct head *l, struct campaign *c, enum alloc_status why, const char *fmt,
                      ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->cause = xstrdup(text);
    c->why = why;
    op_drop(l, c);
    campaign_enter(l, c, CAMPAIGN_EV_FAIL); /* the size bound is as before from here on */
    if (!MUTANT(KEEP_BOUND))
        l->bound = bound_now(l, false);
    turn_away(l, c);
    if (roll_back(l, c))
        head_event_add(l, API_EVENT_CAMPAIGN_CHANGED, 0, 0, c);
    else
        failed(l, c);
}

void grow_atomic_cancel(struct head *l, struct campaign *c)
{
    campaign_enter(l, c, CAMPAIGN_EV_CANCEL);
    c->why = ALLOC_CANCELLED;
    l->bound = bound_now(l, false);
    if (!MUTANT(CANCEL_UNTOLD))
        turn_away(l, c);
    end(l, c, API_EVENT_CAMPAIGN_CANCELLED);
}

/* A size or a shrink that leaves no room for its targets goes before a grow. */
void grow_atomic_give_way(struct head *l, uint32_t highest, const char *why)
{
    struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        if (runs(c) && c->phase != API_PHASE_ROLLING_BACK && !MUTANT(GROW_STAYS) &&
            c->targets[c->ntargets - 1].id.vpid > highest)
            grow_atomic_fail(l, c, ALLOC_NO_ROOM, "%s leaves no room for vpid %u", why,
                             c->targets[c->ntargets - 1].id.vpid);
    }
}

/* --- gathering and wiring */

struct gathered {
    size_t reported; /* have called and wait to be wired */
    size_t missing;  /* have not, or are being wired by a batch of joiners */
    const struct target *lost;
};

static void look(const struct head *l, struct target *t, struct gathered *g)
{
    const struct member *m = members_get(l->members, t->id.vpid);
    bool here = m && (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED ||
                      (m->state == MEMBER_DRAINING && MUTANT(LEAVING_COUNTS)));

    if (!epoch_none(t->id.epoch) &&
        !(here && epoch_eq(members_epoch(l->members, m), t->id.epoch))) {
        g->lost = t;
    } else if (!here) {
        g->missing++;
    } else {
        t->id.epoch = members_epoch(l->members, m);
        if (m->state == MEMBER_REPORTED) {
            bool live = members_live(l->members, t->id.vpid);

            g->missing += live;
            g->reported += !live;
        }
    }
}

static struct gathered look_at_all(const struct head *l, struct campaign *c)
{
    struct gathered g = {0, 0, NULL};

    for (size_t i = 0; i < c->ntargets; i++)
        look(l, &c->targets[i], &g);
    return g;
}

static void start_wiring(struct head *l, struct campaign *c, size_t n)
{
    struct msg add = {.type = MSG_ADD, .members = xcalloc(n, sizeof *add.members)};
    char name[FENCE_NAME_MAX];

    for (size_t i = 0; i < c->ntargets; i++) {
        const struct member *m = members_get(l->members, c->targets[i].id.vpid);

        c->targets[i].added = m && m->state == MEMBER_REPORTED;
        if (c->targets[i].added)
            add.members[add.nmembers++] = members_facts(l->members, c->targets[i].id.vpid);
    }
    campaign_enter(l, c, CAMPAIGN_EV_COME);
    c->fence_wall = (int64_t)l->out->wall_ms;
    fence_raise(l, campaign_fence_name(c, name), (uint32_t)n);
    head_event_add(l, API_EVENT_CAMPAIGN_CHANGED, 0, 0, c);
    op_queue(l, &add, false, c);
    for (size_t i = 0; i < add.nmembers; i++)
        msg_member_free(&add.members[i]);
    free(add.members);
}

static void gather(struct head *l, struct campaign *c, const struct gathered *g)
{
    if (g->missing && !(MUTANT(WIRE_SOME) && g->reported))
        return;
    if (g->reported == 0)
        complete(l, c);
    else if (!l->normal_running && !l->grow_op && !fence_defers(l))
        start_wiring(l, c, g->reported);
}

static void wiring(struct head *l, struct campaign *c)
{
    if (!c->op || c->op > l->complete)
        return;
    grow_wired(l);
    complete(l, c);
}

void grow_atomic_step(struct head *l, struct campaign *c)
{
    struct gathered g;

    if (c->phase == API_PHASE_ROLLING_BACK) {
        if (campaign_all_out(l, c) && c->op && c->op <= l->complete)
            failed(l, c);
        return;
    }
    g = look_at_all(l, c);
    if (g.lost)
        grow_atomic_fail(l, c, ALLOC_LOST, "the daemon of vpid %u (epoch %llu) is gone",
                         g.lost->id.vpid, (unsigned long long)g.lost->id.epoch.ctr);
    else if (c->deadline_ms && c->deadline_ms <= l->out->now_ms)
        grow_atomic_fail(l, c, ALLOC_TIMEOUT,
                         "its deadline of %lld s is over, %zu of %zu daemons have not come",
                         (long long)c->req.deadline_s, g.missing, c->ntargets);
    else if (l->ending && c->phase == API_PHASE_GATHERING)
        grow_atomic_fail(l, c, ALLOC_UNREACHABLE, "the DVM shuts down");
    else if (c->phase == API_PHASE_GATHERING)
        gather(l, c, &g);
    else
        wiring(l, c);
}

/* --- admission */

int grow_atomic_check(const struct head *l, const struct api_campaign_request *r,
                      const char **reason, struct err *err)
{
    for (size_t i = 0; i < r->ntargets; i++) {
        const struct campaign *c;

        if (r->targets[i] > VPID_MAX) {
            *reason = "BadRequest";
            return err_code(err, 400, "targets: %u is over the limit %u", r->targets[i], VPID_MAX);
        }
        DL_FOREACH(l->campaigns, c)
        {
            if (!runs(c) || !campaign_target(c, r->targets[i]) || MUTANT(OVERLAP_TAKEN))
                continue;
            *reason = "GrowRunning";
            return err_code(err, 409, "vpid %u is a target of the grow %s, which is running",
                            r->targets[i], c->id);
        }
    }
    return 0;
}

void grow_atomic_accept(struct head *l, struct campaign *c)
{
    struct gathered g;

    c->phase = API_PHASE_GATHERING;
    if (c->req.deadline_s >= 0)
        c->deadline_ms = l->out->now_ms + (uint64_t)c->req.deadline_s * 1000 + 1;
    l->bound = bound_now(l, false);
    g = look_at_all(l, c);
    if (g.missing + g.reported == 0 &&
        !MUTANT(EMPTY_TAKES_PART)) { /* C7: terminal by the answer, no event */
        campaign_enter(l, c, CAMPAIGN_EV_NOBODY);
        c->asker.told = API_TOLD_ANSWER;
        c->complete_wall = (int64_t)l->out->wall_ms;
        return;
    }
    l->kick = true;
    head_event_add(l, API_EVENT_CAMPAIGN_ACCEPTED, 0, 0, c);
}
