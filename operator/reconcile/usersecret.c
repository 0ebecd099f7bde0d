/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks whether the Secret x-user is there.
 *
 * The operator may not watch Secrets. No pod of the cluster waits for this one, so nothing else
 * tells that it was deleted. It is asked for every USERSECRET_PAUSE_MS, or more rarely with many
 * clusters; the server answers from its cache, and with the metadata alone. If it is absent all
 * Secrets are read, and the missing one is created.
 *
 * Failures: any answer but 404 changes nothing until the next look. */
#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/reconcile/reconcile_private.h"

#define METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

bool usersecret_due(struct run *run, size_t clusters)
{
    struct entry *e = run->e;
    uint64_t all_ms = clusters * USERSECRET_STEP_MS;
    uint64_t due_ms =
        e->user_looked_ms + (all_ms > USERSECRET_PAUSE_MS ? all_ms : USERSECRET_PAUSE_MS);

    if (run->c.security.issuer.name) /* cert-manager creates it again */
        return false;
    if (run->now_ms >= due_ms)
        return true;
    queue_add_after(e->r->queue, e->key, (uint64_t)span_ms(run->now_ms, due_ms));
    return false;
}

static void on_looked(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;

    run->request = 0;
    if (status == 404)
        run->on_user_absent(run);
    else
        run->on_action_done(run);
}

void usersecret_look(struct run *run, void (*on_absent)(struct run *run))
{
    FREE_AUTO char *path = xasprintf("/api/v1/namespaces/%s/secrets/%s-user?resourceVersion=0",
                                     run->c.ns, run->c.name);
    struct kube_verb v = {.method = "GET", .path = path, .accept = METADATA};
    struct err err = {0};

    run->e->user_looked_ms = run->now_ms;
    run->on_user_absent = on_absent;
    queue_add_after(run->e->r->queue, run->e->key, USERSECRET_PAUSE_MS);
    run->request = kube_request(run->e->r->o.kube, &v, on_looked, run, &err);
    if (!run->request)
        run->on_action_done(run);
}
