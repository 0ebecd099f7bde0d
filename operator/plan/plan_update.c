/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a rolling update: pods with an older template are replaced from the highest down.
 *
 * In and out are those of plan.c. The steps, each in a plan of its own: record a campaign for as
 * many of the highest such members as may be unavailable, put it to the head, wait until the head
 * has reported them out, delete their pods, close the campaign. The StatefulSet makes the pods
 * anew.
 *
 * Invariants: the head has released a daemon before its running pod is deleted, so no job is lost;
 * with the members that are not wired at most maxUnavailable of spec.updateStrategy are missing, so
 * a new pod that does not get well stops the update. Only a pod whose template the user has changed
 * is replaced, not one that a newer operator would make differently. The head's pod is the last
 * one: its members have shown that the template works, and keep its records. It is deleted when no
 * job has run for a while that its end would end, unless the user forbids to evict it.
 *
 * Failures: while the head cannot be reached nothing is replaced. A scale-down, a corrected spec
 * and another drain policy cancel the campaign while it drains. */
#include "operator/plan/plan_private.h"

#include <string.h>

bool plan_awaits_update(const struct plan_input *in, const struct plan_pod *pod)
{
    return pod->vpid && pod->changed && !pod->deleting && !in->cluster->update.on_delete;
}

bool plan_head_may_be_updated(const struct cluster *c)
{
    return !c->update.on_delete && c->disruption.head > 0;
}

static bool any_awaits_update(const struct draft *d)
{
    for (size_t i = 0; i < d->in->npods; i++) {
        if (plan_awaits_update(d->in, &d->in->pods[i]))
            return true;
    }
    return false;
}

/* Members of the size that are not there for jobs. */
static uint32_t count_unavailable(const struct draft *d)
{
    const struct api_dvm *v = d->in->head.view;
    uint32_t n = d->p->target;

    for (size_t i = 0; i < v->nmembers; i++)
        n -= v->members[i].vpid > 0 && v->members[i].vpid <= d->p->target &&
             v->members[i].state == MEMBER_WIRED;
    return n;
}

static bool may_leave(const struct draft *d, uint32_t vpid)
{
    const struct api_dvm_member *m = plan_member(d, vpid);

    return m && m->state == MEMBER_WIRED && plan_pod_to_update(d, vpid);
}

void plan_update(struct draft *d)
{
    uint32_t missing, last = d->p->target, first;
    uint32_t allowed = cluster_update_bound(&d->in->cluster->update, d->p->target);

    if (d->in->head.link != PLAN_LINK_UP || d->members != d->p->target ||
        !d->in->child[CLUSTER_MEMBER_SET].current || plan_rejected_lately(d) ||
        !any_awaits_update(d))
        return;
    while (last > 0 && !may_leave(d, last))
        last--;
    missing = count_unavailable(d);
    if (last == 0 || missing >= allowed)
        return;
    first = last;
    while (first > 1 && last - first + 1 + missing < allowed && may_leave(d, first - 1))
        first--;
    plan_open_campaign(d, CLUSTER_UPDATE, first, last);
}

bool plan_update_wanted(const struct draft *d)
{
    const struct cluster_campaign *c = &d->p->record.campaign;

    for (uint32_t v = c->first; v <= c->last; v++) {
        if (!plan_pod_to_update(d, v))
            return false;
    }
    return d->p->target >= c->last && d->members <= d->p->target;
}

void plan_update_pods(struct draft *d)
{
    struct cluster_campaign *c = &d->p->record.campaign;
    bool any = false;

    for (uint32_t v = c->first; v <= c->last; v++) {
        const struct plan_pod *pod = plan_pod_to_update(d, v);

        if (!pod)
            continue;
        plan_delete_pod(d, pod);
        any = true;
    }
    if (!any)
        plan_close_campaign(d, CLUSTER_COMPLETE, NULL);
}

/* The controllers learn of a new template at different times, the head's perhaps earlier. */
static bool members_are_updated(const struct draft *d)
{
    for (size_t i = 0; i < d->in->npods; i++) {
        const struct plan_pod *pod = &d->in->pods[i];

        if (pod->vpid && (pod->stale || pod->changed || pod->deleting))
            return false;
    }
    return d->p->target > 0 && d->members == d->p->target && count_unavailable(d) == 0;
}

bool plan_update_head(const struct draft *d, const struct plan_pod *pod)
{
    return pod->vpid == 0 && pod->changed && !pod->deleting && d->in->head.link == PLAN_LINK_UP &&
           d->in->head.idle && d->in->child[CLUSTER_HEAD_SET].current &&
           d->in->child[CLUSTER_MEMBER_SET].current && !d->p->record.campaign.present &&
           plan_head_may_be_updated(d->in->cluster) && members_are_updated(d);
}
