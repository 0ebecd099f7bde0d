/* SPDX-License-Identifier: BSD-3-Clause */
/* A local copy of a collection of the API server, and the queue of the keys that need work. */
#ifndef OPERATOR_CACHE_CACHE_H
#define OPERATOR_CACHE_CACHE_H

#include "operator/kube/kube.h"

/* Lists the collection in pages of 100, then watches it with bookmarks from the version of the
 * list. A watch that ends is resumed; after 410 the collection is listed anew. Failures are
 * repeated with back-off: 0.2 s, doubled up to 30 s, with jitter, reset by a success.
 *
 * The server ends each watch after a time that the cache draws, 5 to 10 minutes. A watch without a
 * byte for silence_ms is opened anew: the server sends a bookmark about every minute. The
 * collection is listed again 45 to 75 minutes after the last list, so a lost event is not lost for
 * good. Otherwise an idle cache sends no request. */
struct cache;
#define CACHE_SILENCE_MS 150000
struct cache_opts {
    const char *path;           /* "/apis/apps/v1/namespaces/x/statefulsets" */
    const char *label_selector; /* NULL: all; unescaped */
    /* Asks for the metadata of the objects alone. keep() then gets objects of the kind
     * PartialObjectMetadata; whole ones from a server that has no such answers, and from
     * cache_put(). */
    bool metadata_only;
    /* What is kept of an object, NULL: the object itself, without managedFields. `before` is what
     * was kept of its older version, NULL: it is new. drop() ends what keep() has made. */
    void *(*keep)(const json_t *object, const void *before, void *arg);
    void (*drop)(void *kept, void *arg);
    /* Called after the store has changed, with what is kept of the new object; for a deletion, of
     * the last known one. `key` is "namespace/name". */
    void (*on_change)(const char *key, const void *kept, bool deleted, void *arg);
    void (*on_synced)(void *arg); /* after the first whole list, once; may be NULL */
    uint64_t silence_ms;          /* 0: CACHE_SILENCE_MS */
    void *arg;
};
struct cache *cache_create(struct loop *loop, struct kube *kube, const struct cache_opts *opts,
                           struct err *err);
void cache_destroy(struct cache *c);
bool cache_synced(const struct cache *c);
/* False from the first failure of list or watch until the next success. */
bool cache_connected(const struct cache *c);
/* Milliseconds since the server's last sign about this collection: a page, an accepted watch, an
 * event or a bookmark. Before the first one: since the creation. */
uint64_t cache_age_ms(const struct cache *c);
/* The age above which the collection must be taken for unknown: two bounds of silence. */
uint64_t cache_age_max_ms(const struct cache *c);
/* What is kept of an object, borrowed until the next turn of the loop; NULL: no such object. */
const void *cache_get(const struct cache *c, const char *ns, const char *name);
/* Calls `fn` for each object, in no order. `fn` must not change the cache. */
void cache_each(const struct cache *c, void (*fn)(const char *key, const void *kept, void *arg),
                void *arg);
size_t cache_count(const struct cache *c);
/* Stores a copy of the answer to our own write, if it is newer, before the watch reports it. */
void cache_put(struct cache *c, const json_t *object);
/* Removes an object of which a read has shown that it does not exist. */
void cache_drop(struct cache *c, const char *ns, const char *name);

/* Keys "namespace/name" that need work. A key is in the queue at most once; one whose last run was
 * followed by another or failed comes before those that have not begun, for up to eight runs; one
 * that is added while work() has it runs again afterwards. A failed key is repeated with back-off:
 * 0.05 s, doubled up to 60 s. A key begins at most QUEUE_PACE_RUNS runs in a second. The owner
 * reports the end of work() by queue_done(). */
#define QUEUE_PACE_RUNS 20
struct queue;
struct queue *queue_create(struct loop *loop, void (*work)(const char *key, void *arg), void *arg);
void queue_destroy(struct queue *q);
void queue_add(struct queue *q, const char *key);
void queue_add_after(struct queue *q, const char *key,
                     uint64_t delay_ms); /* the earliest time wins */
void queue_done(struct queue *q, const char *key,
                bool ok); /* `key` may be the pointer that work() was given */
void queue_forget(struct queue *q, const char *key); /* the object has been deleted */
size_t queue_depth(const struct queue *q);
/* How often a key had to wait for its next second. */
unsigned long queue_held(const struct queue *q);

#endif
