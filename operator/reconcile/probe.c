/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the API server, in a dry run, whether it would accept the pods of a template. It accepts a
 * StatefulSet whose pods it would refuse, so the refusal would show only later.
 *
 * In: the wanted StatefulSet of a pass. Out: the server's answer, for each pass that waits for it.
 *
 * One dry run serves all clusters of a namespace that have the same template: passes that come
 * while it runs wait for its answer, and for a time after a success, which the caller gives, no
 * other is made. Names and labels of the clusters differ, so they are not compared.
 *
 * Limits: PROBES_MAX templates are kept, the oldest one makes room. A failure is not kept: it is
 * given to the passes that wait, and the next pass asks again. */
#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define PROBES_MAX 256

struct probe {
    struct reconciler *r;
    char *key;
    unsigned long request; /* 0: it has ended */
    uint64_t passed_ms;    /* the last success, by the loop's clock */
    struct run *waiting;
    UT_hash_handle hh;
};

static void probe_free(struct probe *p)
{
    HASH_DEL(p->r->probes, p);
    free(p->key);
    free(p);
}

/* Namespace, role and the parts of the spec that are in the pod. */
static char *probe_key(const struct run *run)
{
    const struct cluster *c = &run->c;
    const char *image = c->image ? c->image : run->e->r->o.default_image;
    bool head = run->action->child == CLUSTER_HEAD_SET;
    FREE_AUTO char *print = objects_spec_print(c);
    json_t *own = json_pack("{s:O*, s:O*}", "resources", head ? c->head_resources : NULL,
                            "template", head ? c->head_template : NULL);
    FREE_AUTO char *parts = json_dumps(own, JSON_COMPACT | JSON_SORT_KEYS);

    json_decref(own);
    return xasprintf("%s %s %s %s %u %s %s", c->ns, head ? "head" : "member", image, print,
                     head ? c->head_slots : 0, head && c->head_claim ? c->head_claim : "", parts);
}

static void make_room(struct reconciler *r)
{
    struct probe *p, *tmp;

    HASH_ITER(hh, r->probes, p, tmp)
    {
        if (HASH_COUNT(r->probes) < PROBES_MAX)
            return;
        if (!p->request)
            probe_free(p);
    }
}

void probe_leave(struct run *run)
{
    if (run->probe)
        DL_DELETE2(run->probe->waiting, run, probe_prev, probe_next);
    run->probe = NULL;
}

/* A webhook with side effects refuses every dry run (admission plugin "webhook"), so that one says
 * nothing about the template. */
static bool dry_runs_refused(int status, const struct err *err)
{
    return status == 400 && strstr(err->msg, "does not support dry run");
}

static void on_dry_run(int status, const json_t *body, const struct err *err, void *arg)
{
    struct probe *p = arg;
    struct reconciler *r = p->r;
    bool passed = status == 201 || status == 409 ||
                  dry_runs_refused(status, err); /* 409: such a pod exists */

    p->request = 0;
    if (passed)
        p->passed_ms = loop_now_ms(r->o.loop);
    while (p->waiting) {
        struct run *run = p->waiting;

        probe_leave(run);
        run->on_probed(run, passed ? 200 : status, err);
    }
    if (!passed)
        probe_free(p);
}

static int begin_dry_run(struct probe *p, const struct run *run, struct err *err)
{
    FREE_AUTO char *path = xasprintf("/api/v1/namespaces/%s/pods?dryRun=All&fieldValidation=Strict"
                                     "&fieldManager=" CLUSTER_MANAGER,
                                     run->c.ns);
    json_t *set = wanted_build(&run->c, run->action->child, 0, run->e->r->o.default_image);
    json_t *pod = objects_probe_pod(set);
    struct kube_verb v = {.method = "POST", .path = path, .body = pod, .repeatable = true};

    p->request = kube_request(p->r->o.kube, &v, on_dry_run, p, err);
    json_decref(pod);
    json_decref(set);
    return p->request ? 0 : -1;
}

void probe_template(struct run *run, uint64_t valid_ms, probe_fn *on_probed)
{
    struct reconciler *r = run->e->r;
    FREE_AUTO char *key = probe_key(run);
    struct probe *p;
    struct err err = {0};

    HASH_FIND_STR(r->probes, key, p);
    if (p && !p->request && (uint64_t)span_ms(p->passed_ms, loop_now_ms(r->o.loop)) < valid_ms) {
        on_probed(run, 200, &err);
        return;
    }
    if (!p) {
        make_room(r);
        p = xcalloc(1, sizeof(*p));
        p->r = r;
        p->key = xstrdup(key);
        HASH_ADD_KEYPTR(hh, r->probes, p->key, strlen(p->key), p);
    }
    if (!p->request && begin_dry_run(p, run, &err)) {
        probe_free(p);
        on_probed(run, 0, &err);
        return;
    }
    run->on_probed = on_probed;
    run->probe = p;
    DL_APPEND2(p->waiting, run, probe_prev, probe_next);
}

void probes_clear(struct reconciler *r)
{
    struct probe *p, *tmp;

    HASH_ITER(hh, r->probes, p, tmp)
    {
        kube_cancel(r->o.kube, p->request);
        probe_free(p);
    }
}
