/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains why a StatefulSet has fewer pods than replicas.
 *
 * In: the observed StatefulSets and pods of a pass. Out: in the plan's input (plan_child_seen),
 * whether pods are missing (lacks_pods) and one is to be tried (short_of_pods), and the
 * explanation: a pod that is in the way (pod_in_the_way), or the last refusal.
 *
 * The controller of StatefulSets reports a pod that it cannot create only in Events. So the
 * operator reads the first pod that is missing: one of that name which the StatefulSet does not
 * control is in the way. The controller creates pods in their order and stops at a failure, so the
 * first one tells for all. If nothing is in the way, the operator tries a pod under another name,
 * in a dry run (probe.c): a quota or an admission policy refuses it.
 *
 * Limits: the first try is SHORTAGE_PATIENCE_MS after the pods are missing and the controller has
 * seen the StatefulSet; each further pause is twice as long, up to SHORTAGE_PAUSE_MAX_MS. With a
 * change of the missing pods the pauses begin again. A refusal is not asked for while the user
 * leaves out dry runs.
 *
 * Failures: without an answer the explanation stays as it is until the next try. */
#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdlib.h>
#include <string.h>

#define SHORTAGE_PATIENCE_MS 4000
#define SHORTAGE_PAUSE_MAX_MS 60000
/* A success of another cluster with the same template answers the question for so long. */
#define SHORTAGE_VALID_MS 1000

static uint32_t count_pods(const struct run *run, enum cluster_child set)
{
    uint32_t n = 0;

    for (size_t i = 0; i < run->in.npods; i++)
        n += (run->in.pods[i].vpid == 0) == (set == CLUSTER_HEAD_SET);
    return n;
}

/* The lowest ordinal without a pod; the pods are in the order of their vpids. */
static uint32_t find_missing(const struct run *run, enum cluster_child set)
{
    uint32_t missing = 1;

    if (set == CLUSTER_HEAD_SET)
        return 0;
    for (size_t i = 0; i < run->in.npods; i++)
        missing += run->in.pods[i].vpid == missing;
    return missing;
}

static bool is_short(const struct run *run, enum cluster_child set)
{
    const struct plan_child_seen *s = &run->in.child[set];

    return s->exists && !s->deleting && count_pods(run, set) < s->replicas;
}

void shortage_clear(struct shortage *s)
{
    free(s->words);
    free(s->in_the_way);
    *s = (struct shortage){0};
}

/* A change is tried after the first pause at the latest, so changes that go on delay no try. */
static void note_extent(struct run *run, enum cluster_child set)
{
    struct shortage *m = &run->e->child[set].shortage;
    uint32_t replicas = run->in.child[set].replicas, pods = count_pods(run, set);
    uint32_t missing = find_missing(run, set);

    if (m->pause_ms && m->replicas == replicas && m->pods == pods && m->missing == missing)
        return;
    if (!m->pause_ms || m->try_ms > run->now_ms + SHORTAGE_PATIENCE_MS)
        m->try_ms = run->now_ms + SHORTAGE_PATIENCE_MS;
    if (m->missing != missing)
        free_ptr(&m->in_the_way);
    m->pause_ms = SHORTAGE_PATIENCE_MS;
    m->replicas = replicas;
    m->pods = pods;
    m->missing = missing;
}

static void observe_set(struct run *run, enum cluster_child set)
{
    struct shortage *m = &run->e->child[set].shortage;
    struct plan_child_seen *s = &run->in.child[set];

    if (!is_short(run, set)) {
        if (s->exists) /* words that came before it existed are about its pods */
            shortage_clear(m);
        return;
    }
    s->lacks_pods = run->child[set].observed->observed;
    if (s->lacks_pods) {
        note_extent(run, set);
        s->short_of_pods = run->now_ms >= m->try_ms;
        if (!s->short_of_pods)
            queue_add_after(run->e->r->queue, run->e->key, span_ms(run->now_ms, m->try_ms));
    }
    s->refusal = m->words;
    s->pod_in_the_way = m->in_the_way;
}

void shortage_observe(struct run *run)
{
    observe_set(run, CLUSTER_HEAD_SET);
    observe_set(run, CLUSTER_MEMBER_SET);
}

bool shortage_is_quota(int status, const struct err *err)
{
    return status == 403 && strstr(err->msg, "exceeded quota: ");
}

void shortage_note(struct run *run, const struct err *err)
{
    struct shortage *m = &run->e->child[run->action->child].shortage;

    free(m->words);
    m->words = err ? xstrdup(err->msg) : NULL;
    run->in.child[run->action->child].refusal = m->words;
}

static void note_in_the_way(struct run *run, const char *name)
{
    struct shortage *m = &run->e->child[run->action->child].shortage;

    free(m->in_the_way);
    m->in_the_way = name ? xstrdup(name) : NULL;
    run->in.child[run->action->child].pod_in_the_way = m->in_the_way;
}

static void on_tried(struct run *run, int status, const struct err *err)
{
    if (status == 200)
        shortage_note(run, NULL);
    else if (status == 400 || status == 403 || status == 422)
        shortage_note(run, err);
    run->on_action_done(run);
}

static void try_pod(struct run *run)
{
    if (run->c.untried)
        run->on_action_done(run);
    else
        probe_template(run, SHORTAGE_VALID_MS, on_tried);
}

static bool is_controlled_by_set(const struct run *run, const json_t *pod)
{
    const char *has = NULL, *wanted = run->in.child[run->action->child].uid;

    return objects_controller(pod, "StatefulSet", &has) && has && wanted &&
           strcmp(has, wanted) == 0;
}

static void on_missing_read(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;
    bool in_the_way = status == 200 && !is_controlled_by_set(run, body);

    run->request = 0;
    if (in_the_way)
        note_in_the_way(
            run, json_string_value(json_object_get(json_object_get(body, "metadata"), "name")));
    else if (status == 200 || status == 404)
        note_in_the_way(run, NULL);
    if (in_the_way)
        run->on_action_done(run);
    else
        try_pod(run);
}

void shortage_try(struct run *run)
{
    const enum cluster_child set = run->action->child;
    struct shortage *m = &run->e->child[set].shortage;
    FREE_AUTO char *name = objects_name(&run->c, set);
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/pods/%s-%u", run->c.ns, name, find_missing(run, set));
    struct kube_verb v = {.method = "GET", .path = path};
    struct err err = {0};

    m->pause_ms *= 2;
    if (m->pause_ms > SHORTAGE_PAUSE_MAX_MS)
        m->pause_ms = SHORTAGE_PAUSE_MAX_MS;
    m->try_ms = run->now_ms + m->pause_ms;
    queue_add_after(run->e->r->queue, run->e->key, m->pause_ms);
    run->request = kube_request(run->e->r->o.kube, &v, on_missing_read, run, &err);
    if (!run->request)
        try_pod(run);
}
