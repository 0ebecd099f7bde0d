/* SPDX-License-Identifier: BSD-3-Clause */
/* Kubernetes Events, which `kubectl describe` shows. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/model/timestamp.h"
#include "operator/reconcile/reconcile_private.h"

#include <inttypes.h>
#include <unistd.h>

static void on_posted(int status, const json_t *body, const struct err *err, void *arg)
{
    if (status != 201)
        log_warn("an Event could not be posted status=%d: %s", status, err->msg);
}

static json_t *event_of(const struct cluster *c, bool warning, enum reason reason, const char *note)
{
    int64_t now_ms = (int64_t)loop_wall_ms();
    FREE_AUTO char *now = timestamp_s(now_ms);
    FREE_AUTO char *name = xasprintf("%s.%" PRIx64 ".", c->name, (uint64_t)now_ms);
    char host[64] = "";

    gethostname(host, sizeof(host) - 1);
    json_t *about =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "apiVersion", CLUSTER_GROUP "/" CLUSTER_VERSION,
                  "kind", CLUSTER_KIND, "name", c->name, "namespace", c->ns, "uid", c->uid,
                  "resourceVersion", c->resource_version);
    json_t *o =
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "v1", "kind", "Event", "metadata",
                  "generateName", name, "namespace", c->ns, "involvedObject", about);
    json_object_set_new(o, "type", json_string(warning ? "Warning" : "Normal"));
    json_object_set_new(o, "reason", json_string(reason_word(reason)));
    json_object_set_new(o, "message", json_string(note));
    json_object_set_new(o, "source", json_pack("{s:s}", "component", CLUSTER_MANAGER));
    json_object_set_new(o, "firstTimestamp", json_string(now));
    json_object_set_new(o, "lastTimestamp", json_string(now));
    json_object_set_new(o, "count", json_integer(1));
    json_object_set_new(o, "reportingComponent", json_string(CLUSTER_MANAGER));
    json_object_set_new(o, "reportingInstance", json_string(host));
    return o;
}

void announce_event(struct reconciler *r, const struct cluster *c, bool warning, enum reason reason,
                    const char *note)
{
    struct err err = {0};
    FREE_AUTO char *path = xasprintf("/api/v1/namespaces/%s/events", c->ns);
    json_t *body = event_of(c, warning, reason, note);
    struct kube_verb v = {.method = "POST", .path = path, .body = body};

    if (!kube_request(r->o.kube, &v, on_posted, NULL, &err))
        log_warn("an Event could not be posted cluster=%s/%s: %s", c->ns, c->name, err.msg);
    json_decref(body);
}
