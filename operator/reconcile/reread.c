/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an object after the API server has refused a write with 409: the copy in the cache is older
 * than the object. A watch that is silent or late would leave it so, and each further try would be
 * refused too. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdlib.h>

static void finish_reread(struct run *run, const json_t *object)
{
    free_ptr(&run->reread_name);
    run->on_reread(run, object);
}

static void on_read(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;

    run->request = 0;
    if (status == 200)
        cache_put(run->rereading, body);
    else if (status == 404)
        cache_drop(run->rereading, run->c.ns, run->reread_name);
    else
        reconcile_warn(run->e, "object not read again", "error: %s", err->msg);
    finish_reread(run, status == 200 ? body : NULL);
}

void reread_object(struct run *run, const struct reread *r)
{
    struct err err = {0};
    struct kube_verb v = {.method = "GET", .path = r->path};

    run->rereading = r->cache;
    run->on_reread = r->on_read;
    free(run->reread_name);
    run->reread_name = xstrdup(r->name);
    run->request = kube_request(run->e->r->o.kube, &v, on_read, run, &err);
    if (run->request)
        return;
    reconcile_warn(run->e, "object not read again", "error: %s", err.msg);
    finish_reread(run, NULL);
}
