/* SPDX-License-Identifier: BSD-3-Clause */
/* A local copy of one collection of the API server, kept by list and watch.
 *
 * Input: pages of a list, events of a watch, and the answers to our own writes. Output: the store,
 * and the owner's callbacks on_change and on_synced.
 *
 * States. Listing: pages are read until the last one, then objects that no page has shown are
 * removed. Watching: events are applied in order. Waiting: the back-off timer runs after a failure.
 *
 * Invariants: at most one list or watch runs; an object of the store is never replaced by an older
 * version, unless the server itself has gone back in time (a restored backup); on_change is called
 * only after the store has changed.
 *
 * Failures: a watch that ends, or that is silent for too long, is resumed from the last version;
 * after 410 the collection is listed anew; any other failure is repeated with back-off. */
#include "operator/cache/cache.h"

#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/span/span.h"
#include "operator/cache/store_private.h"
#include "operator/http/http.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Objects of a page: its text and its tree are in memory at once. */
#define PAGE 100
/* A watch that lived at least this long does not count as a failure when it ends. */
#define LIVED_MS 5000
/* Consecutive refusals of a version after which the collection is listed anew. */
#define REFUSALS_MAX 3
/* Bounds between which the length of a watch and the time between two lists are drawn, so that the
 * watches of many operators do not end together. */
#define WATCH_MIN_S 300
#define WATCH_MAX_S 600
#define RESYNC_MIN_MS (45 * 60000)
#define RESYNC_MAX_MS (75 * 60000)
/* Bound for the server to accept a watch; doubled after each failure. */
#define OPENING_MIN_MS 3000
#define OPENING_MAX_MS 30000
/* The Accept header of a list or watch of metadata. A server without this form gives whole objects
 * in the place of a 406. */
#define METADATA_AS(kind) "application/json;as=" kind ";g=meta.k8s.io;v=v1,application/json"

struct cache {
    struct loop *loop;
    struct kube *kube;
    struct cache_opts opts;
    char *path;
    char *query; /* "&labelSelector=…" or "" */
    struct store store;
    struct loop_timer *retry;
    unsigned long request; /* the list or watch that runs; 0: none */
    unsigned failures;     /* consecutive */
    unsigned refusals;     /* of watches, consecutive */
    uint64_t opened_ms;    /* when the server accepted the watch; 0: not yet */
    uint64_t heard_ms;     /* time of the server's last sign */
    uint64_t resync_ms;    /* time after which the next watch is preceded by a list */
    char *version;         /* the version from which a watch resumes; NULL before the first list */
    bool must_list;
    bool resyncing; /* the list that runs is the regular one */
    bool connected, synced, loss_logged;
    /* while listing */
    char *list_version;
    char *token; /* names the next page */
    bool back;   /* the server's versions have gone back */
};

static void go_on(void *arg);

static void set_text(char **to, const char *text)
{
    char *copy = text && *text ? xstrdup(text) : NULL;

    free(*to);
    *to = copy;
}

/* --- objects */

/* A copy without the fields that no caller reads. `kind` and `api_version` (NULL: unknown) are
 * added if absent. */
static json_t *trim_object(const json_t *object, const char *kind, const char *api_version)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)object);
    json_t *meta = json_copy(json_object_get(copy, "metadata"));

    json_object_del(meta, "managedFields");
    json_object_set_new(copy, "metadata", meta);
    if (kind && !json_object_get(copy, "kind"))
        json_object_set_new(copy, "kind", json_string(kind));
    if (api_version && !json_object_get(copy, "apiVersion"))
        json_object_set_new(copy, "apiVersion", json_string(api_version));
    return copy;
}

static void report_change(struct cache *c, const char *key, const void *kept, bool deleted)
{
    if (c->opts.on_change)
        c->opts.on_change(key, kept, deleted, c->opts.arg);
}

/* Takes `key` and `kept`. */
static void report_deletion(struct cache *c, char *key, void *kept)
{
    report_change(c, key, kept, true);
    store_drop(&c->store, kept);
    free(key);
}

/* Stores a trimmed copy and calls on_change if it has changed the store. */
static void take_object(struct cache *c, json_t *object, const struct store_how *how)
{
    FREE_AUTO char *key = store_key_of(object);

    if (!key)
        json_decref(object);
    else if (store_put(&c->store, key, object, how))
        report_change(c, key, store_get(&c->store, key), false);
}

/* --- back-off */

/* A random number from `min` to `max`. */
static uint64_t draw_between(uint64_t min, uint64_t max)
{
    return min + backoff_dice() % (max - min + 1);
}

static void try_later(struct cache *c)
{
    static const struct backoff b = {.min_ms = 200, .max_ms = 30000};

    loop_timer_arm(c->retry, backoff_pause_ms(&b, c->failures++, backoff_dice()));
}

static void note_loss(struct cache *c, const char *why)
{
    c->connected = false;
    if (!c->loss_logged)
        log_warn("the connection to the API server is lost and will be retried: %s path=%s", why,
                 c->path);
    c->loss_logged = true;
}

static void note_success(struct cache *c)
{
    c->heard_ms = loop_now_ms(c->loop);
    c->connected = true;
    if (c->loss_logged)
        log_info("the connection to the API server works again path=%s", c->path);
    c->loss_logged = false;
}

/* --- list */

static void list_done(struct cache *c)
{
    void *removed;
    char *key;

    while ((removed = store_sweep(&c->store, c->list_version, c->back, &key)))
        report_deletion(c, key, removed);
    set_text(&c->version, c->list_version);
    c->must_list = c->resyncing = false;
    c->resync_ms = loop_now_ms(c->loop) + draw_between(RESYNC_MIN_MS, RESYNC_MAX_MS);
    c->refusals = 0;
    note_success(c);
    if (!c->synced) {
        c->synced = true;
        if (c->opts.on_synced)
            c->opts.on_synced(c->opts.arg);
    }
    go_on(c);
}

static void store_page(struct cache *c, const json_t *body)
{
    const json_t *meta = json_object_get(body, "metadata"), *items = json_object_get(body, "items");
    const char *kind = json_string_value(json_object_get(body, "kind"));
    const char *api_version = json_string_value(json_object_get(body, "apiVersion"));
    size_t len = kind ? strlen(kind) : 0;
    bool named = len > 4 && strcmp(kind + len - 4, "List") == 0;
    FREE_AUTO char *item_kind = named ? xasprintf("%.*s", (int)(len - 4), kind) : NULL;

    if (!c->list_version) {
        set_text(&c->list_version, store_version_of(body));
        c->back = store_version_cmp(c->list_version, c->version) < 0;
        c->store.generation++;
    }
    set_text(&c->token, json_string_value(json_object_get(meta, "continue")));
    const struct store_how how = {.listed = true, .force = c->back};
    for (size_t i = 0; i < json_array_size(items); i++)
        take_object(c, trim_object(json_array_get(items, i), item_kind, api_version), &how);
}

static void on_list(int status, const json_t *body, const struct err *err, void *arg)
{
    struct cache *c = arg;

    c->request = 0;
    const json_t *items = json_object_get(body, "items"); /* null: of metadata, there are none */
    bool good = status >= 200 && status < 300 && *store_version_of(body) &&
                (json_is_array(items) || json_is_null(items));
    if (!good) {
        /* 410 means that the pages took longer than the server keeps a version. In any case the
         * list begins with its first page. */
        set_text(&c->list_version, NULL);
        set_text(&c->token, NULL);
        note_loss(c, err->msg[0] ? err->msg : "the answer is not a list");
        try_later(c);
        return;
    }
    c->heard_ms = loop_now_ms(c->loop);
    store_page(c, body);
    if (c->token)
        go_on(c);
    else
        list_done(c);
}

static int request_page(struct cache *c, struct err *err)
{
    FREE_AUTO char *token = c->token ? http_escape(c->token) : NULL;
    FREE_AUTO char *path = xasprintf("%s?limit=%d%s%s%s", c->path, PAGE, c->query,
                                     token ? "&continue=" : "", token ? token : "");
    struct kube_verb v = {.method = "GET",
                          .path = path,
                          .accept = c->opts.metadata_only ? METADATA_AS("PartialObjectMetadataList")
                                                          : NULL};

    if (!token && c->version && !c->resyncing)
        kube_count_relist(c->kube);
    c->request = kube_request(c->kube, &v, on_list, c, err);
    return c->request ? 0 : -1;
}

/* --- watch */

static void on_event(const char *type, const json_t *object, void *arg)
{
    static const struct store_how how = {0};
    struct cache *c = arg;

    if (!object) { /* "OPENED" */
        c->opened_ms = loop_now_ms(c->loop);
        note_success(c);
        return;
    }
    const char *version = store_version_of(object);
    c->heard_ms = loop_now_ms(c->loop);
    c->failures = c->refusals = 0;
    if (strcmp(type, "DELETED") == 0) {
        char *key = store_key_of(object);
        void *kept = key ? store_take(&c->store, key, version) : NULL;

        if (kept)
            report_deletion(c, key, kept);
        else
            free(key);
    } else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0) {
        take_object(c, trim_object(object, NULL, NULL), &how);
    }
    if (*version)
        set_text(&c->version, version);
}

static void on_watch_end(int status, const json_t *body, const struct err *err, void *arg)
{
    struct cache *c = arg;
    bool clean = status >= 200 && status < 300;

    c->request = 0;
    if (c->opened_ms && span_ms(c->opened_ms, loop_now_ms(c->loop)) >= LIVED_MS) {
        c->failures = c->refusals = 0;
        if (clean) {
            go_on(c);
            return;
        }
    }
    if (!clean && status != 410)
        note_loss(c, err->msg);
    if (status == 410 || (status >= 400 && ++c->refusals >= REFUSALS_MAX))
        c->must_list = true;
    try_later(c);
}

static int start_watch(struct cache *c, struct err *err)
{
    FREE_AUTO char *version = http_escape(c->version);
    unsigned length_s = (unsigned)draw_between(WATCH_MIN_S, WATCH_MAX_S);
    FREE_AUTO char *path =
        xasprintf("%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%u&resourceVersion=%s%s",
                  c->path, length_s, version, c->query);
    uint64_t opening_ms = (uint64_t)OPENING_MIN_MS << (c->failures < 4 ? c->failures : 4);
    struct kube_stream s = {.path = path,
                            .accept =
                                c->opts.metadata_only ? METADATA_AS("PartialObjectMetadata") : NULL,
                            .opening_ms = opening_ms < OPENING_MAX_MS ? opening_ms : OPENING_MAX_MS,
                            .silence_ms = c->opts.silence_ms};

    c->opened_ms = 0;
    c->request = kube_watch(c->kube, &s, on_event, on_watch_end, c, err);
    return c->request ? 0 : -1;
}

/* The next step: a page of a list, or a watch. */
static void go_on(void *arg)
{
    struct cache *c = arg;
    struct err err = {0};

    if (c->version && !c->must_list && loop_now_ms(c->loop) >= c->resync_ms)
        c->must_list = c->resyncing = true;
    bool listing = c->must_list || !c->version;
    if (listing && !c->token)
        set_text(&c->list_version, NULL);
    if ((listing ? request_page(c, &err) : start_watch(c, &err)) == 0)
        return;
    note_loss(c, err.msg);
    try_later(c);
}

/* --- the interface */

struct cache *cache_create(struct loop *loop, struct kube *kube, const struct cache_opts *opts,
                           struct err *err)
{
    if (opts->path[0] != '/' || strchr(opts->path, '?')) {
        err_set(err, "%s is not the path of a collection", opts->path);
        return NULL;
    }
    struct cache *c = xcalloc(1, sizeof(*c));
    FREE_AUTO char *selector = opts->label_selector ? http_escape(opts->label_selector) : NULL;
    c->loop = loop;
    c->kube = kube;
    c->opts = *opts;
    c->path = xstrdup(opts->path);
    c->query = selector ? xasprintf("&labelSelector=%s", selector) : xstrdup("");
    c->opts.path = c->opts.label_selector = NULL;
    c->store = (struct store){.keep = opts->keep, .drop = opts->drop, .arg = opts->arg};
    if (!c->opts.silence_ms)
        c->opts.silence_ms = CACHE_SILENCE_MS;
    c->heard_ms = loop_now_ms(loop);
    c->retry = loop_timer_create(loop, go_on, c);
    loop_timer_arm(c->retry, 0);
    return c;
}

void cache_destroy(struct cache *c)
{
    if (!c)
        return;
    if (c->request)
        kube_cancel(c->kube, c->request);
    loop_timer_destroy(c->retry);
    store_free(&c->store);
    free(c->path);
    free(c->query);
    free(c->version);
    free(c->list_version);
    free(c->token);
    free(c);
}

bool cache_synced(const struct cache *c)
{
    return c->synced;
}

bool cache_connected(const struct cache *c)
{
    return c->connected;
}

uint64_t cache_age_ms(const struct cache *c)
{
    return span_ms(c->heard_ms, loop_now_ms(c->loop));
}

uint64_t cache_age_max_ms(const struct cache *c)
{
    return 2 * c->opts.silence_ms;
}

const void *cache_get(const struct cache *c, const char *ns, const char *name)
{
    FREE_AUTO char *key = xasprintf("%s/%s", ns ? ns : "", name);

    return store_get(&c->store, key);
}

void cache_each(const struct cache *c, void (*fn)(const char *key, const void *kept, void *arg),
                void *arg)
{
    store_each(&c->store, fn, arg);
}

size_t cache_count(const struct cache *c)
{
    return store_count(&c->store);
}

void cache_put(struct cache *c, const json_t *object)
{
    static const struct store_how how = {0};
    FREE_AUTO char *key = store_key_of(object);

    if (!key)
        return;
    /* The watch has reported a later version than this object's, and the store has no such object:
     * it has been deleted since. */
    if (!store_get(&c->store, key) && store_version_cmp(store_version_of(object), c->version) <= 0)
        return;
    store_put(&c->store, key, trim_object(object, NULL, NULL), &how);
}

void cache_drop(struct cache *c, const char *ns, const char *name)
{
    FREE_AUTO char *key = xasprintf("%s/%s", ns, name);
    const char *known = store_version(&c->store, key);
    FREE_AUTO char *version = known ? xstrdup(known) : NULL;

    if (version)
        store_drop(&c->store, store_take(&c->store, key, version));
}
