/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of local launch: starts, ends, signals, cleanup. */
#include "dvm/host/odls/test/fixture.h"

static int body_missing(int sock, void *arg)
{
    struct odls_rank r = rank_of((const char *const[]){"/x/y", NULL});
    struct t t;

    set_up(&t, sock);
    start(&t, &r);
    run_until(&t, one_failed);
    CHECK(t.errnum == ENOENT && strcmp(t.what, "exec /x/y") == 0);
    t.failed = 0;
    r.argv = SH("true");
    r.cwd = "/no/such/dir";
    start(&t, &r); /* the rank's number is free again */
    run_until(&t, one_failed);
    CHECK(t.errnum == ENOENT && strcmp(t.what, "chdir /no/such/dir") == 0);
    CHECK(!t.started && !t.exited && !t.ends);
    return tear_down(&t);
}

static void a_missing_program_or_directory_fails_with_errno_and_action(void **state)
{
    assert_int_equal(under_spawner(body_missing, NULL), 0);
}

static bool hundred_over(const struct t *t)
{
    return t->started == 100 && t->exited == 100 && t->ends == 200;
}

static int body_hundred(int sock, void *arg)
{
    const char *const *argv = SH("echo hello");
    struct odls_rank ranks[100];
    struct t t;
    int rc;

    set_up(&t, sock);
    for (uint32_t i = 0; i < 100; i++) {
        ranks[i] = rank_of(argv);
        ranks[i].rank = i;
    }
    CALL(&t, rc = odls_start(t.o, NS, ranks, 100, NULL));
    CHECK(rc == 0);
    run_until(&t, hundred_over);
    CHECK(t.out_bytes == 600);
    return tear_down(&t);
}

static void a_hundred_ranks_start_and_end(void **state)
{
    assert_int_equal(under_spawner(body_hundred, NULL), 0);
}

static bool hundred_ready(const struct t *t)
{
    return t->ready == 100;
}

static bool all_but_one_failed(const struct t *t)
{
    return t->failed == 99;
}

static int body_wait(int sock, void *arg)
{
    const char *const *argv = SH("echo hello");
    struct odls_rank ranks[100];
    struct t t;
    int rc;

    set_up(&t, sock);
    for (uint32_t i = 0; i < 100; i++) {
        ranks[i] = rank_of(argv);
        ranks[i].rank = i;
        ranks[i].waits = true;
    }
    CALL(&t, rc = odls_start(t.o, NS, ranks, 100, NULL));
    CHECK(rc == 0);
    run_until(&t, hundred_ready);
    run_for(&t, 50);
    CHECK(!t.started && !t.failed && !t.out_bytes);
    CALL(&t, odls_go(t.o, NS));
    run_until(&t, hundred_over);
    CHECK(t.out_bytes == 600 && t.ready == 100);
    t.started = t.exited = 0;
    ranks[7].cwd = "/no/such/dir";
    CALL(&t, rc = odls_start(t.o, NS, ranks, 100, NULL));
    CHECK(rc == 0);
    run_until(&t, one_failed);
    CHECK(strcmp(t.what, "chdir /no/such/dir") == 0);
    t.failed = 0;
    CALL(&t, odls_end(t.o, NS, ODLS_ALL_RANKS, 0));
    run_until(&t, all_but_one_failed);
    CHECK(t.errnum == ECANCELED && !t.started && t.out_bytes == 600);
    CALL(&t, odls_go(t.o, NS)); /* no process is left */
    return tear_down(&t);
}

static void waiting_ranks_run_when_all_are_released_or_are_ended_unstarted(void **state)
{
    assert_int_equal(under_spawner(body_wait, NULL), 0);
}

static int body_grace(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done", false);
    run_until(&t, has_output);
    CALL(&t, odls_end(t.o, NS, ODLS_ALL_RANKS, 30000));
    run_until(&t, one_over);
    CHECK(WIFEXITED(t.status) && WEXITSTATUS(t.status) == 3);
    return tear_down(&t);
}

static void a_rank_ends_within_its_grace_by_its_own_code(void **state)
{
    assert_int_equal(under_spawner(body_grace, NULL), 0);
}

static int body_no_grace(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "trap '' TERM; echo ready; while :; do sleep 1; done", false);
    run_until(&t, has_output);
    CALL(&t, odls_end(t.o, NS, 0, 20));
    CALL(&t, odls_end(t.o, NS, 0, 1000000)); /* a later call cannot make the grace longer */
    run_until(&t, one_over);
    CHECK(WIFSIGNALED(t.status) && WTERMSIG(t.status) == SIGKILL);
    CALL(&t, odls_end(t.o, NS, 0, 0));
    CALL(&t, odls_signal(t.o, "9.9", ODLS_ALL_RANKS, SIGTERM));
    CALL(&t, odls_output_pause(t.o, "9.9", true));
    return tear_down(&t);
}

static void a_rank_that_ignores_sigterm_is_killed_after_its_grace(void **state)
{
    assert_int_equal(under_spawner(body_no_grace, NULL), 0);
}

static int body_stopped(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "trap 'exit 3' TERM; echo ready; kill -STOP $$; exit 9", false);
    run_until(&t, has_output);
    CALL(&t, odls_end(t.o, NS, 0, 30000));
    run_until(&t, one_over);
    return tear_down(&t);
}

static void a_stopped_rank_is_woken_to_end(void **state)
{
    assert_int_equal(under_spawner(body_stopped, NULL), 0);
}

static int body_refusals(int sock, void *arg)
{
    struct odls_rank two[2] = {rank_of(SH("sleep 1000")), rank_of(SH("sleep 1000"))};
    struct err err = {0};
    struct t t;

    set_up(&t, sock);
    CHECK(odls_start(t.o, NS, two, 2, &err) < 0 && strstr(err.msg, "rank 0 is named twice"));
    two[1].rank = 1;
    two[1].cwd = "relative";
    CHECK(odls_start(t.o, NS, two, 2, &err) < 0 && strstr(err.msg, "no absolute working"));
    two[1].cwd = "/";
    two[1].cpuset = "1-";
    CHECK(odls_start(t.o, NS, two, 2, &err) < 0 && strstr(err.msg, "\"1-\" is no list of cpus"));
    two[1].cpuset = "zero";
    CHECK(odls_start(t.o, NS, two, 2, &err) < 0 && strstr(err.msg, "\"zero\""));
    two[1].cpuset = NULL;
    two[1].argv = (const char *const[]){NULL};
    CHECK(odls_start(t.o, NS, two, 2, &err) < 0 && strstr(err.msg, "starting rank 1 of 1.1: no"));
    run_for(&t, 20);
    CHECK(!t.started && !t.failed);
    start(&t, &two[0]);
    CHECK(odls_start(t.o, NS, two, 1, &err) < 0 && strstr(err.msg, "has not ended"));
    return tear_down(&t); /* with a running rank, which the spawner ends */
}

static void a_refused_start_gives_the_reason_and_starts_no_rank(void **state)
{
    assert_int_equal(under_spawner(body_refusals, NULL), 0);
}

static int body_no_descriptors(int sock, void *arg)
{
    const char *const *argv = SH("true");
    struct odls_rank ranks[100];
    struct rlimit low = {.rlim_cur = 64, .rlim_max = 64};
    struct err err = {0};
    struct t t;

    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    set_up(&t, sock);
    for (uint32_t i = 0; i < 100; i++) {
        ranks[i] = rank_of(argv);
        ranks[i].rank = i;
    }
    /* Which descriptors are missing depends on the number with which the test was started. */
    CHECK(odls_start(t.o, NS, ranks, 100, &err) < 0 && strstr(err.msg, strerror(EMFILE)));
    start(&t, &ranks[0]); /* the descriptors are free again */
    run_until(&t, one_over);
    return tear_down(&t);
}

static void a_start_without_descriptors_left_is_refused_as_a_whole(void **state)
{
    assert_int_equal(under_spawner(body_no_descriptors, NULL), 0);
}

static int body_bound(int sock, void *arg)
{
    struct odls_rank r = rank_of(SH("grep -o 'Cpus_allowed_list.*' /proc/self/status"));
    struct t t;

    set_up(&t, sock);
    r.cpuset = "0";
    start(&t, &r);
    run_until(&t, one_over);
    CHECK(out_is(&t, "Cpus_allowed_list:\t0\n"));
    return tear_down(&t);
}

static void a_rank_is_bound_to_its_cpus(void **state)
{
    assert_int_equal(under_spawner(body_bound, NULL), 0);
}

static int body_signal(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "exec sleep 1000", false);
    CALL(&t, odls_signal(t.o, NS, 0, SIGUSR1)); /* before the spawner knows the rank */
    run_until(&t, one_over);
    CHECK(WTERMSIG(t.status) == SIGUSR1);
    return tear_down(&t);
}

static void a_signal_reaches_the_rank(void **state)
{
    assert_int_equal(under_spawner(body_signal, NULL), 0);
}

static int body_clean(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    CALL(&t, odls_clean_add(t.o, 7, REMOVE_DIR, arg));
    return tear_down(&t);
}

static bool has_cleaned(const struct t *t)
{
    return t->cleaned != 0;
}

static int body_clean_now(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    CALL(&t, odls_clean_add(t.o, 7, REMOVE_DIR, arg));
    CALL(&t, odls_clean_run(t.o, 7));
    run_until(&t, has_cleaned);
    CHECK(t.cleaned == 7);
    CHECK(access(arg, F_OK) < 0);
    return tear_down(&t);
}

static void registered_paths_are_removed_when_the_daemon_ends(void **state)
{
    char dir[] = "/tmp/test_odls.XXXXXX";

    assert_non_null(mkdtemp(dir));
    assert_int_equal(under_spawner(body_clean, dir), 0);
    assert_int_equal(access(dir, F_OK), -1);
}

static void the_end_of_a_cleanup_is_reported(void **state)
{
    char dir[] = "/tmp/test_odls.XXXXXX";

    assert_non_null(mkdtemp(dir));
    assert_int_equal(under_spawner(body_clean_now, dir), 0);
}

static bool is_lost(const struct t *t)
{
    return t->lost == 1;
}

static void a_lost_spawner_is_reported_once_and_starts_are_refused(void **state)
{
    struct odls_rank r = rank_of(SH("true"));
    struct err err = {0};
    struct t t;
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
    set_up(&t, sv[0]);
    start(&t, &r);
    close(sv[1]);
    run_until(&t, is_lost);
    assert_int_equal(odls_start(t.o, NS, &r, 1, &err), -1);
    run_for(&t, 10);
    assert_int_equal(t.lost, 1);
    tear_down(&t);
}

static void a_malformed_or_unknown_report_changes_nothing(void **state)
{
    struct t t;
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
    set_up(&t, sv[0]);
    assert_int_equal(send(sv[1], "nonsense", 8, 0), 8);
    assert_int_equal(send(sv[1], "\1\0\0\0\0\0\0\0\7\0\0\0\1\0\0\0\0", 17, 0), 17);
    run_for(&t, 10);
    assert_int_equal(t.started + t.failed + t.exited + t.lost, 0);
    close(sv[1]);
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_program_or_directory_fails_with_errno_and_action),
        cmocka_unit_test(a_hundred_ranks_start_and_end),
        cmocka_unit_test(waiting_ranks_run_when_all_are_released_or_are_ended_unstarted),
        cmocka_unit_test(a_rank_ends_within_its_grace_by_its_own_code),
        cmocka_unit_test(a_rank_that_ignores_sigterm_is_killed_after_its_grace),
        cmocka_unit_test(a_stopped_rank_is_woken_to_end),
        cmocka_unit_test(a_refused_start_gives_the_reason_and_starts_no_rank),
        cmocka_unit_test(a_start_without_descriptors_left_is_refused_as_a_whole),
        cmocka_unit_test(a_rank_is_bound_to_its_cpus),
        cmocka_unit_test(a_signal_reaches_the_rank),
        cmocka_unit_test(registered_paths_are_removed_when_the_daemon_ends),
        cmocka_unit_test(the_end_of_a_cleanup_is_reported),
        cmocka_unit_test(a_lost_spawner_is_reported_once_and_starts_are_refused),
        cmocka_unit_test(a_malformed_or_unknown_report_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
