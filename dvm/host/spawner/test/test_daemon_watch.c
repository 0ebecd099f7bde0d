/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon that hangs while ranks run is killed after its limit, and no other one. */
#include "dvm/host/spawner/spawner_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_MS 30000
#define LOOK_MS (LIMIT_MS / SPAWNER_LOOKS)

struct fix {
    struct spawner sp;
    struct spawner_rank rank;
};

static void add_rank(struct fix *f)
{
    f->rank.pid = 1;
    HASH_ADD(by_pid, f->sp.by_pid, pid, sizeof(f->rank.pid), &f->rank);
}

static int set_up(void **state)
{
    struct fix *f = calloc(1, sizeof(*f));

    if (!f)
        return -1;
    f->sp.daemon = fork();
    if (f->sp.daemon == 0) {
        pause();
        _exit(0);
    }
    *state = f;
    return f->sp.daemon < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;

    kill(f->sp.daemon, SIGKILL);
    waitpid(f->sp.daemon, NULL, 0);
    HASH_CLEAR(by_pid, f->sp.by_pid);
    free(f);
    return 0;
}

/* The time of the next look, which has to be within a third of the limit. */
static uint64_t next_look(struct fix *f, uint64_t now_ms)
{
    int wait_ms = spawner_watch_wait(&f->sp, now_ms);

    assert_in_range(wait_ms, 0, LOOK_MS);
    return now_ms + (uint64_t)wait_ms;
}

static uint64_t turn_at(struct fix *f, uint64_t now_ms)
{
    spawner_watch_turn(&f->sp, now_ms);
    return f->sp.phase == SPAWNER_SERVING ? next_look(f, now_ms) : now_ms;
}

static void a_silent_daemon_is_killed_within_its_limit(void **state)
{
    struct fix *f = *state;
    uint64_t now_ms = 1000;
    int status = 0;

    add_rank(f);
    spawner_watch_heard(&f->sp, LIMIT_MS);
    while (f->sp.phase == SPAWNER_SERVING && now_ms <= 1000 + LIMIT_MS)
        now_ms = turn_at(f, now_ms);
    assert_int_equal(f->sp.phase, SPAWNER_ASKING);
    assert_in_range(now_ms, 1000 + 2 * LOOK_MS, 1000 + LIMIT_MS);
    assert_int_equal(waitpid(f->sp.daemon, &status, 0), f->sp.daemon);
    assert_int_equal(status, SIGKILL);
    assert_int_equal(spawner_watch_wait(&f->sp, now_ms), -1);
}

static void a_daemon_that_sends_commands_is_not_killed(void **state)
{
    struct fix *f = *state;
    uint64_t now_ms = 1000;

    add_rank(f);
    for (int i = 0; i < 20; i++) {
        if (i % 2 == 0)
            spawner_watch_heard(&f->sp, LIMIT_MS);
        now_ms = turn_at(f, now_ms);
        assert_int_equal(f->sp.phase, SPAWNER_SERVING);
    }
}

static void a_daemon_without_ranks_may_be_silent(void **state)
{
    struct fix *f = *state;

    spawner_watch_heard(&f->sp, LIMIT_MS);
    for (uint64_t now_ms = 1000; now_ms < 10 * LIMIT_MS; now_ms += LOOK_MS) {
        spawner_watch_turn(&f->sp, now_ms);
        assert_int_equal(spawner_watch_wait(&f->sp, now_ms), -1);
    }
    /* The time counts from the first rank on. */
    add_rank(f);
    turn_at(f, 20 * LIMIT_MS);
    turn_at(f, 20 * LIMIT_MS + LOOK_MS);
    assert_int_equal(f->sp.phase, SPAWNER_SERVING);
}

static void time_in_which_the_spawner_was_stopped_too_is_not_counted(void **state)
{
    struct fix *f = *state;
    uint64_t now_ms;

    add_rank(f);
    spawner_watch_heard(&f->sp, LIMIT_MS);
    now_ms = turn_at(f, 1000);
    spawner_watch_heard(&f->sp, LIMIT_MS);
    now_ms = turn_at(f, now_ms);
    turn_at(f, now_ms + 100 * LIMIT_MS);
    assert_int_equal(f->sp.phase, SPAWNER_SERVING);
}

static void a_daemon_that_names_no_limit_is_not_watched(void **state)
{
    struct fix *f = *state;

    add_rank(f);
    spawner_watch_heard(&f->sp, 0);
    spawner_watch_turn(&f->sp, 1000);
    assert_int_equal(spawner_watch_wait(&f->sp, 1000), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_silent_daemon_is_killed_within_its_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_that_sends_commands_is_not_killed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_without_ranks_may_be_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_in_which_the_spawner_was_stopped_too_is_not_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_that_names_no_limit_is_not_watched, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
