/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches whether the library's thread answers, and ends the library even if its thread hangs.
 *
 * In: watch_asked() for each request to the library's thread, watch_answered() for each answer.
 * Out: on_silent, once, with the reason. Twice within the limit of silence the answers are
 * counted; two looks without a further answer mean that the thread hangs.
 *
 * States: idle without requests and jobs; armed while there is one of them; lost after the report.
 * While a job is registered and nothing is asked, the thread gets an empty request at each look,
 * since it may hang in a rank's own request.
 *
 * Invariants: any answer restarts the time; time in which this process was stopped counts as one
 * look.
 *
 * Failures: PMIx_server_finalize() waits for the thread without a bound, so it runs on a thread of
 * its own. If it does not return in time, the library is left as it is, and the caller keeps all
 * objects that the library may still read. */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define FINALIZE_MS 10000

static uint64_t count_waiting(struct watch *w)
{
    return w->asked - atomic_load(&w->answered);
}

static void run_nothing(void *arg)
{
}

/* There are no requests. As long as a job is registered, the library gets an empty request: its
 * thread may hang in a rank's own request. */
static void look_again(struct pmix_srv *p)
{
    struct watch *w = &p->watch;

    w->armed = p->jobs != NULL;
    if (!w->armed)
        return;
    w->missed = 0;
    w->seen = atomic_load(&w->answered);
    handback_post(p, run_nothing, run_nothing, NULL);
    loop_timer_arm(w->timer, w->silent_ms / 2);
}

/* Time in which this process itself was stopped does not count as silence of the library: it
 * counts as one look. */
static void on_due(void *arg)
{
    struct pmix_srv *p = arg;
    struct watch *w = &p->watch;
    uint64_t answered = atomic_load(&w->answered);
    char why[128];

    if (w->asked == answered) {
        look_again(p);
        return;
    }
    w->missed = answered == w->seen ? w->missed + 1 : 0;
    w->seen = answered;
    if (w->missed < 2) {
        loop_timer_arm(w->timer, w->silent_ms / 2);
        return;
    }
    w->armed = false;
    w->lost = true;
    snprintf(why, sizeof(why),
             "libpmix has not answered for %" PRIu64 " ms, %" PRIu64 " requests wait for it",
             w->silent_ms, count_waiting(w));
    if (p->up.on_silent)
        p->up.on_silent(why, p->arg);
}

void watch_start(struct pmix_srv *p, uint64_t silent_ms)
{
    p->watch.silent_ms = silent_ms;
    p->watch.timer = loop_timer_create(p->loop, on_due, p);
}

void watch_stop(struct pmix_srv *p)
{
    loop_timer_destroy(p->watch.timer);
    p->watch.timer = NULL;
}

void watch_asked(struct pmix_srv *p)
{
    struct watch *w = &p->watch;

    w->asked++;
    if (w->armed || w->lost)
        return;
    w->armed = true;
    w->missed = 0;
    w->seen = atomic_load(&w->answered);
    loop_timer_arm(w->timer, w->silent_ms / 2);
}

void watch_answered(void)
{
    struct pmix_srv *p = pmix_srv_current();

    if (p)
        atomic_fetch_add(&p->watch.answered, 1);
}

void watch_look(struct pmix_srv *p)
{
    struct watch *w = &p->watch;

    if (!w->armed || count_waiting(w) || p->jobs)
        return;
    w->armed = false;
    loop_timer_disarm(w->timer);
}

/* --- the end */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
} end = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void *finalize_library(void *arg)
{
    PMIx_server_finalize();
    pthread_mutex_lock(&end.lock);
    end.done = true;
    pthread_cond_signal(&end.cond);
    pthread_mutex_unlock(&end.lock);
    return NULL;
}

static bool is_done_within(uint64_t ms)
{
    struct timespec due;
    bool done;

    clock_gettime(CLOCK_MONOTONIC, &due);
    ms += (uint64_t)due.tv_nsec / 1000000;
    due.tv_sec += (time_t)(ms / 1000);
    due.tv_nsec = (long)(ms % 1000) * 1000000;
    pthread_mutex_lock(&end.lock);
    while (!end.done && pthread_cond_clockwait(&end.cond, &end.lock, CLOCK_MONOTONIC, &due) == 0)
        ;
    done = end.done;
    pthread_mutex_unlock(&end.lock);
    return done;
}

/* PMIx_server_finalize() waits for the library's thread, without a bound: hence on a thread of its
 * own. */
bool watch_finalize(struct pmix_srv *p)
{
    uint64_t most = p->watch.silent_ms < FINALIZE_MS ? p->watch.silent_ms : FINALIZE_MS;
    pthread_t thread;

    if (p->watch.lost)
        return false;
    end.done = false;
    if (pthread_create(&thread, NULL, finalize_library, NULL) != 0) {
        PMIx_server_finalize();
        return true;
    }
    if (is_done_within(most)) {
        pthread_join(thread, NULL);
        return true;
    }
    log_error("pmix: libpmix has not ended within %" PRIu64 " ms, it is left as it is", most);
    pthread_detach(thread);
    return false;
}
