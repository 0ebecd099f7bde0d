/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan for one DvmCluster: its next steps towards the size in the spec.
 *
 * Input: the decoded DvmCluster, its objects and pods as observed, and the head's view. Output: a
 * list of actions, and the record that the status should hold. It is a pure function; reconcile/
 * carries the actions out.
 *
 * A shrink takes these steps, each in a plan of its own: record a campaign, put it to the head,
 * wait until the head has reported the targets out, reduce the StatefulSet, close the campaign. A
 * growth: record and put the size message, enlarge the StatefulSet. A suspension is in
 * plan_suspend.c, the share of applications in plan_grants.c.
 *
 * Invariants: a changed record is the only action of its plan, so no step is taken before its
 * intention is written down. The StatefulSet is reduced only after the head has reported the
 * targets out, or after the user's deadline while the head cannot be reached. At most one campaign
 * of the operator runs. Pods with an older template are replaced by plan_update.c.
 *
 * Failures: a refused campaign gets a new number, is complete (its targets are unknown to the
 * head), or is closed as rejected and tried again later. An action that has failed comes again with
 * the next plan. */
#include "operator/plan/plan.h"

#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/plan/plan_private.h"

#include <stdio.h>
#include <string.h>

static const char *const VERBS[] = {
    [PLAN_ENSURE_CREDENTIALS] = "EnsureCredentials",
    [PLAN_RECORD] = "Record",
    [PLAN_APPLY] = "Apply",
    [PLAN_PUT_CAMPAIGN] = "PutCampaign",
    [PLAN_CANCEL_CAMPAIGN] = "CancelCampaign",
    [PLAN_PUT_SIZE] = "PutSize",
    [PLAN_PUT_SHUTDOWN] = "PutShutdown",
    [PLAN_DELETE_POD] = "DeletePod",
    [PLAN_TRY_POD] = "TryPod",
};

const char *plan_verb_name(enum plan_verb v)
{
    return (size_t)v < sizeof(VERBS) / sizeof(*VERBS) ? VERBS[v] : "?";
}

uint32_t plan_wired(const struct api_dvm *view)
{
    uint32_t n = 0;

    for (size_t i = 0; view && i < view->nmembers; i++) {
        enum member_state s = view->members[i].state;

        if (view->members[i].vpid > 0 && (s == MEMBER_WIRED || s == MEMBER_DRAINING))
            n++;
    }
    return n;
}

bool plan_can_map(const struct api_dvm *view)
{
    for (size_t i = 0; view && i < view->nmembers; i++) {
        if (view->members[i].state == MEMBER_WIRED && view->members[i].slots > 0)
            return true;
    }
    return false;
}

static bool present_at_head(const struct api_dvm_member *m)
{
    return m->state == MEMBER_REPORTED || m->state == MEMBER_WIRED || m->state == MEMBER_DRAINING ||
           m->state == MEMBER_LEAVING;
}

/* True if no target is a member and none may join again. */
static bool targets_out(const struct api_dvm *v, const struct cluster_campaign *c)
{
    for (size_t i = 0; i < v->nmembers; i++) {
        if (v->members[i].vpid >= c->first && v->members[i].vpid <= c->last &&
            present_at_head(&v->members[i]))
            return false;
    }
    return v->size_members < c->first;
}

/* The head has refused the recorded campaign: it gets a new number, is complete, or is closed. */
static bool is_refused(struct draft *d)
{
    const struct plan_answer *f = d->in->answer;
    struct cluster_campaign *c = &d->p->record.campaign;

    if (!f || strcmp(f->id, c->id) != 0 || f->status < 400 || f->status == 503)
        return false;
    if (f->reason == API_REASON_SEQUENCE_TOO_OLD || f->reason == API_REASON_ID_REUSED)
        plan_open_campaign(d, c->kind, c->first, c->last);
    else if (f->reason == API_REASON_UNKNOWN_VPID && targets_out(d->in->head.view, c))
        plan_complete(d, "the targets are unknown to the present incarnation of the head");
    else
        plan_close_campaign(d, CLUSTER_REJECTED, f->message);
    return true;
}

static bool same_drain(const struct cluster_drain *a, const struct cluster_drain *b)
{
    if (a->mode != b->mode)
        return false;
    return a->mode == API_DRAIN_KILL || a->deadline_s == b->deadline_s;
}

static bool is_unwanted(const struct draft *d)
{
    const struct cluster_campaign *c = &d->p->record.campaign;
    bool wanted = c->kind == CLUSTER_UPDATE ? plan_update_wanted(d) : d->p->target < c->first;

    return !wanted || !same_drain(&c->drain, &d->in->cluster->drain);
}

static void ask_head(struct draft *d)
{
    struct cluster_campaign *c = &d->p->record.campaign;
    bool unwanted = is_unwanted(d);

    if (is_refused(d))
        return;
    if (!plan_known(d, c->id)) {
        if (unwanted)
            plan_close_campaign(d, CLUSTER_CANCELLED, "the head had not started the campaign");
        else
            plan_add(d, PLAN_PUT_CAMPAIGN)->id = c->id;
        return;
    }
    if (unwanted && c->phase == CLUSTER_DRAINING)
        plan_add(d, PLAN_CANCEL_CAMPAIGN)->id = c->id;
}

static void follow_complete(struct draft *d)
{
    const struct cluster_campaign *c = &d->p->record.campaign;

    if (c->kind == CLUSTER_UPDATE)
        plan_update_pods(d);
    else if (d->in->child[CLUSTER_MEMBER_SET].exists && d->members > c->first - 1)
        d->members = c->first - 1;
    else
        plan_close_campaign(d, CLUSTER_COMPLETE, NULL);
}

/* Takes the next step of the recorded shrink or update. */
static void campaign_step(struct draft *d)
{
    struct cluster_campaign *c = &d->p->record.campaign;

    switch (c->phase) {
    case CLUSTER_COMPLETE:
        follow_complete(d);
        return;
    case CLUSTER_CANCELLED:
    case CLUSTER_REJECTED:
    case CLUSTER_SUPERSEDED:
        plan_close_campaign(d, c->phase, NULL);
        return;
    default:
        break;
    }
    if (d->in->head.link == PLAN_LINK_UP)
        ask_head(d);
    else if (c->kind == CLUSTER_SHRINK && plan_deadline_passed(d))
        plan_complete(d,
                      "the head could not be reached until spec.drain.deadlineSeconds had passed");
    else
        d->p->blocked = PLAN_BLOCK_HEAD;
}

/* An older head accepts the size message but does not report limits. */
static bool limits_agreed(const struct draft *d, const struct api_size_limits *limits)
{
    const struct api_dvm *v = d->in->head.view;
    const struct cluster_record *r = &d->p->record;

    return api_size_limits_equal(&v->size_limits, limits) ||
           (v->size_sequence && v->size_sequence == r->size_sequence &&
            api_size_limits_equal(&r->size_limits, limits));
}

/* True if the head admits the members 1 to `members` and has the limits of the spec. Otherwise
 * plans the next step towards it: record a numbered message, then put it. The campaign of a tool is
 * waited for. */
static bool size_agreed(struct draft *d, uint32_t members)
{
    const struct api_dvm *v = d->in->head.view;
    struct cluster_record *r = &d->p->record;
    struct api_size_limits limits = plan_limits(d->in->cluster);
    bool recorded = api_size_limits_equal(&r->size_limits, &limits);

    if (v->size_members == members && limits_agreed(d, &limits))
        return true;
    if (r->size_members == members && recorded && r->size_sequence == r->sequence &&
        r->size_sequence >= v->size_sequence && r->size_sequence > d->in->size_refused) {
        plan_add(d, PLAN_PUT_SIZE);
        return false;
    }
    r->sequence = plan_next_sequence(d);
    r->size_sequence = r->sequence;
    r->size_members = members;
    r->size_limits = limits;
    d->must_record = true;
    return false;
}

bool plan_rejected_lately(struct draft *d)
{
    const struct cluster_campaign *l = &d->p->record.last;
    int64_t left = span_ms(d->closed ? 0 : d->in->age.applied, PLAN_REJECTED_PAUSE_MS);

    if (!l->present || l->phase != CLUSTER_REJECTED || left <= 0 ||
        l->generation != d->in->cluster->generation)
        return false;
    plan_again(d, left);
    d->p->blocked = PLAN_BLOCK_REJECTED;
    return true;
}

/* True if the StatefulSet still has pods above its size: they are parked, and a growth would keep
 * them. */
static bool has_leftovers(const struct draft *d)
{
    for (size_t i = 0; i < d->in->npods; i++) {
        if (d->in->pods[i].vpid > d->members && !d->in->pods[i].deleting)
            return true;
    }
    return false;
}

static void shrink_or_grow(struct draft *d)
{
    bool up = d->in->head.link == PLAN_LINK_UP;
    bool formed = d->p->record.incarnation[0] != '\0';
    /* A new incarnation of the head admits no members. Those that stay are admitted first, then the
     * leaving ones are removed. */
    uint32_t staying = plan_staying(d);

    if (up && d->in->head.view->size_members < staying && !size_agreed(d, staying))
        return;
    if (d->members > d->p->target) {
        if (!formed)
            d->members = d->p->target; /* no member was ever admitted, so nothing can be lost */
        else if (!plan_rejected_lately(d))
            plan_open_campaign(d, CLUSTER_SHRINK, d->p->target + 1, d->members);
        return;
    }
    /* While the head cannot be reached pods may start: the head refuses them until it has the size
     * message. */
    if ((!up || size_agreed(d, staying)) && staying == d->p->target && !has_leftovers(d))
        d->members = d->p->target;
}

static void plan_size(struct draft *d)
{
    struct cluster_campaign *c = &d->p->record.campaign;

    d->heads = 1;
    if (c->present &&
        c->kind ==
            CLUSTER_SHUTDOWN) /* not accepted yet; otherwise plan_suspend() would have planned it */
        plan_close_campaign(d, CLUSTER_CANCELLED, "the DVM was resumed");
    if (c->present)
        campaign_step(d);
    if (!d->in->child[CLUSTER_MEMBER_SET].exists)
        return;
    /* An update that drains holds up no growth. */
    if (!c->present || (c->kind == CLUSTER_UPDATE && d->members <= d->p->target && !d->must_record))
        shrink_or_grow(d);
    if (!c->present)
        plan_update(d);
}

static void apply_set(struct draft *d, enum cluster_child child, uint32_t replicas)
{
    const struct plan_child_seen *s = &d->in->child[child];
    bool differs = s->exists && s->replicas != replicas;

    if (s->exists && s->current && !differs)
        return;
    if (s->refused && !differs)
        return;
    if (!s->exists && !d->in->credentials)
        return;
    struct plan_action *a = plan_add(d, PLAN_APPLY);
    a->child = child;
    a->replicas = replicas;
    a->decrease = s->exists && replicas < s->replicas;
    a->scale_only = s->exists && (s->current || s->refused);
    a->uid = s->exists ? s->uid : NULL;
    a->resource_version = a->decrease ? s->resource_version : NULL;
}

static void apply_children(struct draft *d)
{
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        const struct plan_child_seen *s = &d->in->child[i];

        if (s->foreign || s->deleting)
            continue;
        if (i == CLUSTER_HEAD_SET) {
            apply_set(d, i, d->heads);
        } else if (i == CLUSTER_MEMBER_SET) {
            apply_set(d, i, d->members);
        } else if ((!s->exists || !s->current) && !s->refused) {
            struct plan_action *a = plan_add(d, PLAN_APPLY);

            a->child = (enum cluster_child)i;
            a->uid = s->exists ? s->uid : NULL;
        }
    }
}

static bool view_busy(const struct api_dvm *v)
{
    for (size_t i = 0; i < v->ncampaigns; i++) {
        if (!api_phase_terminal(v->campaigns[i].phase))
            return true;
    }
    return false;
}

/* A daemon that the campaign of a tool has removed stays parked, although it is wanted: only a new
 * pod can join. */
static bool parked_for_good(struct draft *d, const struct plan_pod *pod)
{
    const struct api_dvm *v = d->in->head.view;

    if (!v || pod->vpid == 0 || pod->vpid > d->p->target || pod->ready || !pod->running_since_ms ||
        d->p->record.campaign.present)
        return false;
    const struct api_dvm_member *m = plan_member(d, pod->vpid);
    if (!m || m->state != MEMBER_PARKED || view_busy(v))
        return false;
    int64_t left = span_ms(pod->running_for_ms, PLAN_PARKED_MS);
    if (left > 0)
        plan_again(d, left);
    return left <= 0;
}

static bool absent_at_head(const struct draft *d, const struct plan_pod *pod)
{
    const struct api_dvm_member *m = plan_member(d, pod->vpid);

    return !m || !present_at_head(m);
}

/* Pods are replaced by deletion only. A pod that cannot start with an old template would never
 * start. */
static bool never_starts(const struct draft *d, const struct plan_pod *pod)
{
    const struct plan_child_seen *s =
        &d->in->child[pod->vpid ? CLUSTER_MEMBER_SET : CLUSTER_HEAD_SET];

    if (!pod->outdated || pod->running_since_ms || !s->current)
        return false;
    return pod->vpid ? absent_at_head(d, pod) : d->in->head.link != PLAN_LINK_UP;
}

/* A daemon that the head has lost and that does not come back has no ranks, so nothing is lost by
 * the end of its pod. No campaign can release it. */
static bool lost_with_old_template(struct draft *d, const struct plan_pod *pod)
{
    int64_t left = span_ms(pod->running_for_ms, PLAN_PARKED_MS);

    if (d->in->head.link != PLAN_LINK_UP || !plan_awaits_update(d->in, pod) ||
        !pod->running_since_ms || pod->vpid > d->p->target ||
        !d->in->child[CLUSTER_MEMBER_SET].current)
        return false;
    const struct api_dvm_member *m = plan_member(d, pod->vpid);
    if (m && m->state != MEMBER_LOST)
        return false;
    if (left > 0)
        plan_again(d, left);
    return left <= 0;
}

/* Time until a head that does not answer counts as lost. Its members wait longer for another one.
 */
static int64_t head_lost_in(const struct draft *d)
{
    return span_ms(d->in->head.down_for_ms, api_faults_lost_ms(&d->in->cluster->faults));
}

/* A pod whose node does not answer stays terminating until the node is back. When the head has
 * declared its daemon lost, its vpid is free, and no daemon of its epoch is accepted again. A
 * head's pod is replaced when it counts as lost: members accept the next head alone. */
static bool node_gone(const struct draft *d, const struct plan_pod *pod)
{
    const struct plan_head *h = &d->in->head;

    if (!pod->deleting || !pod->node_lost || d->in->cluster->node_lost_wait)
        return false;
    if (pod->vpid)
        return h->link == PLAN_LINK_UP && absent_at_head(d, pod);
    return h->link == PLAN_LINK_DOWN && head_lost_in(d) <= 0;
}

/* Files in memory outlive the container, so with a full /dev/shm no daemon starts again. The head
 * does not have the daemon, or is lost itself. */
static bool memory_full(struct draft *d, const struct plan_pod *pod)
{
    enum plan_link link = d->in->head.link;
    int64_t left = span_ms(pod->waiting_for_ms, PLAN_STARVED_MS);

    if (pod->deleting || !pod->starved || !pod->waiting ||
        strcmp(pod->waiting, "CrashLoopBackOff") != 0)
        return false;
    if (pod->vpid ? link != PLAN_LINK_UP || !absent_at_head(d, pod) : link != PLAN_LINK_DOWN)
        return false;
    if (left < d->in->starved_pause_ms)
        left = d->in->starved_pause_ms;
    if (!pod->vpid && left < head_lost_in(d))
        left = head_lost_in(d);
    if (left > 0)
        plan_again(d, left);
    return left <= 0;
}

/* Plans again when a head on a lost node counts as lost. */
static void await_head_lost(struct draft *d, const struct plan_pod *pod)
{
    int64_t left = head_lost_in(d);

    if (pod->vpid == 0 && pod->deleting && pod->node_lost && left > 0 &&
        d->in->head.link == PLAN_LINK_DOWN && !d->in->cluster->node_lost_wait)
        plan_again(d, left);
}

void plan_delete_pod(struct draft *d, const struct plan_pod *pod)
{
    struct plan_action *a;

    for (size_t i = 0; i < d->p->n; i++) {
        if (d->p->actions[i].pod == pod->name)
            return;
    }
    a = plan_add(d, PLAN_DELETE_POD);
    a->force = node_gone(d, pod);
    a->starved = memory_full(d, pod);
    a->pod = pod->name;
    a->uid = pod->uid;
}

static void replace_pods(struct draft *d)
{
    for (size_t i = 0; i < d->in->npods; i++) {
        const struct plan_pod *pod = &d->in->pods[i];

        await_head_lost(d, pod);
        if (!node_gone(d, pod) &&
            (pod->deleting || (!never_starts(d, pod) && !parked_for_good(d, pod) &&
                               !lost_with_old_template(d, pod) && !memory_full(d, pod) &&
                               !plan_update_head(d, pod))))
            continue;
        plan_delete_pod(d, pod);
    }
}

/* Pods that do not come are explained by the API server. */
static void try_pods(struct draft *d)
{
    static const enum cluster_child sets[] = {CLUSTER_HEAD_SET, CLUSTER_MEMBER_SET};

    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        if (d->in->child[sets[i]].short_of_pods)
            plan_add(d, PLAN_TRY_POD)->child = sets[i];
    }
}

/* Takes over the head's report on the recorded campaign, and its incarnation. */
static void take_over(struct draft *d)
{
    const struct api_dvm *v = d->in->head.view;
    struct cluster_record *r = &d->p->record;

    if (!v || d->in->head.link != PLAN_LINK_UP || !d->heads)
        return;
    const struct api_campaign *reported =
        r->campaign.present ? plan_known(d, r->campaign.id) : NULL;
    if (reported)
        cluster_campaign_merge(&r->campaign, reported);
    if (strcmp(r->incarnation, v->incarnation) != 0) {
        plan_grants_new_life(d);
        memcpy(r->incarnation, v->incarnation, sizeof(r->incarnation));
        d->must_record = true;
    }
    plan_grants_follow(d, v);
}

static void plan_steps(struct draft *d)
{
    const struct cluster *c = d->in->cluster;
    const struct plan_child_seen *set = d->in->child;
    struct plan *p = d->p;

    d->heads = set[CLUSTER_HEAD_SET].exists ? set[CLUSTER_HEAD_SET].replicas : !c->suspend;
    take_over(d);
    plan_grants_void(d);
    p->target = c->suspend ? 0 : plan_granted_target(c, &p->record.grants);
    d->members = set[CLUSTER_MEMBER_SET].exists ? set[CLUSTER_MEMBER_SET].replicas : p->target;
    if (c->suspend || plan_shutdown_runs(d))
        plan_suspend(d);
    else
        plan_size(d);
    if (d->must_record) {
        p->n = 0;
        plan_add(d, PLAN_RECORD)->resource_version = c->resource_version;
        return;
    }
    if (!d->in->credentials)
        plan_add(d, PLAN_ENSURE_CREDENTIALS);
    apply_children(d);
    replace_pods(d);
    try_pods(d);
}

struct plan *plan_make(const struct plan_input *in)
{
    struct plan *p = xcalloc(1, sizeof(*p));
    struct plan_index index = {0};
    struct draft d = {.in = in, .p = p, .index = &index};

    cluster_record_copy(&p->record, &in->cluster->record);
    if (!in->cluster->deleting) /* the owner references remove the objects */
        plan_steps(&d);
    plan_index_clear(&index);
    return p;
}

void plan_destroy(struct plan *p)
{
    if (!p)
        return;
    cluster_record_free(&p->record);
    free(p);
}

void plan_destroyp(struct plan **p)
{
    plan_destroy(*p);
    *p = NULL;
}
