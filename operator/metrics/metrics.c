/* SPDX-License-Identifier: BSD-3-Clause */
/* The plain port of the operator: counters in the text format of Prometheus, health and readiness.
 *
 * In: counts of passes and campaigns, the sizes of each cluster, and at each scrape a sample of
 * values that others own (requests, queue, ages of watches). Out: /metrics, /healthz and /readyz.
 *
 * Invariants: an answer of /healthz shows that the loop runs; a cluster that is deleted has no
 * lines; families have one HELP and one TYPE line each, before their first value.
 *
 * Failures: values of the process are left out where /proc cannot be read. Without readiness
 * /readyz answers 503 with the reason. */
#include "operator/metrics/metrics.h"

#include "operator/metrics/token.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "base/httpd/httpd.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (64u << 20)
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct cluster {
    char *key; /* "namespace/name"; names in Kubernetes need no escapes */
    char *labels;
    struct metrics_cluster sizes;
    UT_hash_handle hh;
};

struct metrics {
    struct metrics_opts opts;
    struct httpd *httpd;
    uint64_t reconciles[2]; /* failed, successful */
    uint64_t reconcile_ms;
    uint64_t campaigns[METRICS_OUTCOMES];
    uint64_t happened[METRICS_HAPPENINGS];
    struct cluster *clusters;
};

static const char *const OUTCOMES[METRICS_OUTCOMES] = {"started", "complete", "cancelled",
                                                       "refused"};
static const char *const CLASSES[6] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};

/* --- the text */

__attribute__((format(printf, 2, 3))) static void put_text(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    FREE_AUTO char *text = xvasprintf(fmt, ap);
    va_end(ap);
    buf_put_raw(b, text, strlen(text));
}

static void put_family(struct buf *b, const char *name, const char *type, const char *help)
{
    put_text(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_single(struct buf *b, const char *name, const char *type, const char *help,
                       uint64_t value)
{
    put_family(b, name, type, help);
    put_text(b, "%s %" PRIu64 "\n", name, value);
}

static void put_reconciles(struct buf *b, const struct metrics *m)
{
    const char *name = "dvm_operator_reconciles_total";

    put_family(b, name, "counter", "Passes over clusters that have ended, by result.");
    put_text(b, "%s{result=\"ok\"} %" PRIu64 "\n", name, m->reconciles[1]);
    put_text(b, "%s{result=\"error\"} %" PRIu64 "\n", name, m->reconciles[0]);
    put_family(b, "dvm_operator_reconcile_seconds", "summary", "Duration of the passes.");
    put_text(b, "dvm_operator_reconcile_seconds_sum %" PRIu64 ".%03u\n", m->reconcile_ms / 1000,
             (unsigned)(m->reconcile_ms % 1000));
    put_text(b, "dvm_operator_reconcile_seconds_count %" PRIu64 "\n",
             m->reconciles[0] + m->reconciles[1]);
}

static void put_kube(struct buf *b, const struct metrics_sample *s)
{
    const char *name = "dvm_operator_kube_requests_total";

    put_family(b, name, "counter",
               "Requests to the API server that have ended, by method and class of status.");
    for (int method = 0; method < KUBE_METHODS; method++) {
        for (int class = 0; class < 6; class ++) {
            if (s->kube.by_class[method][class])
                put_text(b, "%s{method=\"%s\",status=\"%s\"} %lu\n", name,
                         kube_method_name((enum kube_method)method), CLASSES[class],
                         s->kube.by_class[method][class]);
        }
    }
    put_single(b, "dvm_operator_kube_requests_failed_total", "counter",
               "Requests without an answer, or answered 429 or 5xx.", s->kube.failed);
    put_single(b, "dvm_operator_kube_relists_total", "counter",
               "Collections that had to be listed again.", s->kube.relists);
    put_single(b, "dvm_operator_kube_retries_total", "counter",
               "Tries of requests that were repeated.", s->kube.retries);
    put_single(b, "dvm_operator_kube_watches", "gauge", "Watch streams that are open.",
               s->kube.watches_open);
    put_single(b, "dvm_operator_kube_requests_running", "gauge", "Requests that run.",
               s->kube.running);
    put_single(b, "dvm_operator_kube_requests_waiting", "gauge", "Requests that wait their turn.",
               s->kube.waiting);
    put_single(b, "dvm_operator_queue_depth", "gauge", "Clusters that wait for a pass.",
               s->queue_depth);
    put_single(b, "dvm_operator_passes_held_total", "counter",
               "Times that a cluster had its 20 passes of a second and waited for the next one.",
               s->passes_held);
    put_single(b, "dvm_operator_leader", "gauge", "Whether this operator works or waits.",
               s->leads);
}

static void put_times(struct buf *b, const struct kube_time *t, const char *labels)
{
    const char *name = "dvm_operator_kube_request_seconds";
    unsigned long sum = 0;

    for (unsigned i = 0; i < KUBE_BOUNDS; i++) {
        unsigned ms = kube_bound_ms(i);

        sum += t->within[i];
        put_text(b, "%s_bucket{%s,le=\"%u.%03u\"} %lu\n", name, labels, ms / 1000, ms % 1000, sum);
    }
    put_text(b, "%s_bucket{%s,le=\"+Inf\"} %lu\n", name, labels, t->n);
    put_text(b, "%s_sum{%s} %" PRIu64 ".%03u\n", name, labels, t->sum_ms / 1000,
             (unsigned)(t->sum_ms % 1000));
    put_text(b, "%s_count{%s} %lu\n", name, labels, t->n);
}

/* A method and status that did not occur has no lines. */
static void put_all_times(struct buf *b, const struct kube_times *times)
{
    put_family(b, "dvm_operator_kube_request_seconds", "histogram",
               "Duration of each try of a request to the API server, by method and status.");
    for (int method = 0; times && method < KUBE_WATCH; method++) {
        for (unsigned code = 0; code < KUBE_CODES; code++) {
            const struct kube_time *t = &times->of[method][code];
            char labels[64];

            snprintf(labels, sizeof(labels), "method=\"%s\",code=\"%s\"",
                     kube_method_name((enum kube_method)method), kube_code_name(code));
            if (t->n)
                put_times(b, t, labels);
        }
    }
}

static void put_watches(struct buf *b, const struct metrics_sample *s)
{
    const char *name = "dvm_operator_watch_age_seconds";

    put_family(b, name, "gauge",
               "Time since the API server's last sign about a collection: event, bookmark, list.");
    for (size_t i = 0; i < s->nwatches; i++)
        put_text(b, "%s{collection=\"%s\"} %" PRIu64 ".%03u\n", name, s->watches[i].collection,
                 s->watches[i].age_ms / 1000, (unsigned)(s->watches[i].age_ms % 1000));
}

static void put_campaigns(struct buf *b, const struct metrics *m)
{
    const char *name = "dvm_operator_campaigns_total";

    put_family(b, name, "counter", "Campaigns of the operator, by outcome.");
    for (int i = 0; i < METRICS_OUTCOMES; i++)
        put_text(b, "%s{outcome=\"%s\"} %" PRIu64 "\n", name, OUTCOMES[i], m->campaigns[i]);
    put_single(b, "dvm_operator_members_lost_total", "counter", "Members that were lost.",
               m->happened[METRICS_MEMBER_LOST]);
    put_single(b, "dvm_operator_releases_total", "counter",
               "Campaigns of others that are complete: evictions, deletions, tools.",
               m->happened[METRICS_MEMBERS_RELEASED]);
    put_single(b, "dvm_operator_jobs_ended_total", "counter",
               "Jobs that the loss of a daemon or a drain has ended.",
               m->happened[METRICS_JOB_ENDED]);
}

static void put_clusters(struct buf *b, const struct metrics *m)
{
    const char *name = "dvm_operator_cluster_members";
    const struct cluster *c;

    put_family(b, name, "gauge",
               "Members of a cluster: in the spec, worked towards, existing, wired.");
    for (c = m->clusters; c; c = c->hh.next) {
        put_text(b, "%s{%s,kind=\"spec\"} %" PRIu32 "\n", name, c->labels, c->sizes.spec);
        put_text(b, "%s{%s,kind=\"desired\"} %" PRIu32 "\n", name, c->labels, c->sizes.desired);
        put_text(b, "%s{%s,kind=\"current\"} %" PRIu32 "\n", name, c->labels, c->sizes.current);
        put_text(b, "%s{%s,kind=\"ready\"} %" PRIu32 "\n", name, c->labels, c->sizes.ready);
    }
    name = "dvm_operator_cluster_head_up";
    put_family(b, name, "gauge", "Whether the event stream of a cluster's head is open.");
    for (c = m->clusters; c; c = c->hh.next)
        put_text(b, "%s{%s} %d\n", name, c->labels, c->sizes.head_up);
    name = "dvm_operator_cluster_certificate_end_seconds";
    put_family(b, name, "gauge", "When the first certificate of a cluster ends, since 1970.");
    for (c = m->clusters; c; c = c->hh.next) {
        if (c->sizes.certificate_end_s)
            put_text(b, "%s{%s} %" PRId64 "\n", name, c->labels, c->sizes.certificate_end_s);
    }
    put_single(b, "dvm_operator_clusters", "gauge", "Clusters that are known.",
               HASH_COUNT(m->clusters));
}

/* The usual metrics of a process; left out where /proc cannot be read. */
static void put_process(struct buf *b)
{
    char line[256] = "";
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f)
        return;
    const char *second = fgets(line, sizeof(line), f) ? strchr(line, ' ') : NULL;
    fclose(f);
    if (second)
        put_single(b, "process_resident_memory_bytes", "gauge", "Resident memory.",
                   strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE));
}

char *metrics_text(struct metrics *m)
{
    BUF_AUTO struct buf b;
    struct metrics_sample sample = {0};

    buf_init(&b, TEXT_MAX);
    if (m->opts.on_scrape)
        m->opts.on_scrape(&sample, m->opts.arg);
    put_reconciles(&b, m);
    put_kube(&b, &sample);
    put_all_times(&b, sample.times);
    put_watches(&b, &sample);
    put_campaigns(&b, m);
    put_clusters(&b, m);
    put_process(&b);
    buf_put_u8(&b, 0);
    return xstrdup(b.failed ? "" : (const char *)b.data);
}

/* --- the port */

static bool is_admitted(const struct metrics *m, const struct httpd_req *req)
{
    if (!m->opts.local_only || httpd_from_loopback(req))
        return true;
    return m->opts.token_file && token_file_has(m->opts.token_file, httpd_bearer(req));
}

static void get_metrics(struct httpd_req *req, void *arg)
{
    struct metrics *m = arg;

    if (!is_admitted(m, req)) {
        if (m->opts.token_file)
            httpd_refuse(req, 401, "Unauthorized", "/metrics needs its bearer token");
        else
            httpd_refuse(req, 403, "LocalOnly", "/metrics is for callers in the operator's pod");
        return;
    }
    FREE_AUTO char *text = metrics_text(m);
    httpd_reply_text(req, 200, TEXT_TYPE, text);
}

/* An answer shows that the loop runs. */
static void get_healthz(struct httpd_req *req, void *arg)
{
    httpd_reply_text(req, 200, "text/plain", "ok\n");
}

static void get_readyz(struct httpd_req *req, void *arg)
{
    struct metrics *m = arg;
    const char *why = m->opts.not_ready ? m->opts.not_ready(m->opts.arg) : NULL;
    struct metrics_sample s = {0};
    BUF_AUTO struct buf b;

    if (m->opts.on_scrape)
        m->opts.on_scrape(&s, m->opts.arg);
    buf_init(&b, TEXT_MAX);
    put_text(&b, "%s\n", why ? why : "ok");
    for (size_t i = 0; i < s.nwatches; i++)
        put_text(&b, "watch %s: heard %" PRIu64 " s ago\n", s.watches[i].collection,
                 s.watches[i].age_ms / 1000);
    buf_put_u8(&b, 0);
    httpd_reply_text(req, why ? 503 : 200, "text/plain", b.failed ? "" : (const char *)b.data);
}

struct metrics *metrics_create(struct loop *loop, const struct metrics_opts *opts, struct err *err)
{
    if (opts->token_file && token_file_check(opts->token_file, err)) {
        err_wrap(err, "token of /metrics");
        return NULL;
    }
    struct metrics *m = xcalloc(1, sizeof(*m));
    struct httpd_opts o = {.addr = opts->addr,
                           .port = opts->port,
                           .max_body = 1024,
                           .max_conns = 32,
                           .idle_timeout_ms = 60000};

    m->opts = *opts;
    m->opts.addr = NULL;
    m->httpd = httpd_create(loop, &o, err);
    if (!m->httpd) {
        err_wrap(err, "metrics port");
        free(m);
        return NULL;
    }
    httpd_route(m->httpd, "GET", "/metrics", get_metrics, m);
    httpd_route(m->httpd, "GET", "/healthz", get_healthz, m);
    httpd_route(m->httpd, "GET", "/readyz", get_readyz, m);
    return m;
}

static void cluster_free(struct metrics *m, struct cluster *c)
{
    HASH_DEL(m->clusters, c);
    free(c->key);
    free(c->labels);
    free(c);
}

void metrics_clusters_clear(struct metrics *m)
{
    struct cluster *c, *tmp;

    HASH_ITER(hh, m->clusters, c, tmp)
    {
        cluster_free(m, c);
    }
}

void metrics_destroy(struct metrics *m)
{
    if (!m)
        return;
    metrics_clusters_clear(m);
    httpd_destroy(m->httpd);
    free(m);
}

uint16_t metrics_port(const struct metrics *m)
{
    return httpd_port(m->httpd);
}

/* --- counters */

void metrics_reconcile(struct metrics *m, bool ok, uint64_t ms)
{
    m->reconciles[ok]++;
    m->reconcile_ms += ms;
}

void metrics_campaign(struct metrics *m, enum metrics_outcome outcome)
{
    if ((unsigned)outcome < METRICS_OUTCOMES)
        m->campaigns[outcome]++;
}

void metrics_happened(struct metrics *m, enum metrics_happening what)
{
    if ((unsigned)what < METRICS_HAPPENINGS)
        m->happened[what]++;
}

static struct cluster *find_cluster(struct metrics *m, const char *key)
{
    struct cluster *c;

    HASH_FIND_STR(m->clusters, key, c);
    return c;
}

void metrics_cluster_set(struct metrics *m, const char *ns, const char *name,
                         const struct metrics_cluster *sizes)
{
    FREE_AUTO char *key = xasprintf("%s/%s", ns, name);
    struct cluster *c = find_cluster(m, key);

    if (!c) {
        c = xcalloc(1, sizeof(*c));
        c->key = key;
        key = NULL;
        c->labels = xasprintf("namespace=\"%s\",cluster=\"%s\"", ns, name);
        HASH_ADD_KEYPTR(hh, m->clusters, c->key, strlen(c->key), c);
    }
    c->sizes = *sizes;
}

void metrics_cluster_remove(struct metrics *m, const char *ns, const char *name)
{
    FREE_AUTO char *key = xasprintf("%s/%s", ns, name);
    struct cluster *c = find_cluster(m, key);

    if (c)
        cluster_free(m, c);
}
