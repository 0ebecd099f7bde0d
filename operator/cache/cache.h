/* SPDX-License-Identifier: BSD-3-Clause */
/* Reflector, store and work queue: a local copy of a collection, and the keys whose owner has work.
 */
#ifndef OPERATOR_CACHE_CACHE_H
#define OPERATOR_CACHE_CACHE_H

#include "operator/kube/kube.h"

/* List (in pages of 500), then watch from its resourceVersion with bookmarks; resumes where it
 * stopped, lists anew after 410, backs off (0.2 s doubling to 30 s, with jitter, reset by success)
 * when the server is away. Idle it sends nothing. */
struct cache;
struct cache_opts {
    const char *path;           /* "/apis/apps/v1/namespaces/x/statefulsets" */
    const char *label_selector; /* NULL: all; unescaped */
    /* Called after the store has changed; `object` is the new one, or the last known one of a
     * deletion. */
    void (*on_change)(const json_t *object, bool deleted, void *arg);
    void (*on_synced)(void *arg); /* after the first whole list, once; may be NULL */
    void *arg;
};
struct cache *cache_create(struct loop *loop, struct kube *kube, const struct cache_opts *opts,
                           struct err *err);
void cache_destroy(struct cache *c);
bool cache_synced(const struct cache *c);
/* True while list or watch works; false from the first failure until the next success. */
bool cache_connected(const struct cache *c);
/* Borrowed until the next turn of the loop; NULL if unknown. */
const json_t *cache_get(const struct cache *c, const char *ns, const char *name);
/* Each object in no order; `fn` must not change the cache. */
void cache_each(const struct cache *c, void (*fn)(const json_t *object, void *arg), void *arg);
size_t cache_count(const struct cache *c);
/* Our own write's answer, put in before the watch tells it (copied; newer resourceVersion only). */
void cache_put(struct cache *c, const json_t *object);

/* Keys "namespace/name" with work to do: each at most once in the queue; one that comes while it is
 * being worked on runs again afterwards; failed ones back off (0.05 s doubling to 60 s). `work`
 * answers later by queue_done(). */
struct queue;
struct queue *queue_create(struct loop *loop, void (*work)(const char *key, void *arg), void *arg);
void queue_destroy(struct queue *q);
void queue_add(struct queue *q, const char *key);
void queue_add_after(struct queue *q, const char *key, uint64_t delay_ms); /* the earliest wins */
void queue_done(struct queue *q, const char *key,
                bool ok);                            /* `key` may be the one that work() got */
void queue_forget(struct queue *q, const char *key); /* the object is gone */
size_t queue_depth(const struct queue *q);

#endif
