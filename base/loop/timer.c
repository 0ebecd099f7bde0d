/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock and the timers of the event loop. Tests that do not wait link base/loop/test/clock.c
 * instead. */
#include "base/buf/buf.h"
#include "base/loop/loop_private.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <time.h>

struct loop_timer {
    struct event *ev;
    void (*on_due)(void *arg);
    void *arg;
};

static struct timeval timeval_of_ms(uint64_t ms)
{
    /* A hundred years stand for "never": larger times would overflow libevent's sums. */
    const uint64_t cap_ms = 100ull * 365 * 86400 * 1000;

    if (ms > cap_ms)
        ms = cap_ms;
    return (struct timeval){.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

uint64_t loop_now_ms(struct loop *loop)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    const struct loop_timer *t = arg;

    t->on_due(t->arg);
}

struct loop_timer *loop_timer_create(struct loop *loop, void (*on_due)(void *arg), void *arg)
{
    struct loop_timer *t = xcalloc(1, sizeof(*t));

    t->on_due = on_due;
    t->arg = arg;
    t->ev = loop_must_event(evtimer_new(loop_base(loop), on_timer, t));
    return t;
}

void loop_timer_arm(struct loop_timer *t, uint64_t delay_ms)
{
    struct timeval tv = timeval_of_ms(delay_ms);

    evtimer_del(t->ev);
    if (evtimer_add(t->ev, &tv) < 0)
        loop_fatal(ENOMEM);
}

void loop_timer_disarm(struct loop_timer *t)
{
    evtimer_del(t->ev);
}

void loop_timer_destroy(struct loop_timer *t)
{
    if (!t)
        return;
    event_free(t->ev);
    free(t);
}
