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
#include "operator/model/timestamp.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first and the longest pause between two changes by others that are undone. */
#define HEAL_PAUSE_MIN_MS 1000
#define HEAL_PAUSE_MAX_MS 300000

/* The end of a container counts as the cause of a loss for so long. */
#define CONTAINER_END_FRESH_MS 120000

static const json_t *get_path(const json_t *o, const char *a, const char *b, const char *c)
{
    o = json_object_get(json_object_get(o, a), b);
    return c ? json_object_get(o, c) : o;
}

static const char *get_text(const json_t *o, const char *a, const char *b, const char *c)
{
    return json_string_value(get_path(o, a, b, c));
}

struct cache *reconcile_child_cache(struct reconciler *r, enum cluster_child child)
{
    if (child == CLUSTER_HEAD_SET || child == CLUSTER_MEMBER_SET)
        return r->cache[CACHE_SETS];
    if (child == CLUSTER_PDB || child == CLUSTER_HEAD_PDB)
        return r->cache[CACHE_BUDGETS];
    return r->cache[CACHE_SERVICES];
}

/* True if another writer has changed the applied object. A generation that is not known yet, after
 * the operator's start, is taken for ours. */
static bool changed_by_others(struct child_memory *m, const json_t *wanted, const json_t *observed)
{
    int64_t generation = json_integer_value(get_path(observed, "metadata", "generation", NULL));

    if (!m->generation)
        m->generation = generation;
    if (m->generation != generation)
        return true;
    if (!objects_drifted(wanted, observed))
        return false;
    FREE_AUTO char *print = objects_drift_print(observed);
    return strcmp(print, m->settled) != 0;
}

/* True if the change is undone now. The first one is undone at once; each further one waits longer,
 * so that two programs that disagree do not fight. */
static bool heals_now(struct run *run, struct child_memory *m)
{
    if (run->now_ms < m->heal_from_ms) {
        queue_add_after(run->e->r->queue, run->e->key, m->heal_from_ms - run->now_ms);
        return false;
    }
    if (run->now_ms > m->heal_from_ms + HEAL_PAUSE_MAX_MS)
        m->heal_pause_ms = HEAL_PAUSE_MIN_MS;
    else if (m->heal_pause_ms < HEAL_PAUSE_MAX_MS)
        m->heal_pause_ms *= 2;
    m->heal_from_ms = run->now_ms + m->heal_pause_ms;
    return true;
}

static void see_child(struct run *run, enum cluster_child child)
{
    struct entry *e = run->e;
    struct child_memory *m = &e->child[child];
    struct plan_child_seen *s = &run->in.child[child];
    FREE_AUTO char *name = objects_name(&run->c, child);
    const char *image = run->c.image ? run->c.image : e->r->o.default_image;

    run->child[child].wanted = objects_build(&run->c, child, 0, image);
    const char *print = objects_applied(run->child[child].wanted);
    s->refused = strcmp(m->refused_print, print) == 0 && run->now_ms < m->refused_until_ms;
    s->foreign = run->now_ms < m->foreign_until_ms;
    s->orphaned = s->foreign && m->orphaned;
    const json_t *o = cache_get(reconcile_child_cache(e->r, child), run->c.ns, name);
    if (!o)
        return;
    run->child[child].observed = json_incref((json_t *)o);
    s->foreign = !objects_controlled(o, &run->c);
    s->orphaned = s->foreign && objects_orphaned(o, &run->c);
    s->exists = !s->foreign;
    s->deleting = get_path(o, "metadata", "deletionTimestamp", NULL) != NULL;
    s->uid = get_text(o, "metadata", "uid", NULL);
    s->resource_version = get_text(o, "metadata", "resourceVersion", NULL);
    s->replicas = (uint32_t)json_integer_value(get_path(o, "spec", "replicas", NULL));
    if (strcmp(objects_applied(o), print) == 0)
        s->current = !changed_by_others(m, run->child[child].wanted, o) || !heals_now(run, m);
}

static const json_t *daemon_status(const json_t *pod)
{
    const json_t *list = get_path(pod, "status", "containerStatuses", NULL), *s;
    size_t i;

    json_array_foreach((json_t *)list, i, s)
    {
        const char *name = json_string_value(json_object_get(s, "name"));

        if (name && strcmp(name, OBJECTS_CONTAINER) == 0)
            return s;
    }
    return NULL;
}

static const char *daemon_image(const json_t *pod)
{
    const json_t *list = get_path(pod, "spec", "containers", NULL), *c;
    size_t i;

    json_array_foreach((json_t *)list, i, c)
    {
        const char *name = json_string_value(json_object_get(c, "name"));

        if (name && strcmp(name, OBJECTS_CONTAINER) == 0)
            return json_string_value(json_object_get(c, "image"));
    }
    return NULL;
}

/* True if the StatefulSet's controller has seen the newest template and the pod is made from
 * another. */
static bool pod_outdated(const json_t *pod, const json_t *set)
{
    const char *has = get_text(pod, "metadata", "labels", "controller-revision-hash");
    const char *update = get_text(set, "status", "updateRevision", NULL);
    json_int_t seen = json_integer_value(get_path(set, "status", "observedGeneration", NULL));
    json_int_t is = json_integer_value(get_path(set, "metadata", "generation", NULL));

    return has && update && seen == is && strcmp(has, update) != 0;
}

const char *observe_container_end(const json_t *pod, int64_t now_ms, long long *code)
{
    const json_t *status = daemon_status(pod);
    const json_t *ended = get_path(status, "state", "terminated", NULL);
    int64_t at_ms = 0;

    if (!ended)
        ended = get_path(status, "lastState", "terminated", NULL);
    const char *at = json_string_value(json_object_get(ended, "finishedAt"));
    if (!at || timestamp_parse(at, &at_ms) || at_ms < now_ms - CONTAINER_END_FRESH_MS)
        return NULL;
    *code = json_integer_value(json_object_get(ended, "exitCode"));
    return json_string_value(json_object_get(ended, "reason"));
}

static const json_t *find_condition(const json_t *pod, const char *type)
{
    const json_t *list = get_path(pod, "status", "conditions", NULL), *c;
    size_t i;

    json_array_foreach((json_t *)list, i, c)
    {
        const char *t = json_string_value(json_object_get(c, "type"));

        if (t && strcmp(t, type) == 0)
            return c;
    }
    return NULL;
}

static bool condition_true(const json_t *pod, const char *type)
{
    const char *s = json_string_value(json_object_get(find_condition(pod, type), "status"));

    return s && strcmp(s, "True") == 0;
}

const char *observe_disruption(const json_t *pod)
{
    if (condition_true(pod, "DisruptionTarget"))
        return json_string_value(
            json_object_get(find_condition(pod, "DisruptionTarget"), "reason"));
    return get_text(pod, "status", "reason", NULL);
}

/* True if the node of the pod has not answered for longer than the pod tolerates. */
static bool is_node_lost(const json_t *pod)
{
    const char *why = observe_disruption(pod);

    return why && (strcmp(why, "DeletionByTaintManager") == 0 || strcmp(why, "NodeLost") == 0);
}

static const char *find_scheduler_words(const json_t *pod)
{
    const json_t *c = find_condition(pod, "PodScheduled");
    const char *reason = json_string_value(json_object_get(c, "reason"));

    if (!reason || strcmp(reason, "Unschedulable") != 0)
        return NULL;
    const char *message = json_string_value(json_object_get(c, "message"));
    return message ? message : "";
}

/* True if the StatefulSet, which this cluster controls, controls the pod. */
static bool is_pod_of(const struct run *run, const json_t *pod, enum cluster_child set)
{
    const struct plan_child_seen *s = &run->in.child[set];
    const char *uid = NULL;

    return s->exists && objects_controller(pod, "StatefulSet", &uid) && uid &&
           strcmp(uid, s->uid) == 0;
}

static bool see_pod(struct run *run, const struct pod_entry *p, struct plan_pod *out)
{
    const json_t *pod = p->object;
    const char *name = get_text(pod, "metadata", "name", NULL);
    const char *dash = name ? strrchr(name, '-') : NULL;
    bool head = is_pod_of(run, pod, CLUSTER_HEAD_SET);

    if (!dash || (!head && !is_pod_of(run, pod, CLUSTER_MEMBER_SET)))
        return false;
    const json_t *status = daemon_status(pod);
    const json_t *waiting = get_path(status, "state", "waiting", NULL);
    const char *started = get_text(status, "state", "running", "startedAt");
    const json_t *ended = get_path(status, "state", "terminated", NULL);
    if (!ended)
        ended = get_path(status, "lastState", "terminated", NULL);
    *out =
        (struct plan_pod){.name = name,
                          .uid = get_text(pod, "metadata", "uid", NULL),
                          .vpid = head ? 0 : (uint32_t)strtoul(dash + 1, NULL, 10),
                          .deleting = get_path(pod, "metadata", "deletionTimestamp", NULL) != NULL,
                          .ready = condition_true(pod, "Ready"),
                          .node_lost = is_node_lost(pod),
                          .waiting = json_string_value(json_object_get(waiting, "reason")),
                          .message = json_string_value(json_object_get(waiting, "message")),
                          .image = daemon_image(pod),
                          .unschedulable = find_scheduler_words(pod),
                          .node = get_text(pod, "spec", "nodeName", NULL),
                          .ended = json_string_value(json_object_get(ended, "reason")),
                          .ended_code = json_integer_value(json_object_get(ended, "exitCode"))};
    if (p->pull && status_is_pull_failure(out->waiting))
        out->message = p->pull;
    out->outdated =
        pod_outdated(pod, run->child[head ? CLUSTER_HEAD_SET : CLUSTER_MEMBER_SET].observed);
    if (started && timestamp_parse(started, &out->running_since_ms))
        out->running_since_ms = 1;
    if (started)
        out->running_for_ms = (int64_t)(run->now_ms - p->runs_ms);
    return head || out->vpid > 0;
}

/* Keeps the kubelet's words about an image while it cannot be pulled. They name ports and times
 * that differ between attempts, so other digits alone are no news; the words of a back-off repeat
 * those of the failure, or have none. */
static void note_pull(struct pod_entry *p, const json_t *pod)
{
    const json_t *waiting = get_path(daemon_status(pod), "state", "waiting", NULL);
    const char *message = json_string_value(json_object_get(waiting, "message"));

    if (!status_is_pull_failure(json_string_value(json_object_get(waiting, "reason")))) {
        free_ptr(&p->pull);
        return;
    }
    const char *words = status_pull_words(message ? message : "");
    if (!*words || (p->pull && status_same_but_digits(words, p->pull)))
        return;
    free(p->pull);
    p->pull = xstrdup(words);
}

void observe_pod_entry(struct reconciler *r, struct pod_entry *p, const json_t *pod)
{
    const char *started = get_text(daemon_status(pod), "state", "running", "startedAt");

    note_pull(p, pod);
    json_incref((json_t *)pod);
    json_decref(p->object);
    p->object = (json_t *)pod;
    if (started && p->started && strcmp(started, p->started) == 0)
        return;
    free(p->started);
    p->started = started ? xstrdup(started) : NULL;
    p->runs_ms = loop_now_ms(r->o.loop);
}

static int by_vpid(const void *a, const void *b)
{
    const struct plan_pod *x = a, *y = b;

    return x->vpid < y->vpid ? -1 : x->vpid > y->vpid;
}

static void see_pods(struct run *run)
{
    struct pod_entry *p, *tmp;
    size_t n = HASH_COUNT(run->e->pods), i = 0, refs = 0;

    run->pods = xcalloc(n ? n : 1, sizeof(*run->pods));
    run->pod_objects = xcalloc(n + 1, sizeof(json_t *));
    HASH_ITER(hh, run->e->pods, p, tmp)
    {
        run->pod_objects[refs++] = json_incref(p->object);
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
    uint64_t known_for_ms = run->now_ms - run->e->known_ms;
    bool early = known_for_ms < HEADLINK_PATIENCE_MS;

    *h = (struct plan_head){.link = early ? PLAN_LINK_CONNECTING : PLAN_LINK_DOWN,
                            .down_since_ms = run->e->known_since_ms,
                            .down_for_ms = (int64_t)known_for_ms};
    if (run->e->head)
        headlink_look(run->e->head, h, &run->view);
    for (size_t i = 0; i < run->in.npods; i++)
        runs = runs || (run->in.pods[i].vpid == 0 && run->in.pods[i].running_since_ms);
    if (h->link == PLAN_LINK_CONNECTING && !runs)
        h->link = PLAN_LINK_DOWN;
}

/* A pod that waits for its volumes looks like this, and a missing Secret may be the cause. */
static bool waits_for_volumes(const struct plan_pod *pod)
{
    return !pod->deleting && !pod->running_since_ms &&
           (!pod->waiting || strcmp(pod->waiting, "ContainerCreating") == 0);
}

static void see_credentials(struct run *run)
{
    struct entry *e = run->e;

    for (size_t i = 0; i < run->in.npods; i++)
        run->pending = run->pending || waits_for_volumes(&run->pods[i]);
    bool stale = run->now_ms >= e->creds_checked_ms + RECONCILE_RETRY_MS;
    run->in.credentials = e->creds_complete && !(run->pending && stale);
}

/* The time since a time of the status, by the loop's clock. When the operator has started in
 * between, the wall clock tells how long it is ago; a time of the future counts as the present. */
static int64_t age_of(const struct run *run, struct stamp *s, int64_t wall_ms)
{
    if (!wall_ms)
        return 0;
    if (s->wall_ms != wall_ms) {
        int64_t ago_ms = run->in.now_ms > wall_ms ? run->in.now_ms - wall_ms : 0;

        *s = (struct stamp){.wall_ms = wall_ms, .since_ms = (int64_t)run->now_ms - ago_ms};
    }
    return (int64_t)run->now_ms - s->since_ms;
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
    for (int i = 0; i < CLUSTER_CHILDREN; i++)
        see_child(run, (enum cluster_child)i);
    see_pods(run);
    see_ages(run);
    see_credentials(run);
    follow_head(run);
    see_head(run);
    news_observe(run);
}

void observe_trouble(const struct run *run, struct status_trouble *out)
{
    *out = run->e->creds_trouble;
    for (int i = 0; i < CLUSTER_CHILDREN && !out->reason[0]; i++) {
        const struct child_memory *m = &run->e->child[i];
        bool set = i == CLUSTER_HEAD_SET || i == CLUSTER_MEMBER_SET;
        bool refused = m->refused_print[0] &&
                       strcmp(m->refused_print, objects_applied(run->child[i].wanted)) == 0;

        if (!refused && m->failures < APPLY_REPORTED_AFTER)
            continue;
        FREE_AUTO char *name = objects_name(&run->c, (enum cluster_child)i);
        snprintf(out->reason, sizeof(out->reason), "%s",
                 !refused ? "ObjectNotApplied"
                 : set    ? "TemplateRefused"
                          : "ObjectRefused");
        snprintf(out->message, sizeof(out->message), "%s %s %s: %s",
                 objects_kind((enum cluster_child)i), name,
                 refused ? "is refused by the API server" : "cannot be applied", m->message);
    }
}

void observe_release(struct run *run)
{
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        json_decref(run->child[i].observed);
        json_decref(run->child[i].wanted);
    }
    for (size_t i = 0; run->pod_objects && run->pod_objects[i]; i++)
        json_decref(run->pod_objects[i]);
    free(run->pod_objects);
    free(run->pods);
    headlink_view_release(run->view);
}
