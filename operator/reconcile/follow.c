/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the link to the head of one cluster.
 *
 * A link is open while the operator has its own certificate, the StatefulSet of the head asks for a
 * pod, and the pod's container runs (or an override says where the head is). Each change that the
 * link reports puts the cluster on the work queue. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/reconcile/reconcile_private.h"

#include <string.h>

static void on_head_change(void *arg)
{
    struct entry *e = arg;

    queue_add(e->r->queue, e->key);
}

static void on_head_event(const struct api_event *event, void *arg)
{
    news_note_event(arg, event);
}

static void on_head_warning(const char *what, const char *why, void *arg)
{
    reconcile_warn(arg, what, "error: %s", why);
}

static const char *override_of(const struct reconciler *r, const struct cluster *c, const char *key)
{
    for (size_t i = 0; i < r->o.noverrides; i++) {
        const struct reconcile_override *o = &r->o.overrides[i];

        if (strcmp(o->name, key) == 0 || strcmp(o->name, c->name) == 0)
            return o->connect;
    }
    return NULL;
}

/* A head whose container does not run cannot answer; one at an override may. */
static bool head_reachable(const struct run *run, const char *connect)
{
    for (size_t i = 0; i < run->in.npods; i++) {
        if (run->in.pods[i].vpid == 0 && run->in.pods[i].running_since_ms)
            return true;
    }
    return connect != NULL;
}

void follow_head(struct run *run)
{
    struct entry *e = run->e;
    const struct plan_child_seen *s = &run->in.child[CLUSTER_HEAD_SET];
    struct err err = {0};
    const char *connect = override_of(e->r, &run->c, e->key);
    bool wanted = e->have_creds && s->exists && s->replicas > 0;

    if (!wanted && e->head) {
        headlink_destroy(e->head);
        e->head = NULL;
        e->rested = true;
    }
    if (!wanted || e->head)
        return;
    if (e->rested) { /* the user may have deleted the Secrets meanwhile to have new ones */
        e->rested = e->creds_complete = false;
        queue_add(e->r->queue, e->key);
    }
    if (!head_reachable(run, connect))
        return;
    FREE_AUTO char *host = xasprintf("%s-head.%s.svc", run->c.name, run->c.ns);
    struct headlink_opts o = {.host = host,
                              .connect = connect,
                              .ca_pem = e->creds.ca_pem,
                              .cert_pem = e->creds.cert_pem,
                              .key_pem = e->creds.key_pem,
                              .http = e->r->http,
                              .gate = e->r->o.gate,
                              .on_change = on_head_change,
                              .on_event = on_head_event,
                              .on_warning = on_head_warning,
                              .arg = e};
    e->head = headlink_create(e->r->o.loop, &o, &err);
    if (!e->head)
        reconcile_warn(e, "cannot connect to the head", "error: %s", err.msg);
}
