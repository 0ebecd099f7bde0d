/* SPDX-License-Identifier: BSD-3-Clause */
/* Kubernetes Events, which `kubectl describe` shows. The same Event again counts the object up;
 * tally.c decides. The object is applied: a count-up whose object is lost creates it.
 * Warnings about a cluster in the log: the same one once in LOG_LIMIT_MS, with a count. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/span/span.h"
#include "operator/model/timestamp.h"
#include "operator/reconcile/reconcile_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#define NOT_WRITTEN "an Event could not be written"

/* An Event that is being written. */
struct event_write {
    struct reconciler *r;
    char *key;
    unsigned long request;
    struct event_write *prev, *next;
};

static void drop_write(struct event_write *w)
{
    DL_DELETE(w->r->event_writes, w);
    free(w->key);
    free(w);
}

static void on_written(int status, const json_t *body, const struct err *err, void *arg)
{
    struct event_write *w = arg;
    struct entry *e;

    HASH_FIND_STR(w->r->entries, w->key, e);
    if (e && status != 200 && status != 201)
        reconcile_warn(e, NOT_WRITTEN, "status=%d: %s", status, err->msg);
    drop_write(w);
}

void announce_cancel(struct reconciler *r)
{
    while (r->event_writes) {
        kube_cancel(r->o.kube, r->event_writes->request);
        drop_write(r->event_writes);
    }
}

static json_t *reference_to(const struct cluster *c)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "apiVersion", CLUSTER_GROUP "/" CLUSTER_VERSION,
                     "kind", CLUSTER_KIND, "name", c->name, "namespace", c->ns, "uid", c->uid);
}

struct announcement {
    const char *name;
    bool warning;
    enum reason reason;
    const char *note;
    struct tally_write write;
};

static json_t *event_of(const struct cluster *c, const struct announcement *a)
{
    int64_t now_ms = (int64_t)loop_wall_ms();
    FREE_AUTO char *first = timestamp_s(span_ms(a->write.age_ms, now_ms));
    FREE_AUTO char *last = timestamp_s(now_ms);
    FREE_AUTO char *text =
        xasprintf("%s%s", a->write.similar ? "(with similar Events) " : "", a->note);
    char host[64] = "";

    gethostname(host, sizeof(host) - 1);
    json_t *o =
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "v1", "kind", "Event", "metadata",
                  "name", a->name, "namespace", c->ns, "involvedObject", reference_to(c));
    json_object_set_new(o, "type", json_string(a->warning ? "Warning" : "Normal"));
    json_object_set_new(o, "reason", json_string(reason_word(a->reason)));
    json_object_set_new(o, "message", json_string(text));
    json_object_set_new(o, "source", json_pack("{s:s}", "component", CLUSTER_MANAGER));
    json_object_set_new(o, "firstTimestamp", json_string(first));
    json_object_set_new(o, "lastTimestamp", json_string(last));
    json_object_set_new(o, "count", json_integer((json_int_t)a->write.count));
    json_object_set_new(o, "reportingComponent", json_string(CLUSTER_MANAGER));
    json_object_set_new(o, "reportingInstance", json_string(host));
    return o;
}

static void write_event(struct entry *e, const struct cluster *c, const struct announcement *a)
{
    struct err err = {0};
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/events/%s?fieldManager=" CLUSTER_MANAGER "&force=true",
                  c->ns, a->name);
    json_t *body = event_of(c, a);
    struct kube_verb v = {.method = "PATCH",
                          .path = path,
                          .content_type = "application/apply-patch+yaml",
                          .body = body};

    struct event_write *w = xcalloc(1, sizeof(*w));
    w->r = e->r;
    w->key = xstrdup(e->key);
    DL_APPEND(e->r->event_writes, w);
    w->request = kube_request(e->r->o.kube, &v, on_written, w, &err);
    if (!w->request) {
        reconcile_warn(e, NOT_WRITTEN, "error: %s", err.msg);
        drop_write(w);
    }
    json_decref(body);
}

void announce_event(const struct run *run, bool warning, enum reason reason, const char *note)
{
    struct entry *e = run->e;
    struct announcement a = {.warning = warning, .reason = reason, .note = note};

    if (!e->tally)
        e->events_begin = loop_wall_ms() << 16;
    if (!tally_take(&e->tally, reason, note, loop_now_ms(e->r->o.loop), &a.write))
        return;
    FREE_AUTO char *name = xasprintf("%s.%" PRIx64, run->c.name, e->events_begin + a.write.serial);
    a.name = name;
    write_event(e, &run->c, &a);
}

void reconcile_warn(struct entry *e, const char *what, const char *fmt, ...)
{
    unsigned long left_out;
    char detail[ERR_MSG_MAX + 256];
    va_list ap;

    if (!e->warnings)
        e->warnings = xcalloc(1, sizeof(*e->warnings));
    if (!log_limit_take(e->warnings, what, loop_now_ms(e->r->o.loop), &left_out))
        return;
    va_start(ap, fmt);
    vsnprintf(detail, sizeof(detail), fmt, ap);
    va_end(ap);
    if (left_out)
        log_warn("%s cluster=%s left_out=%lu %s", what, e->key, left_out, detail);
    else
        log_warn("%s cluster=%s %s", what, e->key, detail);
}
