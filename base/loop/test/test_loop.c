/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop: timers, descriptors, signals, posts, and objects that end inside their callback.
 */
#include "base/loop/loop.h"

#include "base/buf/buf.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_timer *other;
    struct loop_fd *fd;
    struct loop_signal *sig;
    int pipe[2];
    int calls;
    int events;
    uint64_t due_ms;
    char order[16];
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    f->loop = loop_create(NULL);
    if (!f->loop || pipe(f->pipe) < 0)
        return -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    loop_timer_destroy(f->timer);
    loop_timer_destroy(f->other);
    loop_fd_destroy(f->fd);
    loop_signal_destroy(f->sig);
    loop_destroy(f->loop);
    close(f->pipe[0]);
    close(f->pipe[1]);
    free(f);
    return 0;
}

static void run(struct fixture *f)
{
    struct err err = {0};

    assert_int_equal(loop_run(f->loop, &err), 0);
}

static void on_stop(void *arg)
{
    struct fixture *f = arg;

    f->calls++;
    loop_stop(f->loop);
}

static void on_never(void *arg)
{
    fail_msg("a callback came that should not");
}

static void on_count(void *arg)
{
    struct fixture *f = arg;

    f->calls++;
}

static void destroying_null_is_allowed(void **state)
{
    loop_timer_destroy(NULL);
    loop_fd_destroy(NULL);
    loop_signal_destroy(NULL);
    loop_destroy(NULL);
}

static void a_disarmed_timer_does_not_fire(void **state)
{
    struct fixture *f = *state;

    f->other = loop_timer_create(f->loop, on_never, f);
    loop_timer_arm(f->other, 0);
    loop_timer_disarm(f->other);
    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_timer_arm(f->timer, 2);
    run(f);
}

static void an_idle_timer_does_not_fire(void **state)
{
    struct fixture *f = *state;

    f->other = loop_timer_create(f->loop, on_never, f);
    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_timer_arm(f->timer, 2);
    run(f);
}

static void a_timer_is_never_early(void **state)
{
    struct fixture *f = *state;

    f->timer = loop_timer_create(f->loop, on_stop, f);
    for (uint64_t delay = 0; delay < 20; delay++) {
        uint64_t due = loop_now_ms(f->loop) + delay;

        loop_timer_arm(f->timer, delay);
        run(f);
        assert_true(loop_now_ms(f->loop) >= due);
    }
}

static void on_arm_late(void *arg)
{
    struct fixture *f = arg;
    uint64_t until = loop_now_ms(f->loop) + 10;

    /* A callback that lasts some time, then arms a timer. */
    while (loop_now_ms(f->loop) < until)
        continue;
    f->due_ms = loop_now_ms(f->loop) + 5;
    loop_timer_arm(f->timer, 5);
}

static void a_timer_counts_from_when_it_is_armed(void **state)
{
    struct fixture *f = *state;

    f->timer = loop_timer_create(f->loop, on_stop, f);
    f->other = loop_timer_create(f->loop, on_arm_late, f);
    loop_timer_arm(f->other, 0);
    run(f);
    assert_true(loop_now_ms(f->loop) >= f->due_ms);
}

static void arming_an_armed_timer_moves_it(void **state)
{
    struct fixture *f = *state;

    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_timer_arm(f->timer, UINT64_MAX);
    loop_timer_arm(f->timer, 1);
    run(f);
    assert_int_equal(f->calls, 1);
}

static void a_timer_fires_once(void **state)
{
    struct fixture *f = *state;

    f->other = loop_timer_create(f->loop, on_count, f);
    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_timer_arm(f->other, 0);
    loop_timer_arm(f->timer, 5);
    run(f);
    assert_int_equal(f->calls, 2);
}

static void on_destroy_timer(void *arg)
{
    struct fixture *f = arg;

    loop_timer_destroy(f->timer);
    f->timer = NULL;
    loop_stop(f->loop);
}

static void a_timer_may_be_destroyed_inside_its_callback(void **state)
{
    struct fixture *f = *state;

    f->timer = loop_timer_create(f->loop, on_destroy_timer, f);
    loop_timer_arm(f->timer, 0);
    run(f);
    assert_null(f->timer);
}

static void on_ready(int fd, int events, void *arg)
{
    struct fixture *f = arg;

    f->calls++;
    f->events = events;
    loop_stop(f->loop);
}

static void a_descriptor_without_watched_events_is_not_reported(void **state)
{
    struct fixture *f = *state;

    f->fd = loop_fd_create(f->loop, f->pipe[1], 0, on_ready, f);
    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_timer_arm(f->timer, 2);
    run(f);
    assert_int_equal(f->events, 0);
}

static void a_descriptor_reports_what_it_is_ready_for(void **state)
{
    struct fixture *f = *state;

    f->fd = loop_fd_create(f->loop, f->pipe[1], LOOP_READ | LOOP_WRITE, on_ready, f);
    run(f);
    assert_int_equal(f->events, LOOP_WRITE);
}

static void a_descriptor_is_level_triggered(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(write(f->pipe[1], "x", 1), 1);
    f->fd = loop_fd_create(f->loop, f->pipe[0], LOOP_READ, on_ready, f);
    run(f);
    run(f);
    assert_int_equal(f->calls, 2);
    assert_int_equal(f->events, LOOP_READ);
}

static void the_watched_events_can_be_changed(void **state)
{
    struct fixture *f = *state;

    f->fd = loop_fd_create(f->loop, f->pipe[1], 0, on_ready, f);
    loop_fd_set(f->fd, LOOP_WRITE);
    run(f);
    loop_fd_set(f->fd, 0);
    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_timer_arm(f->timer, 2);
    run(f);
    assert_int_equal(f->calls, 2);
}

static void a_poked_descriptor_is_called_once_as_if_it_were_ready(void **state)
{
    struct fixture *f = *state;

    f->fd = loop_fd_create(f->loop, f->pipe[0], LOOP_READ, on_ready, f);
    loop_fd_poke(f->fd, LOOP_WRITE);
    loop_fd_poke(f->fd, LOOP_WRITE);
    run(f);
    assert_int_equal(f->events, LOOP_WRITE);
    assert_int_equal(f->calls, 1);
    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_timer_arm(f->timer, 2);
    loop_fd_poke(f->fd, LOOP_WRITE);
    loop_fd_set(f->fd, LOOP_READ); /* takes it back */
    run(f);
    assert_int_equal(f->calls, 2); /* the timer's */
    assert_int_equal(write(f->pipe[1], "x", 1), 1);
    run(f);
    assert_int_equal(f->events, LOOP_READ);
}

static void on_close_and_open(void *arg)
{
    struct fixture *f = arg;
    int old = f->pipe[0];

    loop_fd_destroy(f->fd);
    close(f->pipe[0]);
    close(f->pipe[1]);
    assert_int_equal(pipe(f->pipe), 0);
    assert_int_equal(f->pipe[0], old);
    f->fd = loop_fd_create(f->loop, f->pipe[0], LOOP_READ, on_ready, f);
    assert_int_equal(write(f->pipe[1], "x", 1), 1);
}

static void a_descriptor_number_that_is_reused_within_a_turn_is_another_watch(void **state)
{
    struct fixture *f = *state;

    f->fd = loop_fd_create(f->loop, f->pipe[0], LOOP_READ, on_ready, f);
    loop_post(f->loop, on_close_and_open, f);
    run(f);
    assert_int_equal(f->events, LOOP_READ);
}

static void on_ready_destroy(int fd, int events, void *arg)
{
    struct fixture *f = arg;

    loop_fd_destroy(f->fd);
    f->fd = NULL;
    loop_stop(f->loop);
}

static void a_watch_may_be_destroyed_inside_its_callback(void **state)
{
    struct fixture *f = *state;

    f->fd = loop_fd_create(f->loop, f->pipe[1], LOOP_WRITE, on_ready_destroy, f);
    run(f);
    assert_null(f->fd);
}

static void on_signal(int signum, void *arg)
{
    struct fixture *f = arg;

    f->events = signum;
    loop_stop(f->loop);
}

static void a_signal_is_reported(void **state)
{
    struct fixture *f = *state;

    f->sig = loop_signal_create(f->loop, SIGUSR1, on_signal, f);
    kill(getpid(), SIGUSR1);
    run(f);
    assert_int_equal(f->events, SIGUSR1);
}

static void a_write_to_a_closed_pipe_does_not_end_the_program(void **state)
{
    struct fixture *f = *state;

    close(f->pipe[0]);
    assert_int_equal(write(f->pipe[1], "x", 1), -1);
}

static void note(struct fixture *f, char what)
{
    f->order[strlen(f->order)] = what;
}

static void on_a(void *arg)
{
    note(arg, 'a');
}

static void on_b(void *arg)
{
    struct fixture *f = arg;

    note(f, 'b');
    loop_stop(f->loop);
}

static void posts_run_in_their_order(void **state)
{
    struct fixture *f = *state;

    loop_post(f->loop, on_a, f);
    loop_post(f->loop, on_a, f);
    loop_post(f->loop, on_b, f);
    run(f);
    assert_string_equal(f->order, "aab");
}

static void on_post_again(void *arg)
{
    struct fixture *f = arg;

    loop_post(f->loop, on_b, f);
    note(f, '1');
}

static void a_post_from_a_post_waits_for_the_next_turn(void **state)
{
    struct fixture *f = *state;

    loop_post(f->loop, on_post_again, f);
    loop_post(f->loop, on_a, f);
    run(f);
    assert_string_equal(f->order, "1ab");
}

static void queued_posts_are_run_when_the_loop_is_destroyed(void **state)
{
    struct fixture *f = *state;

    loop_post(f->loop, on_count, f);
    loop_destroy(f->loop);
    f->loop = NULL;
    assert_int_equal(f->calls, 1);
}

#define POSTS 1000

static void on_counted_stop(void *arg)
{
    struct fixture *f = arg;

    if (++f->calls == 2 * POSTS)
        loop_stop(f->loop);
}

static void *post_many(void *arg)
{
    struct fixture *f = arg;

    for (int i = 0; i < POSTS; i++)
        loop_post(f->loop, on_counted_stop, f);
    return NULL;
}

static void posts_from_other_threads_all_arrive(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, post_many, f);
    pthread_create(&threads[1], NULL, post_many, f);
    run(f);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(f->calls, 2 * POSTS);
}

static void on_stop_twice(void *arg)
{
    struct fixture *f = arg;

    loop_stop(f->loop);
    loop_stop(f->loop);
    loop_timer_arm(f->timer, 2);
}

static void stopping_twice_ends_one_run_only(void **state)
{
    struct fixture *f = *state;

    f->timer = loop_timer_create(f->loop, on_stop, f);
    loop_post(f->loop, on_stop_twice, f);
    run(f);
    assert_int_equal(f->calls, 0);
    run(f);
    assert_int_equal(f->calls, 1);
}

static void the_wall_clock_is_in_milliseconds_since_1970(void **state)
{
    assert_true(loop_wall_ms() > 1700000000000);
    assert_true(loop_wall_ms() < 17000000000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(destroying_null_is_allowed),
        TEST(a_disarmed_timer_does_not_fire),
        TEST(an_idle_timer_does_not_fire),
        TEST(a_timer_is_never_early),
        TEST(a_timer_counts_from_when_it_is_armed),
        TEST(arming_an_armed_timer_moves_it),
        TEST(a_timer_fires_once),
        TEST(a_timer_may_be_destroyed_inside_its_callback),
        TEST(a_descriptor_without_watched_events_is_not_reported),
        TEST(a_descriptor_reports_what_it_is_ready_for),
        TEST(a_descriptor_is_level_triggered),
        TEST(the_watched_events_can_be_changed),
        TEST(a_poked_descriptor_is_called_once_as_if_it_were_ready),
        TEST(a_descriptor_number_that_is_reused_within_a_turn_is_another_watch),
        TEST(a_watch_may_be_destroyed_inside_its_callback),
        TEST(a_signal_is_reported),
        TEST(a_write_to_a_closed_pipe_does_not_end_the_program),
        TEST(posts_run_in_their_order),
        TEST(a_post_from_a_post_waits_for_the_next_turn),
        TEST(queued_posts_are_run_when_the_loop_is_destroyed),
        TEST(posts_from_other_threads_all_arrive),
        TEST(stopping_twice_ends_one_run_only),
        TEST(the_wall_clock_is_in_milliseconds_since_1970),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
