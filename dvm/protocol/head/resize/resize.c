/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the parts of a resize: campaigns, the batch of joiners, releases, requests of applications
 * and the launch fence. The head calls no other file of this folder.
 *
 * In: verbs of the control API on campaigns; RELEASE_ME and RESIZE_ASK messages of daemons; starts
 * and completions of membership broadcasts; departed members; size messages; the time. Out: answers
 * to verbs and requests, operations in the queue of the head, records for views and checkers. Jobs
 * get answers to their questions about the fence and campaigns (struct jobs_resize).
 *
 * Order in a turn of the head: releases and campaigns, then jobs, then campaigns again and the
 * batch of joiners. The second round serves a drain that has waited for a job which has just ended.
 *
 * Invariants: a broadcast ADD without an owner is the batch of joiners (grow.c). A broadcast with
 * an owner belongs to that campaign. shrink.c advances a shrink, grow_atomic.c a grow.
 *
 * Failures: a refused verb returns -1, with an HTTP status in err and a word in *reason.
 * RESIZE_CAMPAIGNS_MAX limits the campaigns, but not the releases of daemons. A grow above a
 * reduced size bound gives way.
 *
 * This file decides nothing itself: each function forwards to the part that does. */
#include "dvm/protocol/head/resize/resize.h"

#include "dvm/protocol/head/resize/campaign_private.h"
#include "dvm/protocol/head/resize/extension.h"
#include "dvm/protocol/head/resize/grow.h"
#include "dvm/protocol/head/resize/grow_atomic.h"
#include "dvm/protocol/head/resize/release.h"
#include "dvm/protocol/head/resize/resize_request.h"
#include "dvm/protocol/head/resize/shrink.h"

#include <stdlib.h>
#include <utlist.h>

struct resize {
    struct campaigns cs;
};

static bool is_fence_up(const void *arg)
{
    const struct resize *rs = arg;

    return fence_sum(rs->cs.fence) > 0;
}

static bool are_members_leaving(const void *arg)
{
    const struct resize *rs = arg;

    return campaign_removes(&rs->cs);
}

static bool will_grow_do(const void *arg, const struct job *j)
{
    const struct resize *rs = arg;

    return grow_atomic_will_do(&rs->cs, j);
}

struct resize *resize_create(const struct resize_uses *u)
{
    struct resize *rs = xcalloc(1, sizeof(*rs));
    struct jobs_resize answers = {rs, is_fence_up, are_members_leaving, will_grow_do};

    rs->cs = (struct campaigns){.out = u->out,
                                .members = u->members,
                                .rml = u->rml,
                                .inc = u->inc,
                                .bound = u->bound,
                                .roster = u->roster,
                                .slots = {u->members, u->ledger},
                                .jobs = u->jobs,
                                .events = u->events,
                                .ops = u->ops,
                                .journal = u->journal,
                                .table = u->campaigns,
                                .releases = u->releases,
                                .ack_ms = u->ack_ms,
                                .fence = fence_create(u->jobs)};
    rs->cs.grow = grow_create(&rs->cs);
    jobs_ask_resize(u->jobs, &answers);
    return rs;
}

void resize_destroy(struct resize *rs)
{
    if (!rs)
        return;
    grow_destroy(rs->cs.grow);
    fence_destroy(rs->cs.fence);
    free(rs);
}

void resize_succeed(struct resize *rs, uint64_t op)
{
    campaign_succeed(&rs->cs, op);
}

static void step_campaigns(struct campaigns *cs)
{
    const struct campaign *c, *next;

    DL_FOREACH_SAFE(campaign_table_first(cs->table), c, next)
    {
        if (c->req.kind == API_KIND_SHRINK)
            shrink_step(cs, c);
        else if (!api_phase_terminal(c->phase))
            grow_atomic_step(cs, c);
    }
    while (extension_end_one(cs))
        ;
}

void resize_steps_before_jobs(struct resize *rs)
{
    releases_steps(&rs->cs);
    step_campaigns(&rs->cs);
}

void resize_steps_after_jobs(struct resize *rs)
{
    step_campaigns(&rs->cs); /* a drain may have waited for a job that has ended */
    grow_steps(rs->cs.grow);
}

uint64_t resize_next_deadline(const struct resize *rs)
{
    uint64_t campaigns = campaign_next_deadline(&rs->cs);
    uint64_t releases = releases_next_deadline(rs->cs.releases);

    return campaigns < releases ? campaigns : releases;
}

/* An ADD that no campaign owns is the batch of joiners. */
static bool is_batch(const struct op *op)
{
    return op->msg.type == MSG_ADD && !op->owner;
}

bool resize_op_due(struct resize *rs, struct op *op)
{
    struct msg_add *add = op->msg.type == MSG_ADD ? &op->msg.add : NULL;

    if (add) /* others may have joined since it was queued */
        members_strip_keys(rs->cs.members, add->members, add->nmembers);
    return !is_batch(op) || grow_op_due(rs->cs.grow, add);
}

void resize_op_started(struct resize *rs, const struct op *op)
{
    if (is_batch(op))
        grow_op_started(rs->cs.grow, msg_op(&op->msg));
    if (op->owner)
        campaign_op_started(&rs->cs, op->owner, msg_op(&op->msg));
}

void resize_completed(struct resize *rs, uint64_t version)
{
    grow_completed(rs->cs.grow, version);
    step_campaigns(&rs->cs);
}

bool resize_names(const struct resize *rs, uint32_t vpid)
{
    return campaign_names(&rs->cs, vpid);
}

void resize_left(struct resize *rs, uint32_t vpid, struct epoch epoch)
{
    (void)campaign_mark(&rs->cs, vpid, epoch, false);
}

void resize_gone(struct resize *rs, uint32_t vpid, struct epoch epoch)
{
    if (campaign_mark(&rs->cs, vpid, epoch, true))
        event_log_add(rs->cs.events, API_EVENT_DAEMON_DEPARTED, vpid, epoch.ctr, NULL);
}

void resize_bound_changed(struct resize *rs)
{
    grow_atomic_give_way(&rs->cs, size_bound_now(rs->cs.bound), "the size in force");
}

void resize_release_ask(struct resize *rs, uint32_t from, const struct msg_release_me *m)
{
    release_ask(&rs->cs, from, m);
}

void resize_request(struct resize *rs, uint32_t from, const struct msg_resize_ask *m)
{
    resize_request_take(&rs->cs, from, m);
}

int resize_campaign_put(struct resize *rs, const char *id, const struct api_campaign_request *r,
                        struct api_campaign *out, enum api_reason *reason, struct err *err)
{
    return campaign_put(&rs->cs, id, r, out, reason, err);
}

int resize_campaign_cancel(struct resize *rs, const char *id, struct api_campaign *out,
                           enum api_reason *reason, struct err *err)
{
    return campaign_cancel(&rs->cs, id, out, reason, err);
}

int resize_campaign_get(struct resize *rs, const char *id, struct api_campaign *out,
                        enum api_reason *reason, struct err *err)
{
    return campaign_get(&rs->cs, id, out, reason, err);
}

static void view_share(void *arg, const char *name, uint32_t count)
{
    struct api_dvm *out = arg;

    out->holds = xrealloc(out->holds, (out->nholds + 1) * sizeof(*out->holds));
    out->holds[out->nholds++] = (struct api_dvm_hold){xstrdup(name), count};
}

void resize_view(const struct resize *rs, struct api_dvm *out)
{
    const struct campaign *c;

    fence_each(rs->cs.fence, view_share, out);
    out->fence_total = fence_sum(rs->cs.fence);
    out->campaigns = xcalloc(campaign_table_count(rs->cs.table) + 1, sizeof(*out->campaigns));
    DL_FOREACH(campaign_table_first(rs->cs.table), c)
    {
        campaign_fill(&rs->cs, c, &out->campaigns[out->ncampaigns++]);
    }
}

void resize_each_campaign(const struct resize *rs,
                          void (*on)(void *arg, const struct resize_campaign *c), void *arg)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(rs->cs.table), c)
    {
        struct resize_campaign x = {.id = c->id,
                                    .kind = c->req.kind,
                                    .phase = c->phase,
                                    .has_requester = c->has_requester,
                                    .may_end_jobs =
                                        c->req.drain_mode == API_DRAIN_KILL || c->deadline_ms != 0,
                                    .op = c->op,
                                    .ntargets = c->ntargets,
                                    .record = c};

        on(arg, &x);
    }
}

struct resize_target resize_target_of(const struct resize_campaign *c, size_t i)
{
    const struct campaign_target *t = &c->record->targets[i];

    return (struct resize_target){t->id.vpid, t->id.epoch, t->added, t->out};
}

void resize_each_share(const struct resize *rs,
                       void (*on)(void *arg, const char *name, uint32_t count), void *arg)
{
    fence_each(rs->cs.fence, on, arg);
}

uint32_t resize_fence_sum(const struct resize *rs)
{
    return fence_sum(rs->cs.fence);
}

bool resize_growing(const struct resize *rs)
{
    return grow_running(rs->cs.grow);
}

uint64_t resize_batch(const struct resize *rs, uint64_t *op)
{
    return grow_batch(rs->cs.grow, op);
}
