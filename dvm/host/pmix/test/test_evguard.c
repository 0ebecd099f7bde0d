/* SPDX-License-Identifier: BSD-3-Clause */
/* An event base stays right when a thread of the library closes what it still watches. */
#include "dvm/host/pmix/pmix_private.h"

#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static int calls;

static void on_read(evutil_socket_t fd, short what, void *arg)
{
    char c;

    calls += read(fd, &c, 1) == 1;
}

/* As the library does: the event of the first life of a number is never deleted, and the second one
 * is made of the same number. True if the second one is seen by the kernel. */
static void *reuse(void *arg)
{
    struct event_base *base = event_base_new();
    struct event *old, *young;
    int a[2], b[2];

    assert_int_equal(pipe(a), 0);
    old = event_new(base, a[0], EV_READ | EV_PERSIST, on_read, NULL);
    assert_int_equal(event_add(old, NULL), 0);
    close(a[0]);
    close(a[1]);
    assert_int_equal(pipe(b), 0);
    assert_int_equal(b[0], a[0]);
    young = event_new(base, b[0], EV_READ | EV_PERSIST, on_read, NULL);
    assert_int_equal(event_add(young, NULL), 0);
    assert_int_equal(write(b[1], "x", 1), 1);
    calls = 0;
    event_base_loop(base, EVLOOP_NONBLOCK);
    event_free(old);
    event_free(young);
    close(b[0]);
    close(b[1]);
    event_base_free(base);
    return NULL;
}

static void run_reuse(void)
{
    pthread_t t;

    assert_int_equal(pthread_create(&t, NULL, reuse, NULL), 0);
    pthread_join(t, NULL);
}

static void a_number_that_is_used_again_is_watched_again(void **state)
{
    run_reuse();
    assert_int_equal(calls, 0); /* what is guarded against */
    evguard_start();
    run_reuse();
    assert_int_equal(calls, 1);
}

static void the_thread_of_the_server_is_left_alone(void **state)
{
    evguard_start();
    reuse(NULL);
    assert_int_equal(calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_that_is_used_again_is_watched_again),
        cmocka_unit_test(the_thread_of_the_server_is_left_alone),
    };

    return cmocka_run_group_tests_name("evguard", tests, NULL, NULL);
}
