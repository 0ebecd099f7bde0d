/* SPDX-License-Identifier: BSD-3-Clause */
/* The timers of the event loop over a clock that the test moves. */
#include "base/loop/test/clock.h"

#include "base/buf/buf.h"

#include <event2/event.h>
#include <stdlib.h>

struct loop_timer {
    struct loop_timer *next;
    struct event *ev;
    void (*on_due)(void *arg);
    void *arg;
    bool armed;
    uint64_t due_ms;
    uint64_t turn; /* of two that are due at one time, the one that was armed first runs first */
};

static struct loop_timer *timers;
static uint64_t clock_ms = 1000000;
static uint64_t turns;

uint64_t loop_now_ms(struct loop *loop)
{
    return clock_ms;
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    const struct loop_timer *t = arg;

    t->on_due(t->arg);
}

struct loop_timer *loop_timer_create(struct loop *loop, void (*on_due)(void *arg), void *arg)
{
    struct loop_timer *t = xcalloc(1, sizeof(*t));

    t->on_due = on_due;
    t->arg = arg;
    t->ev = event_new(loop_base(loop), -1, 0, on_event, t);
    t->next = timers;
    timers = t;
    return t;
}

void loop_timer_arm(struct loop_timer *t, uint64_t delay_ms)
{
    loop_timer_disarm(t);
    if (!delay_ms) { /* due, whether the clock is moved or not */
        event_active(t->ev, EV_TIMEOUT, 1);
        return;
    }
    t->armed = true;
    t->due_ms = clock_ms + delay_ms;
    t->turn = ++turns;
}

void loop_timer_disarm(struct loop_timer *t)
{
    event_del(t->ev);
    t->armed = false;
}

void loop_timer_destroy(struct loop_timer *t)
{
    struct loop_timer **at = &timers;

    if (!t)
        return;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    event_free(t->ev);
    free(t);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

void clock_turn(struct loop *loop)
{
    loop_post(loop, stop, loop);
    if (loop_run(loop, NULL) < 0)
        abort();
}

static struct loop_timer *next_due(uint64_t until_ms)
{
    struct loop_timer *found = NULL;

    for (struct loop_timer *t = timers; t; t = t->next) {
        if (!t->armed || t->due_ms > until_ms)
            continue;
        if (!found || t->due_ms < found->due_ms ||
            (t->due_ms == found->due_ms && t->turn < found->turn))
            found = t;
    }
    return found;
}

static void run_timer(struct loop *loop, struct loop_timer *t)
{
    clock_ms = t->due_ms;
    t->armed = false;
    event_active(t->ev, EV_TIMEOUT, 1);
    clock_turn(loop);
}

void clock_run_for(struct loop *loop, uint64_t ms)
{
    uint64_t until_ms = clock_ms + ms;
    struct loop_timer *t;

    while ((t = next_due(until_ms)))
        run_timer(loop, t);
    clock_ms = until_ms;
    clock_turn(loop);
}

void clock_run_until(struct loop *loop, const bool *done)
{
    struct loop_timer *t;

    clock_turn(loop);
    while (!*done) {
        t = next_due(clock_ms + 1);
        if (t) {
            run_timer(loop, t);
        } else {
            clock_ms++;
            clock_turn(loop);
        }
    }
}
