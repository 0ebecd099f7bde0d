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

static void see_child(struct run *run, enum cluster_child child)
{
    struct entry *e = run->e;
    struct child_memory *m = &e->child[child];
    struct plan_child_seen *s = &run->in.child[child];
    FREE_AUTO char *name = objects_name(&run->c, child);
    const char *image = run->c.image ? run->c.image : e->r->o.default_image;

    run->child[child].wanted = objects_build(&run->c, child, 0, image);
    const char *print = objects_applied(run->child[child].wanted);
    s->refused = strcmp(m->refused_print, print) == 0 && run->in.now_ms < m->refused_until_ms;
    s->foreign = run->in.now_ms < m->foreign_until_ms;
    const json_t *o = cache_get(reconcile_child_cache(e->r, child), run->c.ns, name);
    if (!o)
        return;
    run->child[child].observed = json_incref((json_t *)o);
    s->foreign = !objects_controlled(o, &run->c);
    s->exists = !s->foreign;
    s->deleting = get_path(o, "metadata", "deletionTimestamp", NULL) != NULL;
    s->uid = get_text(o, "metadata", "uid", NULL);
    s->resource_version = get_text(o, "metadata", "resourceVersion", NULL);
    s->replicas = (uint32_t)json_integer_value(get_path(o, "spec", "replicas", NULL));
    int64_t generation = json_integer_value(get_path(o, "metadata", "generation", NULL));
    bool same = strcmp(objects_applied(o), print) == 0;
    if (same && !m->generation)
        m->generation = generation;
    s->current = same && m->generation == generation;
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

static bool condition_true(const json_t *pod, const char *type)
{
    const json_t *list = get_path(pod, "status", "conditions", NULL), *c;
    size_t i;

    json_array_foreach((json_t *)list, i, c)
    {
        const char *t = json_string_value(json_object_get(c, "type"));
        const char *s = json_string_value(json_object_get(c, "status"));

        if (t && s && strcmp(t, type) == 0)
            return strcmp(s, "True") == 0;
    }
    return false;
}

static bool see_pod(struct run *run, const json_t *pod, struct plan_pod *out)
{
    const char *role = get_text(pod, "metadata", "labels", CLUSTER_LABEL_ROLE);
    const char *name = get_text(pod, "metadata", "name", NULL);
    const char *dash = name ? strrchr(name, '-') : NULL;

    if (!role || !dash)
        return false;
    bool head = strcmp(role, "head") == 0;
    const json_t *status = daemon_status(pod);
    const json_t *waiting = get_path(status, "state", "waiting", NULL);
    const char *started = get_text(status, "state", "running", "startedAt");
    *out =
        (struct plan_pod){.name = name,
                          .uid = get_text(pod, "metadata", "uid", NULL),
                          .vpid = head ? 0 : (uint32_t)strtoul(dash + 1, NULL, 10),
                          .deleting = get_path(pod, "metadata", "deletionTimestamp", NULL) != NULL,
                          .ready = condition_true(pod, "Ready"),
                          .waiting = json_string_value(json_object_get(waiting, "reason")),
                          .message = json_string_value(json_object_get(waiting, "message")),
                          .image = daemon_image(pod)};
    out->outdated =
        pod_outdated(pod, run->child[head ? CLUSTER_HEAD_SET : CLUSTER_MEMBER_SET].observed);
    if (started && timestamp_parse(started, &out->running_since_ms))
        out->running_since_ms = 1;
    return head || out->vpid > 0;
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
        i += see_pod(run, p->object, &run->pods[i]);
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
    bool early = run->in.now_ms < run->e->known_since_ms + HEADLINK_PATIENCE_MS;

    *h = (struct plan_head){.link = early ? PLAN_LINK_CONNECTING : PLAN_LINK_DOWN,
                            .down_since_ms = run->e->known_since_ms};
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
    bool stale = run->in.now_ms >= e->creds_checked_ms + RECONCILE_RETRY_MS;
    run->in.credentials = e->creds_complete && !(run->pending && stale);
}

void observe_cluster(struct run *run)
{
    run->in.cluster = &run->c;
    run->in.now_ms = (int64_t)loop_wall_ms();
    run->in.answer = &run->e->answer;
    run->in.size_refused = run->e->size_refused;
    for (int i = 0; i < CLUSTER_CHILDREN; i++)
        see_child(run, (enum cluster_child)i);
    see_pods(run);
    see_credentials(run);
    follow_head(run);
    see_head(run);
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
