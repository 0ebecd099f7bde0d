/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies one object of a cluster.
 *
 * Input: run->action with the child, its replicas and the preconditions. Output: a server-side
 * apply, or a patch of the replicas alone.
 *
 * The steps: the template of a StatefulSet is tried as a pod in a dry run (probe.c); then the
 * object is applied. If the size alone differs it is patched, without a dry run. An object that the
 * cache does not have is applied with the version FIRST_VERSION, which no object has: so it is
 * created, or refused with 409 if it exists. Then it is read, and applied again if this cluster
 * controls it.
 *
 * Invariants: fields are forced only on an object that this cluster controls; uid and
 * resourceVersion are sent along, so the server refuses if the object is another one or has
 * changed.
 *
 * Failures: an object that the cluster does not control is left alone and looked at again later. A
 * refusal (400, 403, 422) stands until the wanted object changes or RECONCILE_RETRY_MS have passed.
 * Other failures are tried again, and shown in the status when they last. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dry run of the same template is not repeated for so long. */
#define PROBE_VALID_MS 60000
/* The resourceVersion by which an apply creates an object and never changes one. */
#define FIRST_VERSION "1"

static struct child_memory *memory_of(struct run *run)
{
    return &run->e->child[run->action->child];
}

static bool is_set(const struct run *run)
{
    return run->action->child == CLUSTER_HEAD_SET || run->action->child == CLUSTER_MEMBER_SET;
}

static const char *meta_text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(json_object_get(o, "metadata"), key));
}

static void send_request(struct run *run, const struct kube_verb *v, kube_done_fn *on_done)
{
    struct err err = {0};

    run->request = kube_request(run->e->r->o.kube, v, on_done, run, &err);
    if (run->request)
        return;
    reconcile_warn(run->e, "request not sent", "error: %s", err.msg);
    run->failed = true;
    run->on_action_done(run);
}

static void on_child_reread(struct run *run, const json_t *object)
{
    run->on_action_done(run);
}

/* The object is another one than the cache has, or a newer one. */
static void reread_child(struct run *run)
{
    FREE_AUTO char *path = objects_path(&run->c, run->action->child);
    FREE_AUTO char *name = objects_name(&run->c, run->action->child);
    struct reread r = {.cache = reconcile_child_cache(run->e->r, run->action->child),
                       .path = path,
                       .name = name,
                       .on_read = on_child_reread};

    reread_object(run, &r);
}

static void note_message(struct child_memory *m, const struct err *err)
{
    free(m->message);
    m->message = xstrdup(err->msg);
}

/* A refusal stands until the wanted object changes or some time has passed: a quota may have been
 * raised. */
static void note_refusal(struct run *run, int status, const struct err *err)
{
    struct child_memory *m = memory_of(run);

    reconcile_warn(run->e, "object refused", "kind=%s status=%d: %s",
                   objects_kind(run->action->child), status, err->msg);
    if (status == 400 || status == 422 ||
        (status == 403 && ++m->forbidden >= APPLY_REPORTED_AFTER)) {
        snprintf(m->refused_print, sizeof(m->refused_print), "%s",
                 run->child[run->action->child].wanted->applied);
        note_message(m, err);
        m->refused_until_ms = loop_now_ms(run->e->r->o.loop) + RECONCILE_RETRY_MS;
        queue_add_after(run->e->r->queue, run->e->key, RECONCILE_RETRY_MS + 1);
    } else { /* may succeed the next time; shown in the status only when it lasts */
        run->failed = true;
        if (status == 409 || status == 404) {
            reread_child(run);
            return;
        }
        if (++m->failures == APPLY_REPORTED_AFTER)
            note_message(m, err);
    }
    run->on_action_done(run);
}

/* A patch of the size leaves what others have changed meanwhile, which the next pass undoes: their
 * generation is not taken for ours. */
static void note_scaled(struct run *run, int64_t generation)
{
    struct child_memory *m = memory_of(run);
    const struct child *before = run->child[run->action->child].observed;

    if (m->generation == before->generation && generation <= before->generation + 1)
        m->generation = generation;
    if (run->in.child[run->action->child].current) /* a refusal was of the size */
        m->refused_print[0] = '\0';
}

static void look_at_existing(struct run *run);

/* True if the apply was to create the object. */
static bool is_creation(const struct run *run)
{
    return !run->action->uid && !run->looked;
}

static void on_applied(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;
    struct child_memory *m = memory_of(run);

    if (status == 409 && is_creation(run)) {
        look_at_existing(run);
        return;
    }
    if (status != 200 && status != 201) {
        note_refusal(run, status, err);
        return;
    }
    const json_t *meta = json_object_get(body, "metadata");
    int64_t generation = json_integer_value(json_object_get(meta, "generation"));
    m->failures = m->forbidden = 0;
    if (run->action->scale_only) {
        note_scaled(run, generation);
    } else {
        m->refused_print[0] = '\0';
        drift_note_applied(m, run->child[run->action->child].wanted, generation,
                           objects_drift_print(body));
    }
    log_info("applied cluster=%s kind=%s name=%s replicas=%d", run->e->key,
             objects_kind(run->action->child), meta_text(body, "name"),
             is_set(run) ? (int)run->action->replicas : -1);
    cache_put(reconcile_child_cache(run->e->r, run->action->child), body);
    run->again = true;
    run->on_action_done(run);
}

/* uid and resourceVersion are sent along: the server refuses if the object is another one or has
 * changed. */
static json_t *apply_body(const struct run *run)
{
    const struct plan_action *a = run->action;
    json_t *body =
        a->scale_only
            ? json_pack("{s:{}, s:{s:i}}", "metadata", "spec", "replicas", (int)a->replicas)
            : wanted_build(&run->c, a->child, a->replicas, run->e->r->o.default_image);
    json_t *meta = json_object_get(body, "metadata"), *spec = json_object_get(body, "spec");
    const char *uid = run->looked ? meta_text(run->looked, "uid") : a->uid;
    const char *version =
        run->looked ? meta_text(run->looked, "resourceVersion") : a->resource_version;

    if (is_set(run) && run->looked) /* the cache did not have it, so its size is kept */
        json_object_set(spec, "replicas",
                        json_object_get(json_object_get(run->looked, "spec"), "replicas"));
    if (uid)
        json_object_set_new(meta, "uid", json_string(uid));
    if (is_creation(run))
        version = FIRST_VERSION;
    if (version)
        json_object_set_new(meta, "resourceVersion", json_string(version));
    return body;
}

/* Force is used only on objects that this cluster controls. */
static void send_apply(struct run *run)
{
    const struct plan_action *a = run->action;
    FREE_AUTO char *path = objects_path(&run->c, a->child);
    bool ours = a->uid || run->looked;
    FREE_AUTO char *url = xasprintf("%s?fieldManager=" CLUSTER_MANAGER "%s", path,
                                    a->scale_only ? ""
                                    : ours        ? "&force=true"
                                                  : "&force=false");
    json_t *body = apply_body(run);
    struct kube_verb v = {.method = "PATCH",
                          .path = url,
                          .body = body,
                          .content_type = a->scale_only ? "application/merge-patch+json"
                                                        : "application/apply-patch+yaml"};

    send_request(run, &v, on_applied);
    json_decref(body);
}

static void on_probed(struct run *run, int status, const struct err *err)
{
    struct err more = {0};

    if (status == 200) {
        send_apply(run);
    } else if (shortage_is_quota(status, err)) { /* as many pods come as the quota allows */
        shortage_note(run, err);
        send_apply(run);
    } else if (status == 400 || status == 403 || status == 422) {
        err_set(&more,
                "%s. If admission refuses dry runs alone, the annotation " CLUSTER_DRY_RUN
                "=skip of the DvmCluster leaves them out.",
                err->msg);
        note_refusal(run, status, &more);
    } else {
        note_refusal(run, status, err);
    }
}

static void on_looked(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;

    if (status != 200) { /* 404: it has been deleted meanwhile */
        note_refusal(run, status, err);
    } else if (objects_controlled(body, &run->c)) {
        run->looked = json_incref((json_t *)body);
        send_apply(run);
    } else {
        reconcile_warn(run->e, "another owner controls the object", "kind=%s name=%s",
                       objects_kind(run->action->child), meta_text(body, "name"));
        memory_of(run)->foreign_until_ms = loop_now_ms(run->e->r->o.loop) + RECONCILE_RETRY_MS;
        memory_of(run)->orphaned = objects_orphaned(body, &run->c);
        run->in.child[run->action->child].foreign = true;
        run->in.child[run->action->child].orphaned = memory_of(run)->orphaned;
        queue_add_after(run->e->r->queue, run->e->key, RECONCILE_RETRY_MS + 1);
        run->on_action_done(run);
    }
}

static void look_at_existing(struct run *run)
{
    FREE_AUTO char *path = objects_path(&run->c, run->action->child);
    struct kube_verb v = {.method = "GET", .path = path};

    send_request(run, &v, on_looked);
}

void apply_child(struct run *run)
{
    json_decref(run->looked);
    run->looked = NULL;
    if (is_set(run) && !run->action->scale_only && !run->c.untried)
        probe_template(run, PROBE_VALID_MS, on_probed);
    else
        send_apply(run);
}
