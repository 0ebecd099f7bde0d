/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconciler: brings every DvmCluster to its spec, in passes.
 *
 * Input: changes in the caches of DvmClusters, pods, StatefulSets, Services and budgets, and
 * changes at the heads. Each puts the key of its cluster on the work queue. Output: the actions of
 * a plan, the status, Events, metrics.
 *
 * A pass over one cluster (struct run): decode, observe, plan, carry out the actions one after the
 * other, write the status. At most one pass runs for a cluster.
 *
 * Invariants: the status is written with the resourceVersion that the plan was made from, so an
 * outdated plan cannot be recorded. An entry lives as long as its cluster or one of its pods
 * exists.
 *
 * Failures: a pass that fails is repeated with back-off. A spec that cannot be decoded changes
 * nothing but the condition Progressing. */
#include "operator/reconcile/reconcile.h"

#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/span/span.h"
#include "operator/model/policy.h"
#include "operator/reconcile/reconcile_private.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void entry_reset(struct entry *e, const char *uid)
{
    headlink_destroy(e->head);
    news_clear(&e->news);
    tally_destroy(e->tally);
    e->tally = NULL;
    credentials_clear(&e->creds);
    credentials_progress_destroy(e->creds_progress);
    e->creds_progress = NULL;
    e->creds_failures = 0;
    free(e->uid);
    e->head = NULL;
    e->uid = xstrdup(uid);
    e->have_creds = e->creds_complete = e->rested = false;
    e->known_since_ms = (int64_t)loop_wall_ms();
    e->known_ms = loop_now_ms(e->r->o.loop);
    e->recorded = e->accepted = e->applied = (struct stamp){0};
    e->creds_checked_ms = 0;
    e->size_refused = 0;
    e->status_ms = 0;
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        free(e->child[i].message);
        shortage_clear(&e->child[i].shortage);
    }
    memset(e->child, 0, sizeof(e->child));
    memset(&e->wanted, 0, sizeof(e->wanted));
    memset(&e->creds_trouble, 0, sizeof(e->creds_trouble));
    memset(&e->answer, 0, sizeof(e->answer));
    e->starved = (struct pause){0};
}

static struct entry *entry_get(struct reconciler *r, const char *key)
{
    struct entry *e;

    HASH_FIND_STR(r->entries, key, e);
    if (e)
        return e;
    e = xcalloc(1, sizeof(*e));
    e->key = xstrdup(key);
    e->r = r;
    entry_reset(e, "");
    HASH_ADD_KEYPTR(hh, r->entries, e->key, strlen(e->key), e);
    return e;
}

static void run_free(struct run *run)
{
    probe_leave(run);
    observe_release(run);
    plan_destroy(run->plan);
    news_release(&run->in.news);
    cluster_free(&run->c);
    json_decref(run->object);
    json_decref(run->looked);
    json_decref(run->status);
    free(run->reread_name);
    free(run);
}

static void link_pod(struct entry *e, struct pod *p)
{
    p->e = e;
    DL_APPEND(e->pods, p);
}

/* The cache drops the pod: it leaves the list of its cluster, which is planned for. */
static void drop_pod(void *kept, void *arg)
{
    struct pod *p = kept;
    struct entry *e = p->e;

    if (e) {
        DL_DELETE(e->pods, p);
        p->e = NULL;
        if (e->r->started)
            queue_add(e->r->queue, e->key);
    }
    pod_unref(p);
}

static void entry_free(struct entry *e)
{
    struct pod *p, *tmp;

    DL_FOREACH_SAFE(e->pods, p, tmp)
    {
        DL_DELETE(e->pods, p);
        p->e = NULL;
    }
    if (e->run) {
        kube_cancel(e->r->o.kube, e->run->request);
        credentials_cancel(e->run->creds);
        issuer_cancel(e->run->issuer);
        run_free(e->run);
    }
    HASH_DEL(e->r->entries, e);
    entry_reset(e, "");
    free(e->warnings);
    free(e->uid);
    free(e->key);
    free(e);
}

/* --- one pass ----------------------------------------------------------------------------------
 */

/* An object that another owner has, or that the server has refused, is tried again even if another
 * pass has replaced the one that was to do it. */
static void retry_children(const struct run *run)
{
    uint64_t now_ms = loop_now_ms(run->e->r->o.loop);

    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        const struct child_memory *m = &run->e->child[i];
        uint64_t until =
            m->foreign_until_ms > m->refused_until_ms ? m->foreign_until_ms : m->refused_until_ms;

        if (until > now_ms)
            queue_add_after(run->e->r->queue, run->e->key, span_ms(now_ms, until) + 1);
    }
}

static void on_trim(void *arg)
{
    struct reconciler *r = arg;

    r->trimming = false;
    tls_bundle_forget();
    malloc_trim(0);
}

static void trim_later(struct reconciler *r)
{
    if (r->trimming)
        return;
    r->trimming = true;
    loop_timer_arm(r->trim, RECONCILE_TRIM_MS);
}

static void run_end(struct run *run)
{
    struct entry *e = run->e;
    struct reconciler *r = e->r;
    bool ok = !run->failed;

    if (run->plan && run->plan->again_ms)
        queue_add_after(r->queue, e->key, (uint64_t)run->plan->again_ms);
    if (run->pending)
        queue_add_after(r->queue, e->key, RECONCILE_RETRY_MS);
    retry_children(run);
    if (run->again && ok)
        queue_add(r->queue, e->key);
    if (r->metrics)
        metrics_reconcile(r->metrics, ok, span_ms(run->begun_ms, loop_now_ms(r->o.loop)));
    e->run = NULL;
    run_free(run);
    trim_later(r);
    queue_done(r->queue, e->key, ok);
}

static void count_event(struct metrics *m, enum reason reason)
{
    switch (reason) {
    case REASON_SHRINK_RECORDED:
        metrics_campaign(m, METRICS_CAMPAIGN_STARTED);
        break;
    case REASON_SHRINK_COMPLETE:
        metrics_campaign(m, METRICS_CAMPAIGN_COMPLETE);
        break;
    case REASON_SHRINK_CANCELLED:
        metrics_campaign(m, METRICS_CAMPAIGN_CANCELLED);
        break;
    case REASON_SHRINK_REJECTED:
        metrics_campaign(m, METRICS_CAMPAIGN_REFUSED);
        break;
    case REASON_MEMBER_LOST:
        metrics_happened(m, METRICS_MEMBER_LOST);
        break;
    case REASON_MEMBERS_RELEASED:
        metrics_happened(m, METRICS_MEMBERS_RELEASED);
        break;
    case REASON_JOB_ENDED:
        metrics_happened(m, METRICS_JOB_ENDED);
        break;
    default:
        break;
    }
}

static void on_status_event(bool warning, enum reason reason, const char *note, void *arg)
{
    struct run *run = arg;
    struct reconciler *r = run->e->r;

    log_info("event cluster=%s reason=%s: %s", run->e->key, reason_word(reason), note);
    if (r->metrics)
        count_event(r->metrics, reason);
    announce_event(run, warning, reason, note);
}

static void status_is_written(struct run *run)
{
    news_written(&run->e->news, &run->in.news);
    status_events(json_object_get(run->object, "status"), run->status, on_status_event, run);
    run->again = true;
}

/* The version was old. If the object has the status already, the answer to an earlier try was lost;
 * otherwise the next plan starts from what was read. */
static void on_status_reread(struct run *run, const json_t *object)
{
    if (object && json_equal(json_object_get(object, "status"), run->status))
        status_is_written(run);
    else
        run->failed = true;
    run_end(run);
}

static void reread_cluster(struct run *run)
{
    FREE_AUTO char *path =
        xasprintf("/apis/" CLUSTER_GROUP "/" CLUSTER_VERSION "/namespaces/%s/dvmclusters/%s",
                  run->c.ns, run->c.name);
    struct reread r = {.cache = run->e->r->cache[CACHE_CLUSTERS],
                       .path = path,
                       .name = run->c.name,
                       .on_read = on_status_reread};

    reread_object(run, &r);
}

static void on_status_written(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;

    if (status == 409) {
        log_info("status not written, its version is old cluster=%s", run->e->key);
        reread_cluster(run);
        return;
    }
    if (status == 200) {
        cache_put(run->e->r->cache[CACHE_CLUSTERS], body);
        status_is_written(run);
    } else if (status != 404) {
        run->failed = true;
        reconcile_warn(run->e, "status not written", "status=%d: %s", status, err->msg);
    }
    run_end(run);
}

/* Writes the whole object with the resourceVersion that the plan was made from, so an outdated plan
 * is refused. */
static void write_status(struct run *run)
{
    struct err err = {0};
    const json_t *old = json_object_get(run->object, "status");
    uint64_t next_ms = run->e->status_ms + RECONCILE_STATUS_MS,
             now_ms = loop_now_ms(run->e->r->o.loop);

    if (json_equal(run->status, old)) {
        run_end(run);
        return;
    }
    if (now_ms < next_ms && status_differs_slightly(old, run->status)) {
        queue_add_after(run->e->r->queue, run->e->key, span_ms(now_ms, next_ms));
        run_end(run);
        return;
    }
    run->e->status_ms = now_ms;
    json_t *body = json_copy(run->object);
    json_object_set(body, "status", run->status);
    FREE_AUTO char *path =
        xasprintf("/apis/" CLUSTER_GROUP "/" CLUSTER_VERSION "/namespaces/%s/dvmclusters/%s/status"
                  "?fieldManager=" CLUSTER_MANAGER,
                  run->c.ns, run->c.name);
    struct kube_verb v = {.method = "PUT", .path = path, .body = body};
    run->request = kube_request(run->e->r->o.kube, &v, on_status_written, run, &err);
    json_decref(body);
    if (run->request)
        return;
    reconcile_warn(run->e, "status not written", "error: %s", err.msg);
    run->failed = true;
    run_end(run);
}

static int64_t certificate_end_s(const struct entry *e)
{
    return e->have_creds && e->creds.end_ms < INT64_MAX ? e->creds.end_ms / 1000 : 0;
}

static void measure_run(const struct run *run)
{
    struct metrics *m = run->e->r->metrics;

    if (!m)
        return;
    const json_t *s = run->status;
    struct metrics_cluster sizes = {
        .spec = run->c.replicas,
        .desired = run->plan->target,
        .current = (uint32_t)json_integer_value(json_object_get(s, "replicas")),
        .ready = (uint32_t)json_integer_value(json_object_get(s, "readyReplicas")),
        .head_up = run->in.head.link == PLAN_LINK_UP,
        .certificate_end_s = certificate_end_s(run->e)};
    metrics_cluster_set(m, run->c.ns, run->c.name, &sizes);
}

static void finish_run(struct run *run)
{
    struct status_trouble trouble;

    if (run->overtaken && !run->failed) { /* a status would be one more request for each cluster */
        run_end(run);
        return;
    }
    observe_trouble(run, &trouble);
    run->status = status_build(&run->in, run->plan, &trouble);
    measure_run(run);
    write_status(run);
}

static void finish_action(struct run *run)
{
    run->request = 0;
    if (run->next == run->plan->n) {
        finish_run(run);
        return;
    }
    run->action = &run->plan->actions[run->next++];
    log_debug("action cluster=%s verb=%s", run->e->key, plan_verb_name(run->action->verb));
    act_begin(run);
}

/* A status that the operator has not written so, or that was edited: without the record in it no
 * step is safe. */
static void report_unreadable(struct run *run, const json_t *object, const char *why)
{
    struct err err = {0};

    if (cluster_decode_meta(object, &run->c, &err)) {
        reconcile_warn(run->e, "cannot decode the DvmCluster", "error: %s", err.msg);
        run_end(run);
        return;
    }
    if (run->c.deleting) {
        run_end(run);
        return;
    }
    reconcile_warn(run->e, "unreadable status", "error: %s", why);
    run->status =
        status_unreadable(&run->c, json_object_get(object, "status"), why, (int64_t)loop_wall_ms());
    write_status(run);
}

static int check_template(const json_t *template, const char *path, bool restricted,
                          struct err *err)
{
    if (policy_check_always(template, path, err))
        return -1;
    return restricted ? policy_check(template, path, err) : 0;
}

/* Decodes the spec, and checks it against what the administrator allows. */
static int decode_allowed(struct run *run, const json_t *object, struct err *err)
{
    static const struct issuers usual = {.n = 0};
    const struct reconciler_opts *o = &run->e->r->o;

    if (cluster_decode_spec(object, &run->c, err) ||
        check_template(run->c.template, "spec.template", o->restricted, err) ||
        check_template(run->c.head_template, "spec.head.template", o->restricted, err))
        return -1;
    return issuers_check(o->issuers ? o->issuers : &usual, &run->c.security.issuer, err);
}

/* Takes `object`. */
static void run_begin(struct entry *e, json_t *object)
{
    struct err err = {0};
    struct run *run = xcalloc(1, sizeof(*run));

    e->run = run;
    run->e = e;
    run->object = object;
    run->on_action_done = finish_action;
    run->begun_ms = loop_now_ms(e->r->o.loop);
    if (cluster_decode(object, &run->c, &err)) {
        report_unreadable(run, object, err.msg);
        return;
    }
    if (strcmp(e->uid, run->c.uid) != 0)
        entry_reset(e, run->c.uid);
    if (run->c.deleting) {
        entry_reset(e, run->c.uid);
        run_end(run);
    } else if (decode_allowed(run, object, &err)) {
        reconcile_warn(e, "invalid spec", "error: %s", err.msg);
        run->status = status_invalid(&run->c, json_object_get(object, "status"), err.msg,
                                     (int64_t)loop_wall_ms());
        write_status(run);
    } else if (run->c.foreign) {
        run_end(run);
    } else {
        observe_cluster(run);
        run->plan = plan_make(&run->in);
        finish_action(run);
    }
}

static void on_work(const char *key, void *arg)
{
    struct reconciler *r = arg;
    char ns[API_NAME_MAX + 1];
    const char *slash = strchr(key, '/');

    snprintf(ns, sizeof(ns), "%.*s", (int)(slash - key), key);
    const char *text = cache_get(r->cache[CACHE_CLUSTERS], ns, slash + 1);
    json_t *object = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    struct entry *e = entry_get(r, key);
    if (object) {
        run_begin(e, object);
        return;
    }
    if (r->metrics)
        metrics_cluster_remove(r->metrics, ns, slash + 1);
    if (e->pods)
        entry_reset(e, "");
    else
        entry_free(e);
    FREE_AUTO char *removed = xstrdup(key);
    queue_done(r->queue, removed, true);
    queue_forget(r->queue, removed);
}

/* --- caches ------------------------------------------------------------------------------------
 */

/* A DvmCluster is kept as text, a fifth of its tree's size; a pass decodes it. */
static void *keep_cluster(const json_t *object, const void *before, void *arg)
{
    return json_dumps(object, JSON_COMPACT);
}

static void drop_cluster(void *kept, void *arg)
{
    free(kept);
}

static void add_cluster(const char *key, const void *kept, void *arg)
{
    struct reconciler *r = arg;

    queue_add(r->queue, key);
}

static void on_cluster(const char *key, const void *kept, bool deleted, void *arg)
{
    struct reconciler *r = arg;

    if (r->started)
        queue_add(r->queue, key);
}

/* The key of the object `name` in the namespace of another key. */
static char *key_beside(const char *key, const char *name, size_t len)
{
    return xasprintf("%.*s/%.*s", (int)(strchr(key, '/') - key), key, (int)len, name);
}

static void on_child(const char *key, const void *kept, bool deleted, void *arg)
{
    struct reconciler *r = arg;
    const char *cluster = child_cluster(kept);

    if (!r->started || !cluster)
        return;
    FREE_AUTO char *whose = key_beside(key, cluster, strlen(cluster));
    queue_add(r->queue, whose);
}

/* The head's pod has changed: the head may be reachable now, so the back-off is reset. */
static void poke_head(struct entry *e, const struct pod *p)
{
    if (e->head && p->head)
        dvm_client_poke(headlink_client(e->head));
}

/* The cluster of a pod, by the name of the StatefulSet that controls it. A pod without one is a pod
 * of its own, whatever its labels are; or its owner was deleted with --cascade=orphan. */
static void on_pod(const char *key, const void *kept, bool deleted, void *arg)
{
    struct reconciler *r = arg;
    struct pod *p = (struct pod *)(uintptr_t)kept;
    const char *set = pod_text(p, POD_SET);
    size_t len = set ? strlen(set) : 0;

    if (!set)
        return;
    if (len > 5 && strcmp(set + len - 5, "-head") == 0) /* no cluster has such a name */
        len -= 5;
    FREE_AUTO char *whose = key_beside(key, set, len);
    struct entry *e = entry_get(r, whose);
    if (!deleted)
        link_pod(e, p);
    poke_head(e, p);
    if (r->started)
        queue_add(r->queue, whose);
}

bool reconciler_synced(const struct reconciler *r)
{
    for (int i = 0; i < CACHES; i++) {
        if (!r->cache[i] || !cache_synced(r->cache[i]))
            return false;
    }
    return true;
}

static void on_synced(void *arg)
{
    struct reconciler *r = arg;

    if (r->started || !reconciler_synced(r))
        return;
    r->started = true;
    log_info("caches are filled clusters=%zu pods=%zu", cache_count(r->cache[CACHE_CLUSTERS]),
             cache_count(r->cache[CACHE_PODS]));
    cache_each(r->cache[CACHE_CLUSTERS], add_cluster, r);
    if (r->o.on_synced)
        r->o.on_synced(r->o.arg);
}

/* The collections that are watched. */
static const struct {
    const char *group;
    const char *plural;
    const char *selector;
    bool metadata_only;
    void *(*keep)(const json_t *, const void *, void *);
    void (*drop)(void *, void *);
    void (*on_change)(const char *, const void *, bool, void *);
} COLLECTIONS[CACHES] = {
    [CACHE_CLUSTERS] = {"apis/" CLUSTER_GROUP "/" CLUSTER_VERSION, "dvmclusters", NULL, false,
                        keep_cluster, drop_cluster, on_cluster},
    [CACHE_PODS] = {"api/v1", "pods", CLUSTER_LABEL_NAME, false, pod_keep, drop_pod, on_pod},
    [CACHE_SETS] = {"apis/apps/v1", "statefulsets", CLUSTER_LABEL_NAME, false, child_keep,
                    child_drop, on_child},
    [CACHE_SERVICES] = {"api/v1", "services", CLUSTER_LABEL_NAME, false, child_keep, child_drop,
                        on_child},
    [CACHE_BUDGETS] = {"apis/policy/v1", "poddisruptionbudgets", CLUSTER_LABEL_NAME, true,
                       child_keep, child_drop, on_child},
};

static int open_cache(struct reconciler *r, int which, struct err *err)
{
    const char *group = COLLECTIONS[which].group, *plural = COLLECTIONS[which].plural;
    FREE_AUTO char *path = r->o.ns ? xasprintf("/%s/namespaces/%s/%s", group, r->o.ns, plural)
                                   : xasprintf("/%s/%s", group, plural);
    struct cache_opts o = {.path = path,
                           .label_selector = COLLECTIONS[which].selector,
                           .metadata_only = COLLECTIONS[which].metadata_only,
                           .keep = COLLECTIONS[which].keep,
                           .drop = COLLECTIONS[which].drop,
                           .on_change = COLLECTIONS[which].on_change,
                           .on_synced = on_synced,
                           .silence_ms = r->o.watch_silence_ms,
                           .arg = r};

    r->cache[which] = cache_create(r->o.loop, r->o.kube, &o, err);
    return r->cache[which] ? 0 : err_wrap(err, "watching %s", plural);
}

void reconciler_watches(const struct reconciler *r, struct metrics_sample *out)
{
    out->nwatches = CACHES;
    for (int i = 0; i < CACHES; i++) {
        uint64_t age_ms = cache_age_ms(r->cache[i]);

        out->watches[i].collection = COLLECTIONS[i].plural;
        if (age_ms > out->watches[i].age_ms)
            out->watches[i].age_ms = age_ms;
    }
}

const char *reconciler_deaf(const struct reconciler *r)
{
    for (int i = 0; i < CACHES; i++) {
        if (cache_age_ms(r->cache[i]) > cache_age_max_ms(r->cache[i]))
            return COLLECTIONS[i].plural;
    }
    return NULL;
}

/* --- the slow resync ---------------------------------------------------------------------------
 */

static uint32_t draw_number(uint32_t bound)
{
    return backoff_dice() % bound;
}

static void resync_cluster(const char *key, const void *kept, void *arg)
{
    struct reconciler *r = arg;

    queue_add_after(r->queue, key, draw_number(RECONCILE_RESYNC_SPREAD_MS));
}

/* Plans for each cluster even if nothing has changed. A pass without a difference sends no
 * request. */
static void on_resync(void *arg)
{
    struct reconciler *r = arg;

    if (r->started)
        cache_each(r->cache[CACHE_CLUSTERS], resync_cluster, r);
    loop_timer_arm(r->resync, RECONCILE_RESYNC_MS + draw_number(RECONCILE_RESYNC_MS / 5));
}

struct reconciler *reconciler_create(const struct reconciler_opts *o, struct err *err)
{
    struct reconciler *r = xcalloc(1, sizeof(*r));

    r->o = *o;
    r->queue = queue_create(o->loop, on_work, r);
    r->resync = loop_timer_create(o->loop, on_resync, r);
    loop_timer_arm(r->resync, RECONCILE_RESYNC_MS);
    r->trim = loop_timer_create(o->loop, on_trim, r);
    r->http = http_create(o->loop, err);
    if (!r->http)
        goto error;
    for (int i = 0; i < CACHES; i++) {
        if (open_cache(r, i, err))
            goto error;
    }
    return r;
error:
    reconciler_destroy(r);
    return NULL;
}

void reconciler_destroy(struct reconciler *r)
{
    struct entry *e, *tmp;

    if (!r)
        return;
    announce_cancel(r);
    HASH_ITER(hh, r->entries, e, tmp)
    {
        entry_free(e);
    }
    probes_clear(r);
    for (int i = 0; i < CACHES; i++)
        cache_destroy(r->cache[i]);
    queue_destroy(r->queue);
    loop_timer_destroy(r->resync);
    loop_timer_destroy(r->trim);
    http_destroy(r->http);
    free(r);
}

void reconciler_measure(struct reconciler *r, struct metrics *m)
{
    r->metrics = m;
}

size_t reconciler_queue_depth(const struct reconciler *r)
{
    return queue_depth(r->queue);
}

unsigned long reconciler_passes_held(const struct reconciler *r)
{
    return queue_held(r->queue);
}
