/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to the library's thread. The library is not started here: the event base belongs to the
 * test, and the thread runs when the test says so. test_server.c shows that the library's own base
 * is used. */
#include "dvm/host/pmix/pmix_private.h"

#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ANSWERS 100

static struct event_base *base; /* NULL: there is no thread */

struct call {
    void (*fn)(void *arg);
    void *arg;
};

/* An answer is one call, and one more when it has run. */
static struct call calls[2 * ANSWERS];
static unsigned ncalls;

static void on_call(evutil_socket_t fd, short events, void *arg)
{
    const struct call *call = arg;

    call->fn(call->arg);
}

static pmix_status_t run_on_base(void (*fn)(void *arg), void *arg, unsigned delay_ms)
{
    struct call *call;

    if (!base)
        return PMIX_ERR_INIT;
    call = &calls[ncalls++];
    *call = (struct call){fn, arg};
    return event_base_once(base, -1, EV_TIMEOUT, on_call, call, NULL) == 0 ? PMIX_SUCCESS
                                                                           : PMIX_ERR_NOMEM;
}

/* No request waits for its answers. */
static struct pmix_srv known = {.run_on_thread = run_on_base, .watch = {.lost = true}};

struct answer_seen {
    int ran, dropped, place;
    pthread_t thread;
};
static int places;

static void on_run(void *arg)
{
    struct answer_seen *a = arg;

    a->ran++;
    a->place = places++;
    a->thread = pthread_self();
}

static void on_drop(void *arg)
{
    struct answer_seen *a = arg;

    a->dropped++;
}

static int setup(void **state)
{
    places = 0;
    ncalls = 0;
    base = event_base_new();
    return base ? 0 : -1;
}

static int teardown(void **state)
{
    event_base_free(base);
    base = NULL;
    return 0;
}

static void *library_thread(void *arg)
{
    event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static void answers_run_on_the_library_s_thread_in_the_order_they_were_given(void **state)
{
    struct answer_seen seen[ANSWERS] = {0};
    pthread_t thread;

    for (int i = 0; i < ANSWERS; i++)
        handback_post(&known, on_run, on_drop, &seen[i]);
    assert_int_equal(places, 0);
    assert_int_equal(event_base_loopexit(base, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, library_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < ANSWERS; i++) {
        assert_int_equal(seen[i].ran, 1);
        assert_int_equal(seen[i].place, i);
        assert_true(pthread_equal(seen[i].thread, thread));
        assert_false(pthread_equal(seen[i].thread, pthread_self()));
    }
    handback_end();
    for (int i = 0; i < ANSWERS; i++)
        assert_int_equal(seen[i].dropped, 0);
}

/* Each answer is on the heap: drop() frees it. */
static void calls_not_run_when_the_thread_ends_are_dropped_once(void **state)
{
    struct answer_seen seen[3] = {0};

    handback_post(&known, on_run, on_drop, &seen[0]);
    assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
    handback_post(&known, on_run, on_drop, &seen[1]);
    handback_post(&known, on_run, on_drop, &seen[2]);
    handback_end();
    handback_end();
    assert_int_equal(seen[0].ran, 1);
    assert_int_equal(seen[0].dropped, 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(seen[i].ran, 0);
        assert_int_equal(seen[i].dropped, 1);
    }
}

static void before_the_library_has_a_thread_answers_run_at_once(void **state)
{
    struct event_base *later = base;
    struct answer_seen seen = {0};

    base = NULL;
    handback_post(&known, on_run, on_drop, &seen);
    base = later;
    assert_int_equal(seen.ran, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(answers_run_on_the_library_s_thread_in_the_order_they_were_given),
        TEST(calls_not_run_when_the_thread_ends_are_dropped_once),
        TEST(before_the_library_has_a_thread_answers_run_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
