/* SPDX-License-Identifier: BSD-3-Clause */
/* The share of applications in the size: members that they were granted or have released by
 * PMIx_Allocation_request.
 *
 * Input: the campaigns alloc-<number> in the head's view. Output: record.grants, and the size that
 * follows from it and spec.replicas.
 *
 * A request is running (it is in grants.running) or counted (its number is at most `seen`).
 *
 * Invariants: a request is counted once, also across restarts of the operator; the size stays
 * within spec.applicationLimits.
 *
 * Failures: a request that the head does not list any more has ended without effect. A new
 * incarnation of the head ends all running requests; members that were granted before stay. */
#include "operator/plan/plan_private.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "alloc-" /* prefix of the ids; the head numbers the requests of one incarnation */

struct api_size_limits plan_limits(const struct cluster *c)
{
    struct api_size_limits l = {.set = true, .min = c->replicas, .max = c->replicas};

    if (c->replicas && c->limits.min >= 0)
        l.min = (uint32_t)c->limits.min;
    if (c->replicas && c->limits.max >= 0)
        l.max = (uint32_t)c->limits.max;
    return l;
}

static uint32_t granted_size(const struct cluster *c, int64_t granted)
{
    struct api_size_limits l = plan_limits(c);
    int64_t n = (int64_t)c->replicas + granted;

    return n < l.min ? l.min : n > l.max ? l.max : (uint32_t)n;
}

uint32_t plan_granted_target(const struct cluster *c, const struct cluster_grants *g)
{
    int64_t granted = g->members;

    for (size_t i = 0; i < g->nrunning; i++) {
        if (g->running[i].extend && g->running[i].members > granted)
            granted = g->running[i].members;
    }
    return granted_size(c, granted);
}

uint64_t plan_request_number(const struct api_campaign *c)
{
    if (!c->requester.job || !c->ntargets || strncmp(c->id, PREFIX, sizeof(PREFIX) - 1) != 0)
        return 0;
    return strtoull(c->id + sizeof(PREFIX) - 1, NULL, 10);
}

static struct cluster_grant *find_running(struct cluster_grants *g, uint64_t number)
{
    for (size_t i = 0; i < g->nrunning; i++) {
        if (g->running[i].number == number)
            return &g->running[i];
    }
    return NULL;
}

static void settle_request(struct draft *d, const struct cluster_grant *done)
{
    const struct cluster *c = d->in->cluster;
    struct cluster_grants *g = &d->p->record.grants;
    /* The part beyond the limits is dropped; otherwise a release would bring it back. */
    int32_t now = (int32_t)((int64_t)granted_size(c, g->members) - c->replicas);
    bool more = done->members > now;

    g->members = done->extend == more ? done->members : now;
}

static void drop_running(struct cluster_grants *g, struct cluster_grant *one)
{
    *one = g->running[--g->nrunning];
    memset(&g->running[g->nrunning], 0, sizeof(*one));
}

/* Counts a request that is new, or that was running at the last look. */
static void count_request(struct draft *d, const struct api_campaign *reported, uint64_t number)
{
    struct cluster_grants *g = &d->p->record.grants;
    struct cluster_grant *known = find_running(g, number);
    bool extend = reported->kind == API_KIND_GROW, over = api_phase_terminal(reported->phase);
    int64_t size =
        extend ? reported->targets[reported->ntargets - 1] : (int64_t)reported->targets[0] - 1;
    struct cluster_grant now = {number, extend, (int32_t)(size - d->in->cluster->replicas)};

    if (known && !over)
        return;
    if (!known && (number <= g->seen || (!over && g->nrunning == CLUSTER_GRANTS_MAX)))
        return;
    if (number > g->seen)
        g->seen = number;
    if (reported->phase == API_PHASE_COMPLETE)
        settle_request(d, known ? known : &now);
    if (known)
        drop_running(g, known);
    else if (!over)
        g->running[g->nrunning++] = now;
    d->must_record = true;
}

static bool is_reported(const struct api_dvm *v, uint64_t number)
{
    for (size_t i = 0; i < v->ncampaigns; i++) {
        if (plan_request_number(&v->campaigns[i]) == number)
            return true;
    }
    return false;
}

void plan_grants_follow(struct draft *d, const struct api_dvm *v)
{
    struct cluster_grants *g = &d->p->record.grants;

    for (size_t i = 0; i < v->ncampaigns; i++) {
        uint64_t number = plan_request_number(&v->campaigns[i]);

        if (number)
            count_request(d, &v->campaigns[i], number);
    }
    for (size_t i = g->nrunning; i-- > 0;) {
        if (is_reported(v, g->running[i].number))
            continue;
        drop_running(g,
                     &g->running[i]); /* it has ended so long ago that the head does not list it */
        d->must_record = true;
    }
}

void plan_grants_new_life(struct draft *d)
{
    struct cluster_grants *g = &d->p->record.grants;

    *g = (struct cluster_grants){.members = g->members};
}

void plan_grants_reset(struct draft *d)
{
    struct cluster_grants *g = &d->p->record.grants;

    if (!g->members && !g->seen && !g->nrunning)
        return;
    *g = (struct cluster_grants){0};
    d->must_record = true;
}

void plan_grants_void(struct draft *d)
{
    struct cluster_grants *g = &d->p->record.grants;

    if (d->in->cluster->replicas || !g->members)
        return;
    g->members = 0;
    d->must_record = true;
}

uint32_t plan_staying(const struct draft *d)
{
    const struct api_dvm *v = d->in->head.link == PLAN_LINK_UP ? d->in->head.view : NULL;
    uint32_t stay = d->p->target;

    for (size_t i = 0; v && i < v->ncampaigns; i++) {
        const struct api_campaign *c = &v->campaigns[i];

        if (plan_request_number(c) && c->kind == API_KIND_SHRINK && !api_phase_terminal(c->phase) &&
            c->targets[0] && c->targets[0] - 1 < stay)
            stay = c->targets[0] - 1;
    }
    return stay;
}
