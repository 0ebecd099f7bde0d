/* SPDX-License-Identifier: BSD-3-Clause */
/* The work queue: keys in the order of their arrival, those that have been begun first, with
 * back-off for those that fail.
 *
 * Input: queue_add(), queue_add_after() and queue_done(). Output: calls of work() for one key.
 *
 * States of a key. Ready: it is in the list `ready`. Waiting: it has a time (due_ms). Running:
 * work() has been called for it, queue_done() not yet. A key that is added while it is running
 * becomes ready when that run is done.
 *
 * A key is begun when its last run has failed, or has been followed by another one. It runs before
 * all that are not, so that a thousand new clusters become complete one after the other and not all
 * at the end. A key that has been begun for BEGUN_RUNS_MAX runs loses this, so that those that
 * never come to rest do not keep the others waiting.
 *
 * Invariants: a key is in `ready` at most once and runs at most once at a time; at most
 * RUNNING_MAX keys run; the earliest time that was asked for counts. A key begins at most
 * QUEUE_PACE_RUNS runs in a second; what comes then waits until the second is over, so that no
 * mistake elsewhere makes the queue spin.
 *
 * Failures: a key whose run has failed waits longer after each consecutive failure, also if it was
 * added during that run; an add after it ends the wait. queue_forget()
 * of a running key takes effect when its run is done. */
#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "base/span/span.h"
#include "operator/cache/cache.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* A pass holds some 120 KiB of JSON while it waits for the API server. */
#define RUNNING_MAX 16
#define NEVER UINT64_MAX
#define PACE_MS 1000
/* A new cluster needs two runs, and some more if requests fail. */
#define BEGUN_RUNS_MAX 8

static const struct backoff backoff = {.min_ms = 50, .max_ms = 60000};

struct item {
    struct queue *queue;
    char *key;
    bool ready;              /* is in queue->ready or queue->begun */
    bool running;            /* work() has been called, queue_done() not yet */
    bool again;              /* was added while it was running */
    bool forgotten;          /* was forgotten while it was running */
    bool begun;              /* is in queue->begun, not in queue->ready */
    unsigned failures;       /* consecutive */
    unsigned unfinished;     /* consecutive runs that were not its last one */
    uint64_t due_ms;         /* NEVER: it does not wait */
    uint64_t second_ms;      /* when the present second of its pace began */
    unsigned runs;           /* that have begun in it */
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
    struct item *begun; /* those of the ready ones that run first */
    size_t nready, nrunning;
    unsigned long held;
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
    if (it->begun)
        DL_DELETE(it->queue->begun, it);
    else
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

static void on_due(void *arg);

/* While the key runs the time is only noted. */
static void arm_wait(struct item *it, uint64_t due_ms)
{
    struct loop *loop = it->queue->loop;

    if (it->running)
        return;
    if (!it->wait)
        it->wait = loop_timer_create(loop, on_due, it);
    loop_timer_arm(it->wait, span_ms(loop_now_ms(loop), due_ms));
}

/* The earlier of the key's time and `due_ms` counts. */
static void item_wait(struct item *it, uint64_t due_ms)
{
    if (due_ms < it->due_ms)
        it->due_ms = due_ms;
    arm_wait(it, it->due_ms);
}

static bool second_is_over(const struct item *it)
{
    return loop_now_ms(it->queue->loop) >= it->second_ms + PACE_MS;
}

/* True: the key has had its runs of this second, and waits for the next one. */
static bool is_held(struct item *it)
{
    uint64_t next_ms = it->second_ms + PACE_MS;

    if (it->runs < QUEUE_PACE_RUNS || second_is_over(it))
        return false;
    it->queue->held += it->due_ms != next_ms;
    it->due_ms = next_ms;
    arm_wait(it, next_ms);
    return true;
}

static void item_ready(struct item *it)
{
    struct queue *q = it->queue;

    if (it->ready || is_held(it))
        return;
    item_unwait(it);
    it->ready = true;
    it->begun = it->unfinished > 0 && it->unfinished <= BEGUN_RUNS_MAX;
    if (it->begun)
        DL_APPEND(q->begun, it);
    else
        DL_APPEND(q->ready, it);
    q->nready++;
    loop_timer_arm(q->pump, 0);
}

static void on_due(void *arg)
{
    struct item *it = arg;

    if (it->due_ms == NEVER)
        item_free(it);
    else
        item_ready(it);
}

/* Nobody has asked for another run. The key is forgotten when its second is over. */
static void item_rest(struct item *it)
{
    if (second_is_over(it))
        item_free(it);
    else
        arm_wait(it, it->second_ms + PACE_MS);
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

static uint64_t time_after(uint64_t now_ms, uint64_t delay_ms)
{
    return delay_ms < (uint64_t)span_ms(now_ms, NEVER) ? now_ms + delay_ms : NEVER - 1;
}

void queue_add_after(struct queue *q, const char *key, uint64_t delay_ms)
{
    struct item *it = find_or_add(q, key);

    it->forgotten = false;
    if (!it->ready)
        item_wait(it, time_after(loop_now_ms(q->loop), delay_ms));
}

static void count_run(struct item *it)
{
    if (second_is_over(it)) {
        it->second_ms = loop_now_ms(it->queue->loop);
        it->runs = 0;
    }
    it->runs++;
}

static void on_pump(void *arg)
{
    struct queue *q = arg;

    /* No more runs than keys were ready, so that the loop also serves its other events. */
    for (size_t n = q->nready; n > 0 && q->nready && q->nrunning < RUNNING_MAX; n--) {
        struct item *it = q->begun ? q->begun : q->ready;

        item_unready(it);
        it->running = true;
        q->nrunning++;
        count_run(it);
        q->work(it->key, q->arg);
    }
    if (q->nready && q->nrunning < RUNNING_MAX)
        loop_timer_arm(q->pump, 0);
}

/* Times that were asked for during a run that has failed are not earlier than its repetition. */
static void retry_item(struct item *it)
{
    uint64_t pause_ms = backoff_pause_ms(&backoff, it->failures++, backoff_dice());

    it->due_ms = NEVER;
    item_wait(it, time_after(loop_now_ms(it->queue->loop), pause_ms));
}

void queue_done(struct queue *q, const char *key, bool ok)
{
    struct item *it = find_item(q, key);

    if (!it || !it->running)
        return;
    it->running = false;
    q->nrunning--;
    if (q->nready)
        loop_timer_arm(q->pump, 0);
    bool again = it->again;
    it->again = false;
    it->unfinished = again || !ok ? it->unfinished + 1 : 0;
    if (it->forgotten) {
        item_free(it);
        return;
    }
    if (!ok) {
        retry_item(it);
        return;
    }
    it->failures = 0;
    if (again)
        item_ready(it);
    else if (it->due_ms != NEVER)
        item_wait(it, it->due_ms);
    else
        item_rest(it);
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

unsigned long queue_held(const struct queue *q)
{
    return q->held;
}
