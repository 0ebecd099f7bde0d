/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a suspension: the DVM shuts down, then both StatefulSets are scaled to 0.
 *
 * Input and output are those of plan.c. The steps, each in a plan of its own: record a shutdown,
 * put it to the head, wait for its end, scale both StatefulSets to 0, forget the incarnation.
 *
 * Invariants: the StatefulSets are scaled down only after the shutdown is complete, or when no DVM
 * has formed. A shutdown supersedes a shrink.
 *
 * Failures: a head that cannot be reached blocks the suspension until the drain deadline has
 * passed, if there is one. A head that has accepted and does not end is given
 * PLAN_SHUTDOWN_SLACK_MS beyond its deadline. */
#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/plan/plan_private.h"

#include <string.h>

bool plan_shutdown_runs(const struct draft *d)
{
    const struct cluster_campaign *c = &d->p->record.campaign;

    return c->present && c->kind == CLUSTER_SHUTDOWN && c->phase != CLUSTER_RECORDED;
}

static int64_t shutdown_deadline_s(const struct cluster_drain *drain)
{
    if (drain->mode == API_DRAIN_KILL)
        return 0;
    return drain->deadline_s >= 0 && drain->deadline_s < CLUSTER_GRACE_CAP_S ? drain->deadline_s
                                                                             : CLUSTER_GRACE_CAP_S;
}

static bool head_runs(const struct draft *d)
{
    for (size_t i = 0; i < d->in->npods; i++) {
        if (d->in->pods[i].vpid == 0 && d->in->pods[i].running_since_ms)
            return true;
    }
    return false;
}

/* The shutdown is accepted. A broken connection does not show that the head has ended. It has ended
 * when its container has, when another incarnation answers, or when its time has passed. */
static void await_end(struct draft *d)
{
    const struct cluster_campaign *c = &d->p->record.campaign;
    const struct plan_head *h = &d->in->head;
    int64_t left = span_ms(d->in->age.accepted,
                           shutdown_deadline_s(&c->drain) * 1000 + PLAN_SHUTDOWN_SLACK_MS);

    if (h->link == PLAN_LINK_UP && strcmp(h->view->incarnation, c->incarnation) != 0)
        plan_complete(d, "another incarnation of the head answers");
    else if (h->link != PLAN_LINK_UP && !head_runs(d))
        plan_complete(d, "the head has ended");
    else if (left <= 0)
        plan_complete(d, "the head did not end by its deadline");
    else
        plan_again(d, left);
}

static void ask_to_end(struct draft *d)
{
    struct cluster_campaign *c = &d->p->record.campaign;
    const struct plan_head *h = &d->in->head;
    const struct plan_answer *f = d->in->answer;

    if (f && strcmp(f->id, c->id) == 0 &&
        (f->status == 202 || f->status == 200 || f->status == 503)) {
        c->phase = CLUSTER_DRAINING; /* 503: it shuts down already */
        c->accepted_ms = f->at_ms;
        d->must_record = true;
        return;
    }
    if (h->link != PLAN_LINK_UP) {
        if (plan_deadline_passed(d))
            plan_complete(
                d, "the head could not be reached until spec.drain.deadlineSeconds had passed");
        else
            d->p->blocked = PLAN_BLOCK_HEAD;
        return;
    }
    if (strcmp(h->view->incarnation, c->incarnation) != 0) {
        memcpy(c->incarnation, h->view->incarnation, sizeof(c->incarnation));
        d->must_record = true;
        return;
    }
    struct plan_action *a = plan_add(d, PLAN_PUT_SHUTDOWN);
    a->id = c->id;
    a->deadline_s = shutdown_deadline_s(&c->drain);
}

/* Both StatefulSets are at 0: the incarnation is forgotten, so the next start is a first one. */
static void forget_life(struct draft *d)
{
    struct cluster_record *r = &d->p->record;

    if (r->campaign.present)
        plan_close_campaign(
            d, r->campaign.kind == CLUSTER_SHUTDOWN ? CLUSTER_COMPLETE : CLUSTER_SUPERSEDED, NULL);
    plan_grants_reset(d);
    if (r->incarnation[0]) {
        r->incarnation[0] = '\0';
        d->must_record = true;
    }
}

static void open_shutdown(struct draft *d)
{
    struct cluster_record *r = &d->p->record;

    if (r->campaign.present)
        plan_close_campaign(d, CLUSTER_SUPERSEDED, "the DVM is being suspended");
    uint32_t all = d->in->child[CLUSTER_MEMBER_SET].exists ? d->members : 0;
    plan_open_campaign(d, CLUSTER_SHUTDOWN, 1, all);
    memcpy(r->campaign.incarnation, r->incarnation, sizeof(r->incarnation));
}

void plan_suspend(struct draft *d)
{
    struct cluster_record *r = &d->p->record;
    const struct plan_child_seen *set = d->in->child;
    bool running = (set[CLUSTER_HEAD_SET].exists && set[CLUSTER_HEAD_SET].replicas) ||
                   (set[CLUSTER_MEMBER_SET].exists && set[CLUSTER_MEMBER_SET].replicas);

    if (!running) {
        d->heads = d->members = 0;
        forget_life(d);
    } else if (!r->incarnation[0] || (r->campaign.present && r->campaign.kind == CLUSTER_SHUTDOWN &&
                                      r->campaign.phase == CLUSTER_COMPLETE)) {
        d->heads = d->members = 0;
    } else if (!r->campaign.present || r->campaign.kind != CLUSTER_SHUTDOWN) {
        open_shutdown(d);
    } else if (r->campaign.phase == CLUSTER_RECORDED) {
        ask_to_end(d);
    } else {
        await_end(d);
    }
}
