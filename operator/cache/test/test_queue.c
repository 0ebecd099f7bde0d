/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the work queue: order, each key once, keys added meanwhile, back-off. The clock
 * moves by a millisecond a turn of the loop. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "base/loop/test/clock.h"
#include "operator/cache/cache.h"

#include <stdio.h>
#include <string.h>

#define GUARD_MS 20000

struct world {
    struct loop *loop;
    struct queue *queue;
    struct loop_timer *guard;
    char order[4096];
    int runs, stop_at;
    bool stopped;
    uint64_t ran_ms[64];
    void (*on_work)(struct world *w, const char *key);
};

static void on_guard(void *arg)
{
    fail_msg("nothing happened for %d ms", GUARD_MS);
}

static void on_work(const char *key, void *arg)
{
    struct world *w = arg;

    if (w->runs < 64)
        w->ran_ms[w->runs] = loop_now_ms(w->loop);
    w->runs++;
    strncat(w->order, key, sizeof(w->order) - strlen(w->order) - 1);
    if (w->on_work)
        w->on_work(w, key);
    if (w->runs == w->stop_at) {
        w->stopped = true;
        loop_stop(w->loop);
    }
}

static void setup(struct world *w, void (*work)(struct world *w, const char *key))
{
    struct err err = {0};

    *w = (struct world){.on_work = work};
    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    w->queue = queue_create(w->loop, on_work, w);
}

static void teardown(struct world *w)
{
    queue_destroy(w->queue);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
}

static void run_until(struct world *w, int runs)
{
    w->stop_at = runs;
    w->stopped = false;
    loop_timer_arm(w->guard, GUARD_MS);
    clock_run_until(w->loop, &w->stopped);
    loop_timer_disarm(w->guard);
    assert_int_equal(w->runs, runs);
}

/* Some turns of the loop, in which everything due is done. */
static void turns(struct world *w)
{
    for (int i = 0; i < 5; i++)
        clock_turn(w->loop);
}

static void done_ok(struct world *w, const char *key)
{
    queue_done(w->queue, key, true);
}

static void done_failed(struct world *w, const char *key)
{
    queue_done(w->queue, key, false);
}

static void adding_a_key_does_not_call_work(void **state)
{
    struct world w;

    setup(&w, done_ok);
    queue_add(w.queue, "a");
    assert_int_equal(w.runs, 0);
    assert_int_equal(queue_depth(w.queue), 1);
    run_until(&w, 1);
    assert_int_equal(queue_depth(w.queue), 0);
    teardown(&w);
}

static void keys_run_once_in_the_order_of_their_first_add(void **state)
{
    struct world w;

    setup(&w, done_ok);
    queue_add(w.queue, "b");
    queue_add(w.queue, "a");
    queue_add(w.queue, "b");
    queue_add(w.queue, "c");
    run_until(&w, 3);
    turns(&w);
    assert_string_equal(w.order, "bac");
    teardown(&w);
}

static void a_key_added_while_it_runs_runs_again_afterwards(void **state)
{
    struct world w;

    setup(&w, NULL);
    queue_add(w.queue, "a");
    run_until(&w, 1);
    queue_add(w.queue, "a");
    queue_add(w.queue, "a");
    turns(&w);
    assert_int_equal(w.runs, 1);
    queue_done(w.queue, "a", true);
    run_until(&w, 2);
    queue_done(w.queue, "a", true);
    turns(&w);
    assert_int_equal(w.runs, 2);
    teardown(&w);
}

static void failures_back_off_and_a_success_resets_the_back_off(void **state)
{
    struct world w;

    setup(&w, done_failed);
    queue_add(w.queue, "a");
    run_until(&w, 4);
    assert_in_range(w.ran_ms[1] - w.ran_ms[0], 25, 50);
    assert_in_range(w.ran_ms[2] - w.ran_ms[1], 50, 100);
    assert_in_range(w.ran_ms[3] - w.ran_ms[2], 100, 200);
    w.on_work = done_ok;
    run_until(&w, 5);
    w.on_work = done_failed;
    queue_add(w.queue, "a");
    run_until(&w, 7);
    assert_in_range(w.ran_ms[6] - w.ran_ms[5], 25, 50);
    teardown(&w);
}

/* All clusters fail at once when the API server does, and do not come back at once. */
static void keys_that_fail_together_are_tried_again_at_different_times(void **state)
{
    enum { KEYS = 32 };
    struct world w;

    setup(&w, done_failed);
    for (unsigned i = 0; i < KEYS; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%u", i);
        queue_add(w.queue, key);
    }
    run_until(&w, 2 * KEYS);
    assert_true(w.ran_ms[2 * KEYS - 1] - w.ran_ms[KEYS] >= 8); /* of 25 */
    teardown(&w);
}

static void an_add_ends_the_back_off(void **state)
{
    struct world w;

    setup(&w, done_failed);
    queue_add(w.queue, "a");
    run_until(&w, 4); /* the next run would be 400 ms later */
    queue_add(w.queue, "a");
    run_until(&w, 5);
    assert_int_equal(w.ran_ms[4] - w.ran_ms[3], 0);
    teardown(&w);
}

static void added_and_failed(struct world *w, const char *key)
{
    queue_add(w->queue, key);
    queue_add_after(w->queue, key, 1);
    queue_done(w->queue, key, false);
}

/* The next run sees it. A server that fails is not asked at once because something has happened. */
static void an_add_during_a_run_that_fails_does_not_end_the_back_off(void **state)
{
    struct world w;

    setup(&w, added_and_failed);
    queue_add(w.queue, "a");
    run_until(&w, 4);
    assert_in_range(w.ran_ms[1] - w.ran_ms[0], 25, 50);
    assert_in_range(w.ran_ms[2] - w.ran_ms[1], 50, 100);
    assert_in_range(w.ran_ms[3] - w.ran_ms[2], 100, 200);
    teardown(&w);
}

static void the_earliest_of_several_delays_counts(void **state)
{
    struct world w;

    setup(&w, done_ok);
    queue_add_after(w.queue, "a", 60000);
    queue_add_after(w.queue, "a", 30);
    queue_add_after(w.queue, "a", 50000);
    run_until(&w, 1);
    turns(&w);
    assert_int_equal(w.runs, 1);
    teardown(&w);
}

static void a_delay_added_while_running_counts_from_the_add(void **state)
{
    struct world w;

    setup(&w, NULL);
    queue_add(w.queue, "a");
    run_until(&w, 1);
    queue_add_after(w.queue, "a", 30);
    turns(&w);
    assert_int_equal(w.runs, 1);
    queue_done(w.queue, "a", true);
    run_until(&w, 2);
    assert_int_equal(w.ran_ms[1] - w.ran_ms[0], 30);
    queue_done(w.queue, "a", true);
    teardown(&w);
}

static void a_forgotten_key_does_not_run_unless_it_is_added_again(void **state)
{
    struct world w;

    setup(&w, NULL);
    queue_add(w.queue, "a");
    queue_add_after(w.queue, "b", 1);
    queue_forget(w.queue, "a");
    queue_forget(w.queue, "b");
    queue_forget(w.queue, "unknown");
    queue_add(w.queue, "c");
    run_until(&w, 1);
    assert_string_equal(w.order, "c");
    queue_add(w.queue, "c");
    queue_forget(w.queue, "c");
    queue_done(w.queue, "c", false);
    turns(&w);
    assert_int_equal(w.runs, 1);
    queue_add(w.queue, "c");
    run_until(&w, 2);
    queue_forget(w.queue, "c");
    queue_add(w.queue, "c");
    queue_done(w.queue, "c", true);
    run_until(&w, 3);
    teardown(&w);
}

static void at_most_sixteen_keys_run_at_once(void **state)
{
    struct world w;

    setup(&w, NULL);
    for (int i = 0; i < 70; i++) {
        FREE_AUTO char *key = xasprintf("k%d", i);

        queue_add(w.queue, key);
    }
    run_until(&w, 16);
    turns(&w);
    assert_int_equal(w.runs, 16);
    assert_int_equal(queue_depth(w.queue), 54);
    queue_done(w.queue, "k5", true);
    run_until(&w, 17);
    teardown(&w);
}

static void add_again(struct world *w, const char *key)
{
    queue_add(w->queue, key);
    queue_done(w->queue, key, true);
}

static void done_and_added(struct world *w, const char *key)
{
    queue_done(w->queue, key, true);
    queue_add(w->queue, key);
}

static void due_at_once(struct world *w, const char *key)
{
    queue_add_after(w->queue, key, 0);
    queue_done(w->queue, key, true);
}

/* A mistake that asks for the next run in each run: 9,400 in a second were seen. */
static void a_key_runs_at_most_twenty_times_in_a_second(void **state)
{
    void (*const work[])(struct world * w, const char *key) = {add_again, done_and_added,
                                                               due_at_once};

    for (size_t i = 0; i < sizeof(work) / sizeof(*work); i++) {
        struct world w;

        setup(&w, work[i]);
        queue_add(w.queue, "a");
        run_until(&w, 3 * QUEUE_PACE_RUNS);
        assert_in_range(w.ran_ms[QUEUE_PACE_RUNS - 1] - w.ran_ms[0], 0, 500);
        assert_in_range(w.ran_ms[QUEUE_PACE_RUNS] - w.ran_ms[0], 1000, 1010);
        assert_in_range(w.ran_ms[2 * QUEUE_PACE_RUNS] - w.ran_ms[0], 2000, 2020);
        assert_in_range(queue_held(w.queue), 2, 3);
        queue_add(w.queue, "b"); /* it waits for nobody */
        turns(&w);
        assert_int_equal(w.order[3 * QUEUE_PACE_RUNS], 'b');
        teardown(&w);
    }
}

/* A key needs three runs; the second one fails. */
static void done_third(struct world *w, const char *key)
{
    unsigned n = 0;

    for (const char *c = w->order; *c; c++)
        n += *c == *key;
    if (n == 1)
        queue_add(w->queue, key);
    queue_done(w->queue, key, n != 2);
}

static void a_key_that_has_begun_is_finished_before_the_next_one_begins(void **state)
{
    struct world w;

    setup(&w, NULL);
    for (int c = 'a'; c < 'a' + 20; c++)
        queue_add(w.queue, (char[]){(char)c, 0});
    run_until(&w, 16);
    queue_done(w.queue, "b", false);
    turns(&w);
    clock_run_for(w.loop, 60);
    assert_string_equal(w.order, "abcdefghijklmnopq");
    queue_add(w.queue, "a");
    queue_done(w.queue, "a", true);
    turns(&w);
    queue_done(w.queue, "c", true);
    turns(&w);
    assert_string_equal(w.order, "abcdefghijklmnopqba");
    teardown(&w);
}

static void keys_that_need_several_runs_have_them_one_after_the_other(void **state)
{
    struct world w;

    setup(&w, done_third);
    queue_add(w.queue, "a");
    queue_add(w.queue, "b");
    run_until(&w, 6);
    assert_int_equal(strncmp(w.order, "aabb", 4), 0);
    teardown(&w);
}

static void a_key_that_never_comes_to_rest_does_not_keep_others_waiting(void **state)
{
    struct world w;

    setup(&w, add_again);
    queue_add(w.queue, "a");
    queue_add(w.queue, "b");
    turns(&w);
    turns(&w);
    assert_int_equal(strncmp(w.order, "aaaaaaaaab", 10), 0);
    teardown(&w);
}

static void a_delay_beyond_all_times_is_none_of_the_past(void **state)
{
    struct world w;

    setup(&w, done_ok);
    queue_add_after(w.queue, "a", UINT64_MAX);
    queue_add_after(w.queue, "b", (uint64_t)-1000);
    queue_add_after(w.queue, "c", 30);
    run_until(&w, 1);
    clock_run_for(w.loop, 86400000);
    assert_string_equal(w.order, "c");
    teardown(&w);
}

static void an_unknown_key_or_a_second_done_is_ignored(void **state)
{
    struct world w;

    setup(&w, NULL);
    queue_done(w.queue, "a", true);
    queue_add(w.queue, "a");
    queue_done(w.queue, "a", true);
    run_until(&w, 1);
    queue_done(w.queue, "a", true);
    queue_done(w.queue, "a", false);
    turns(&w);
    assert_int_equal(w.runs, 1);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_a_key_does_not_call_work),
        cmocka_unit_test(keys_run_once_in_the_order_of_their_first_add),
        cmocka_unit_test(a_key_added_while_it_runs_runs_again_afterwards),
        cmocka_unit_test(failures_back_off_and_a_success_resets_the_back_off),
        cmocka_unit_test(keys_that_fail_together_are_tried_again_at_different_times),
        cmocka_unit_test(an_add_ends_the_back_off),
        cmocka_unit_test(an_add_during_a_run_that_fails_does_not_end_the_back_off),
        cmocka_unit_test(the_earliest_of_several_delays_counts),
        cmocka_unit_test(a_delay_added_while_running_counts_from_the_add),
        cmocka_unit_test(a_forgotten_key_does_not_run_unless_it_is_added_again),
        cmocka_unit_test(at_most_sixteen_keys_run_at_once),
        cmocka_unit_test(a_key_runs_at_most_twenty_times_in_a_second),
        cmocka_unit_test(a_key_that_has_begun_is_finished_before_the_next_one_begins),
        cmocka_unit_test(keys_that_need_several_runs_have_them_one_after_the_other),
        cmocka_unit_test(a_key_that_never_comes_to_rest_does_not_keep_others_waiting),
        cmocka_unit_test(a_delay_beyond_all_times_is_none_of_the_past),
        cmocka_unit_test(an_unknown_key_or_a_second_done_is_ignored),
    };

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
