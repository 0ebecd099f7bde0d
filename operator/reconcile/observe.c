/* SPDX-License-Identifier: BSD-3-Clause */
/* Observes a cluster: fills the plan's input from the caches, the entry and the head's view.
 *
 * In: the cached children and pods of one DvmCluster, the state of the connection to its head, and
 * the memory of refused objects. Out: struct plan_input, which the pure plan reads, and the
 * trouble that the status shows.
 *
 * Invariants: nothing is requested from the server here, and nothing is decided; pods are in the
 * order of their vpids; text that the input points to stays until observe_release(). A stream that
 * is not open counts as connecting while the head's container runs, and as down otherwise.
 *
 * Failures: a pod or child that lacks a field counts as not ready. A pod that waits for its
 * volumes makes the credentials be looked at again, since a missing Secret may be the cause. */
#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/model/timestamp.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct cache *reconcile_child_cache(struct reconciler *r, enum cluster_child child)
{
    if (child == CLUSTER_HEAD_SET || child == CLUSTER_MEMBER_SET)
        return r->cache[CACHE_SETS];
    if (child == CLUSTER_PDB || child == CLUSTER_HEAD_PDB)
        return r->cache[CACHE_BUDGETS];
    return r->cache[CACHE_SERVICES];
}

static int64_t pause_left_ms(const struct pause *p, uint64_t now_ms)
{
    return span_ms(now_ms, p->until_ms);
}

/* The head's budget allows no eviction while jobs run. While it is not known whether any does, the
 * budget stays as it is. */
static void choose_head_budget(struct run *run, const struct child *o)
{
    const struct wanted *w = &run->e->wanted;
    const struct wanted_print **wanted = &run->child[CLUSTER_HEAD_PDB].wanted;
    enum headlink_jobs jobs = headlink_jobs(run->e->head);
    bool stays_busy = jobs == HEADLINK_JOBS_UNKNOWN && !child_applied(o, (*wanted)->applied) &&
                      child_applied(o, w->busy_budget.applied);

    if (jobs != HEADLINK_JOBS_RUN && !stays_busy)
        return;
    run->c.disruption.head_busy = true;
    *wanted = &w->busy_budget;
}

static void see_child(struct run *run, enum cluster_child child)
{
    struct entry *e = run->e;
    struct child_memory *m = &e->child[child];
    struct plan_child_seen *s = &run->in.child[child];
    FREE_AUTO char *name = objects_name(&run->c, child);
    const struct child *o = cache_get(reconcile_child_cache(e->r, child), run->c.ns, name);
    uint64_t wait_ms;

    run->child[child].wanted = &e->wanted.child[child];
    if (child == CLUSTER_HEAD_PDB)
        choose_head_budget(run, o);
    const struct wanted_print *wanted = run->child[child].wanted;
    s->refused =
        strcmp(m->refused_print, wanted->applied) == 0 && run->now_ms < m->refused_until_ms;
    s->foreign = run->now_ms < m->foreign_until_ms;
    s->orphaned = s->foreign && m->orphaned;
    if (!o)
        return;
    run->child[child].observed = child_ref(o);
    s->foreign = !child_controlled(o, &run->c);
    s->orphaned = s->foreign && child_orphaned(o, &run->c);
    s->exists = !s->foreign;
    s->deleting = o->deleting;
    s->uid = child_text(o, CHILD_UID);
    s->resource_version = child_text(o, CHILD_VERSION);
    s->revision = child_text(o, CHILD_REVISION);
    s->replicas = o->replicas;
    s->current = !drift_is_due(m, wanted, o, run->now_ms, &wait_ms);
    if (wait_ms)
        queue_add_after(e->r->queue, e->key, wait_ms);
}

/* True if the StatefulSet, which this cluster controls, controls the pod. */
static bool is_pod_of(const struct run *run, const struct pod *p, enum cluster_child set)
{
    const struct plan_child_seen *s = &run->in.child[set];
    const char *uid = pod_text(p, POD_SET_UID);

    return s->exists && uid && s->uid && strcmp(uid, s->uid) == 0;
}

static bool see_pod(struct run *run, const struct pod *p, struct plan_pod *out)
{
    const char *name = pod_text(p, POD_NAME);
    const char *dash = name ? strrchr(name, '-') : NULL;
    bool head = is_pod_of(run, p, CLUSTER_HEAD_SET);

    if (!dash || (!head && !is_pod_of(run, p, CLUSTER_MEMBER_SET)))
        return false;
    pod_read(p, out);
    out->vpid = head ? 0 : (uint32_t)strtoul(dash + 1, NULL, 10);
    const enum cluster_child set = head ? CLUSTER_HEAD_SET : CLUSTER_MEMBER_SET;
    out->outdated = pod_outdated(p, run->child[set].observed);
    out->stale = pod_changed(p, run->child[set].wanted->spec);
    out->changed = out->outdated && out->stale;
    if (out->running_since_ms)
        out->running_for_ms = span_ms(p->state_ms, run->now_ms);
    else if (out->waiting)
        out->waiting_for_ms = span_ms(p->state_ms, run->now_ms);
    return head || out->vpid > 0;
}

static int by_vpid(const void *a, const void *b)
{
    const struct plan_pod *x = a, *y = b;

    return x->vpid < y->vpid ? -1 : x->vpid > y->vpid;
}

static void see_pods(struct run *run)
{
    const struct pod *p;
    size_t n = 0, i = 0;

    DL_COUNT(run->e->pods, p, n);
    run->pods = xcalloc(n ? n : 1, sizeof(*run->pods));
    run->pod_refs = xcalloc(n ? n : 1, sizeof(*run->pod_refs));
    DL_FOREACH(run->e->pods, p)
    {
        run->pod_refs[run->npod_refs++] = pod_ref(p);
        i += see_pod(run, p, &run->pods[i]);
    }
    qsort(run->pods, i, sizeof(*run->pods), by_vpid);
    run->in.pods = run->pods;
    run->in.npods = i;
}

/* A stream that is not open counts as connecting while the head's container runs, as down
 * otherwise. */
static void see_head(struct run *run)
{
    struct plan_head *h = &run->in.head;
    bool runs = false;
    int64_t known_for_ms = span_ms(run->e->known_ms, run->now_ms);
    bool early = known_for_ms < HEADLINK_PATIENCE_MS;

    *h = (struct plan_head){.link = early ? PLAN_LINK_CONNECTING : PLAN_LINK_DOWN,
                            .down_since_ms = run->e->known_since_ms,
                            .down_for_ms = known_for_ms};
    if (run->e->head)
        headlink_look(run->e->head, h, &run->view);
    h->idle = headlink_jobs(run->e->head) == HEADLINK_JOBS_NONE;
    for (size_t i = 0; i < run->in.npods; i++)
        runs = runs || (run->in.pods[i].vpid == 0 && run->in.pods[i].running_since_ms);
    if (h->link == PLAN_LINK_CONNECTING && !runs)
        h->link = PLAN_LINK_DOWN;
}

/* True if the Secrets are read again although they were complete: a certificate is due or could not
 * be renewed, or a Secret may have been deleted. */
static bool secrets_due(const struct run *run)
{
    const struct entry *e = run->e;
    uint64_t pause_ms = e->creds_pause_ms;

    if (e->creds_trouble.reason)
        pause_ms = RECONCILE_RENEWAL_MS;
    else if (e->have_creds && e->creds.settled &&
             run->c.security.authority_revision > e->creds.revision)
        return true;
    else if (e->have_creds && run->in.now_ms >= e->creds.renewal_ms)
        pause_ms = RECONCILE_CREDENTIALS_MS;
    if (run->now_ms >= e->creds_checked_ms + pause_ms)
        return true;
    queue_add_after(e->r->queue, e->key, span_ms(run->now_ms, e->creds_checked_ms + pause_ms));
    int64_t renewal_in_ms = span_ms(run->in.now_ms, e->creds.renewal_ms);
    /* An overdue renewal has been tried, and comes again after the pause. */
    if (e->have_creds && renewal_in_ms && renewal_in_ms < RECONCILE_SECRETS_MS)
        queue_add_after(e->r->queue, e->key, renewal_in_ms);
    return false;
}

static void see_credentials(struct run *run)
{
    struct entry *e = run->e;

    for (size_t i = 0; i < run->in.npods; i++)
        run->pending = run->pending || pod_waits_for_volumes(&run->pods[i]);
    size_t clusters = cache_count(e->r->cache[CACHE_CLUSTERS]);
    uint64_t all_ms = clusters * RECONCILE_PENDING_STEP_MS;
    uint64_t pause_ms = all_ms > RECONCILE_RETRY_MS ? all_ms : RECONCILE_RETRY_MS;
    bool stale = run->now_ms >= e->creds_checked_ms + pause_ms;
    run->in.credentials = e->creds_complete && !(run->pending && stale) && !secrets_due(run);
    run->user_due = run->in.credentials && usersecret_due(run, clusters);
    run->in.credentials = run->in.credentials && !run->user_due;
    run->in.authority_revision = e->have_creds && e->creds.settled ? e->creds.revision : -1;
}

/* The time since a time of the status, by the loop's clock. When the operator has started in
 * between, the wall clock tells how long it is ago; a time of the future counts as the present. */
static int64_t age_of(const struct run *run, struct stamp *s, int64_t wall_ms)
{
    if (!wall_ms)
        return 0;
    if (s->wall_ms != wall_ms)
        *s = (struct stamp){.wall_ms = wall_ms,
                            .age_ms = span_ms(wall_ms, run->in.now_ms),
                            .noted_ms = run->now_ms};
    return s->age_ms + span_ms(s->noted_ms, run->now_ms);
}

/* The head's clock tells when it accepted a campaign; that is not before it was recorded. */
static void see_ages(struct run *run)
{
    const struct cluster_record *r = &run->c.record;
    struct plan_ages *a = &run->in.age;

    a->recorded = age_of(run, &run->e->recorded, r->campaign.recorded_ms);
    a->accepted = age_of(run, &run->e->accepted, r->campaign.accepted_ms);
    a->applied = age_of(run, &run->e->applied, r->last.applied_ms);
    if (a->accepted > a->recorded)
        a->accepted = a->recorded;
}

void observe_cluster(struct run *run)
{
    run->now_ms = loop_now_ms(run->e->r->o.loop);
    run->in.cluster = &run->c;
    run->in.now_ms = (int64_t)loop_wall_ms();
    run->in.answer = &run->e->answer;
    run->in.size_refused = run->e->size_refused;
    run->in.starved_pause_ms = pause_left_ms(&run->e->starved, run->now_ms);
    wanted_refresh(&run->e->wanted, run->object, &run->c, run->e->r->o.default_image);
    for (int i = 0; i < CLUSTER_CHILDREN; i++)
        see_child(run, (enum cluster_child)i);
    see_pods(run);
    shortage_observe(run);
    see_ages(run);
    see_credentials(run);
    follow_head(run);
    see_head(run);
    news_observe(run);
}

void observe_trouble(const struct run *run, struct status_trouble *out)
{
    const struct status_trouble *creds = &run->e->creds_trouble;

    *out = (struct status_trouble){.reason = REASON_NONE};
    if (!reason_is(creds->reason, REASON_ASIDE))
        *out = *creds;
    for (int i = 0; i < CLUSTER_CHILDREN && !out->reason; i++) {
        const struct child_memory *m = &run->e->child[i];
        bool set = i == CLUSTER_HEAD_SET || i == CLUSTER_MEMBER_SET;
        bool refused =
            m->refused_print[0] && strcmp(m->refused_print, run->child[i].wanted->applied) == 0;

        if (!refused && m->failures < APPLY_REPORTED_AFTER)
            continue;
        FREE_AUTO char *name = objects_name(&run->c, (enum cluster_child)i);
        out->reason = !refused ? REASON_OBJECT_NOT_APPLIED
                      : set    ? REASON_TEMPLATE_REFUSED
                               : REASON_OBJECT_REFUSED;
        snprintf(out->message, sizeof(out->message), "%s %s %s: %s",
                 objects_kind((enum cluster_child)i), name,
                 refused ? "is refused by the API server" : "cannot be applied",
                 m->message ? m->message : "");
    }
    if (!out->reason)
        *out = *creds;
}

void observe_release(struct run *run)
{
    for (int i = 0; i < CLUSTER_CHILDREN; i++)
        child_unref(run->child[i].observed);
    for (size_t i = 0; i < run->npod_refs; i++)
        pod_unref(run->pod_refs[i]);
    free(run->pod_refs);
    free(run->pods);
    headlink_view_release(run->view);
}
