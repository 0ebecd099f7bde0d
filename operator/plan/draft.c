/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan while it is being made: its actions, its next look, and the campaign in its record. */
#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/plan/plan_private.h"

#include <stdio.h>
#include <string.h>

struct plan_action *plan_add(struct draft *d, enum plan_verb verb)
{
    struct plan *p = d->p;
    struct plan_action *a = p->n < PLAN_ACTIONS_MAX ? &p->actions[p->n++] : &d->scratch;

    *a = (struct plan_action){.verb = verb};
    return a;
}

void plan_again(struct draft *d, int64_t delay_ms)
{
    if (delay_ms < 1)
        delay_ms = 1;
    if (!d->p->again_ms || delay_ms < d->p->again_ms)
        d->p->again_ms = delay_ms;
}

const struct api_campaign *plan_known(const struct draft *d, const char *id)
{
    const struct api_dvm *v = d->in->head.view;

    for (size_t i = 0; v && i < v->ncampaigns; i++) {
        if (strcmp(v->campaigns[i].id, id) == 0)
            return &v->campaigns[i];
    }
    return NULL;
}

uint64_t plan_next_sequence(const struct draft *d)
{
    const struct api_dvm *v = d->in->head.view;
    uint64_t top = d->p->record.sequence;

    if (d->p->record.campaign.sequence > top)
        top = d->p->record.campaign.sequence;
    if (v && v->size_sequence > top)
        top = v->size_sequence;
    for (size_t i = 0; v && i < v->ncampaigns; i++) {
        if (v->campaigns[i].sequence > top)
            top = v->campaigns[i].sequence;
    }
    return top + 1;
}

void plan_open_campaign(struct draft *d, enum cluster_kind kind, uint32_t first, uint32_t last)
{
    const struct cluster *c = d->in->cluster;
    struct cluster_campaign *n = &d->p->record.campaign;
    uint64_t sequence = plan_next_sequence(d);

    cluster_campaign_clear(n);
    n->present = true;
    n->kind = kind;
    n->sequence = sequence;
    n->first = first;
    n->last = last;
    n->generation = c->generation;
    n->drain = c->drain;
    n->recorded_ms = d->in->now_ms;
    static const char *const words[CLUSTER_KINDS] = {"shrink", "shutdown", "update"};
    snprintf(n->id, sizeof(n->id), "%s-%llu-%.8s", words[kind], (unsigned long long)sequence,
             c->uid);
    d->p->record.sequence = sequence;
    d->must_record = true;
}

void plan_close_campaign(struct draft *d, enum cluster_phase phase, const char *result)
{
    struct cluster_record *r = &d->p->record;

    r->campaign.phase = phase;
    if (phase == CLUSTER_COMPLETE || phase == CLUSTER_REJECTED)
        r->campaign.applied_ms = d->in->now_ms;
    if (result) {
        free_ptr(&r->campaign.result);
        r->campaign.result = xstrdup(result);
    }
    cluster_campaign_clear(&r->last);
    r->last = r->campaign;
    memset(&r->campaign, 0, sizeof(r->campaign));
    d->closed = d->must_record = true;
}

void plan_complete(struct draft *d, const char *result)
{
    struct cluster_campaign *c = &d->p->record.campaign;

    c->phase = CLUSTER_COMPLETE;
    if (!c->complete_ms)
        c->complete_ms = d->in->now_ms;
    free_ptr(&c->result);
    c->result = xstrdup(result);
    d->must_record = true;
}

bool plan_deadline_passed(struct draft *d)
{
    const struct plan_head *h = &d->in->head;
    int64_t deadline_s = d->in->cluster->drain.deadline_s;

    if (h->link == PLAN_LINK_CONNECTING || deadline_s < 0)
        return false;
    int64_t waited = h->down_for_ms < d->in->age.recorded ? h->down_for_ms : d->in->age.recorded;
    int64_t left = span_ms(waited, deadline_s * 1000);
    if (left > 0)
        plan_again(d, left);
    return left <= 0;
}
