/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the objects that the operator reads from the API server: the input is one of any
 * kind. Each decoder gets it; of an accepted DvmCluster all objects, a plan and a status are made.
 */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/lease/election.h"
#include "operator/model/policy.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdlib.h>

#define NOW_MS 1700000000000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct reconciler reconciler;

static void must_have_reason(const struct err *err)
{
    if (!err->msg[0])
        abort();
}

static void on_event(bool warning, enum reason reason, const char *note, void *arg)
{
    if (!*note)
        abort();
}

/* The object of each kind, and the pod of a StatefulSet. */
static void build_objects(const struct cluster *c)
{
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        json_t *o = objects_build(c, (enum cluster_child)i, 3, "image");

        if (!objects_controlled(o, c) || !*objects_applied(o))
            abort();
        if (i == CLUSTER_HEAD_SET || i == CLUSTER_MEMBER_SET)
            json_decref(objects_probe_pod(o));
        child_drop(child_keep(o, NULL, NULL), NULL);
        json_decref(o);
    }
}

static void use_cluster(const struct cluster *c, const json_t *before)
{
    const struct plan_input in = {.cluster = c, .now_ms = NOW_MS};
    PLAN_AUTO struct plan *plan = plan_make(&in);
    json_t *status = status_build(&in, plan, NULL);
    FREE_AUTO char *identity = cluster_identity(c);

    if (!*identity)
        abort();
    status_events(before, status, on_event, NULL);
    json_decref(status);
    build_objects(c);
}

static void check_cluster(const json_t *o)
{
    struct cluster c = {0};
    struct err err = {0}, why = {0};
    const json_t *status = json_object_get(o, "status");

    if (cluster_decode(o, &c, &err)) {
        must_have_reason(&err);
        if (cluster_decode_meta(o, &c, &why))
            must_have_reason(&why);
        else
            json_decref(status_unreadable(&c, status, err.msg, NOW_MS));
        cluster_free(&c);
        return;
    }
    if (cluster_decode_spec(o, &c, &err) || policy_check(c.template, "spec.template", &err) ||
        policy_check(c.head_template, "spec.head.template", &err)) {
        must_have_reason(&err);
        json_decref(status_invalid(&c, status, err.msg, NOW_MS));
    }
    use_cluster(&c, status);
    cluster_free(&c);
}

static void check_kept(const json_t *o)
{
    struct child *child = child_keep(o, NULL, NULL);
    struct pod *pod = pod_keep(o, NULL, &reconciler);
    struct plan_pod seen;

    if (child)
        (void)child_cluster(child);
    if (pod) {
        pod_read(pod, &seen);
        (void)pod_container_end(pod, NOW_MS);
        pod_unref(pod);
    }
    child_drop(child, NULL);
    free(credentials_text(o, "tls.crt"));
}

static void check_lease(const json_t *o)
{
    struct election e = {.identity = "a", .duration_s = 15, .deadline_ms = 10000};

    election_saw(&e, o, 1000);
    election_saw(&e, o, 20000);
    if (election_next(&e, 20000) != ELECTION_WAIT)
        json_decref(election_claim(&e, "lease", NOW_MS));
    election_clear(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *o = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);

    if (!json_is_object(o)) {
        json_decref(o);
        return 0;
    }
    check_cluster(o);
    check_kept(o);
    check_lease(o);
    json_decref(o);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct err err = {0};

    loop = loop_create(&err);
    if (!loop)
        abort();
    log_init("fuzz", LOG_LEVEL_ERROR);
    reconciler.o.loop = loop;
    return 0;
}
