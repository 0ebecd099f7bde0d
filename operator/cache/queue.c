/* SPDX-License-Identifier: BSD-3-Clause */
/* The work queue: keys in the order of their arrival, with back-off for those that fail.
 *
 * Input: queue_add(), queue_add_after() and queue_done(). Output: calls of work() for one key.
 *
 * States of a key. Ready: it is in the list `ready`. Waiting: it has a time (due_ms). Running:
 * work() has been called for it, queue_done() not yet. A key that is added while it is running
 * becomes ready when that run is done.
 *
 * Invariants: a key is in `ready` at most once and runs at most once at a time; at most
 * RUNNING_MAX keys run; the earliest time that was asked for counts.
 *
 * Failures: a key whose run has failed waits longer after each consecutive failure. queue_forget()
 * of a running key takes effect when its run is done. */
#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "operator/cache/cache.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* A pass holds some 120 KiB of JSON while it waits for the API server. */
#define RUNNING_MAX 16
#define NEVER UINT64_MAX

static const struct backoff backoff = {.min_ms = 50, .max_ms = 60000};

struct item {
    struct queue *queue;
    char *key;
    bool ready;              /* is in queue->ready */
    bool running;            /* work() has been called, queue_done() not yet */
    bool again;              /* was added while it was running */
    bool forgotten;          /* was forgotten while it was running */
    unsigned failures;       /* consecutive */
    uint64_t due_ms;         /* NEVER: it does not wait */
    struct loop_timer *wait; /* created when it is first needed */
    struct item *prev, *next;
    UT_hash_handle hh;
};

struct queue {
    struct loop *loop;
    void (*work)(const char *key, void *arg);
    void *arg;
    struct item *items;
    struct item *ready;
    size_t nready, nrunning;
    struct loop_timer *pump;
};

static void on_pump(void *arg);

struct queue *queue_create(struct loop *loop, void (*work)(const char *key, void *arg), void *arg)
{
    struct queue *q = xcalloc(1, sizeof(*q));

    q->loop = loop;
    q->work = work;
    q->arg = arg;
    q->pump = loop_timer_create(loop, on_pump, q);
    return q;
}

static void item_unwait(struct item *it)
{
    it->due_ms = NEVER;
    if (it->wait)
        loop_timer_disarm(it->wait);
}

static void item_unready(struct item *it)
{
    if (!it->ready)
        return;
    it->ready = false;
    DL_DELETE(it->queue->ready, it);
    it->queue->nready--;
}

static void item_free(struct item *it)
{
    item_unready(it);
    if (it->running)
        it->queue->nrunning--;
    loop_timer_destroy(it->wait);
    HASH_DEL(it->queue->items, it);
    free(it->key);
    free(it);
}

void queue_destroy(struct queue *q)
{
    struct item *it, *tmp;

    if (!q)
        return;
    HASH_ITER(hh, q->items, it, tmp)
    {
        item_free(it);
    }
    loop_timer_destroy(q->pump);
    free(q);
}

static struct item *find_item(const struct queue *q, const char *key)
{
    struct item *it;

    HASH_FIND_STR(q->items, key, it);
    return it;
}

static struct item *find_or_add(struct queue *q, const char *key)
{
    struct item *it = find_item(q, key);

    if (it)
        return it;
    it = xcalloc(1, sizeof(*it));
    it->queue = q;
    it->key = xstrdup(key);
    it->due_ms = NEVER;
    HASH_ADD_KEYPTR(hh, q->items, it->key, strlen(it->key), it);
    return it;
}

static void item_ready(struct item *it)
{
    struct queue *q = it->queue;

    item_unwait(it);
    if (it->ready)
        return;
    it->ready = true;
    DL_APPEND(q->ready, it);
    q->nready++;
    loop_timer_arm(q->pump, 0);
}

static void on_due(void *arg)
{
    item_ready(arg);
}

/* The earlier of the key's time and `due_ms` counts. While the key runs the time is only noted. */
static void item_wait(struct item *it, uint64_t due_ms)
{
    uint64_t now = loop_now_ms(it->queue->loop);

    if (due_ms < it->due_ms)
        it->due_ms = due_ms;
    if (it->running)
        return;
    if (!it->wait)
        it->wait = loop_timer_create(it->queue->loop, on_due, it);
    loop_timer_arm(it->wait, it->due_ms > now ? it->due_ms - now : 0);
}

void queue_add(struct queue *q, const char *key)
{
    struct item *it = find_or_add(q, key);

    it->forgotten = false;
    if (it->running)
        it->again = true;
    else
        item_ready(it);
}

void queue_add_after(struct queue *q, const char *key, uint64_t delay_ms)
{
    struct item *it = find_or_add(q, key);

    it->forgotten = false;
    if (!it->ready)
        item_wait(it, loop_now_ms(q->loop) + delay_ms);
}

static void on_pump(void *arg)
{
    struct queue *q = arg;

    /* Keys that work() adds run in the next turn, so that the loop also serves its other events. */
    for (size_t n = q->nready; n > 0 && q->ready && q->nrunning < RUNNING_MAX; n--) {
        struct item *it = q->ready;

        item_unready(it);
        it->running = true;
        q->nrunning++;
        q->work(it->key, q->arg);
    }
    if (q->ready && q->nrunning < RUNNING_MAX)
        loop_timer_arm(q->pump, 0);
}

void queue_done(struct queue *q, const char *key, bool ok)
{
    struct item *it = find_item(q, key);

    if (!it || !it->running)
        return;
    it->running = false;
    q->nrunning--;
    if (q->ready)
        loop_timer_arm(q->pump, 0);
    bool again = it->again;
    it->again = false;
    if (it->forgotten) {
        item_free(it);
        return;
    }
    uint64_t retry_ms = ok ? 0 : backoff_pause_ms(&backoff, it->failures, backoff_dice());
    it->failures = ok ? 0 : it->failures + 1;
    if (again)
        item_ready(it);
    else if (!ok)
        item_wait(it, loop_now_ms(q->loop) + retry_ms);
    else if (it->due_ms != NEVER)
        item_wait(it, it->due_ms);
    else
        item_free(it);
}

void queue_forget(struct queue *q, const char *key)
{
    struct item *it = find_item(q, key);

    if (!it)
        return;
    if (!it->running) {
        item_free(it);
        return;
    }
    it->again = false;
    it->forgotten = true;
    item_unwait(it);
}

size_t queue_depth(const struct queue *q)
{
    return q->nready;
}
