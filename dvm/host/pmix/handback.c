/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers are given on the library's own thread: the library puts most of them into a peer's queue
 * without a lock. */
#include "dvm/host/pmix/pmix_private.h"

#include <pmix_extend.h>
#include <pthread.h>
#include <stdlib.h>
#include <utlist.h>

struct handback {
    const struct pmix_srv *srv;
    void (*run)(void *arg);
    void (*drop)(void *arg);
    void *arg;
    bool watched;
    struct handback *prev, *next;
};

/* An answer under way. The thread ends while it still holds some when the server ends. */
static struct handback *under_way;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void under_way_remove(struct handback *h)
{
    pthread_mutex_lock(&lock);
    DL_DELETE(under_way, h);
    pthread_mutex_unlock(&lock);
}

static void under_way_add(struct handback *h)
{
    pthread_mutex_lock(&lock);
    DL_APPEND(under_way, h);
    pthread_mutex_unlock(&lock);
}

static void on_settled(void *arg)
{
    struct handback *h = arg;

    under_way_remove(h);
    watch_answered();
    free(h);
}

static void drop_nothing(void *arg)
{
}

/* The library does much of what an answer asks of it on a later turn of its thread. The answer is
 * counted as done after that turn. */
static void on_thread(void *arg)
{
    struct handback *h = arg;

    under_way_remove(h);
    h->run(h->arg);
    if (!h->watched) {
        free(h);
        return;
    }
    h->drop = drop_nothing;
    under_way_add(h);
    if (h->srv->run_on_thread(on_settled, h, 0) != PMIX_SUCCESS)
        on_settled(h);
}

/* False: the library has no thread yet, and the answer has been given at once. */
static bool hand_to_library(const struct pmix_srv *p, unsigned ms, bool watched,
                            void (*run)(void *arg), void (*drop)(void *arg), void *arg)
{
    struct handback *h = xmalloc(sizeof(*h));
    pmix_status_t rc;

    *h = (struct handback){.srv = p, .run = run, .drop = drop, .arg = arg, .watched = watched};
    under_way_add(h);
    rc = p->run_on_thread(on_thread, h, ms);
    if (rc == PMIX_SUCCESS)
        return true;
    if (rc != PMIX_ERR_INIT)
        alloc_fail(0); /* the library had no memory for it */
    under_way_remove(h);
    free(h);
    run(arg);
    return false;
}

void handback_after(const struct pmix_srv *p, unsigned ms, void (*run)(void *arg),
                    void (*drop)(void *arg), void *arg)
{
    hand_to_library(p, ms, false, run, drop, arg);
}

void handback_post(struct pmix_srv *p, void (*run)(void *arg), void (*drop)(void *arg), void *arg)
{
    if (hand_to_library(p, 0, true, run, drop, arg))
        watch_asked(p);
}

void handback_end(void)
{
    struct handback *h, *next;

    DL_FOREACH_SAFE(under_way, h, next)
    {
        h->drop(h->arg);
        free(h);
    }
    under_way = NULL;
}
