/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of local launch with a real spawner and real programs. */
#include "base/buf/buf.h"
#include "dvm/odls/odls.h"
#include "dvm/spawner/remove.h"
#include "dvm/spawner/test/under_spawner.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#define NS "1.1"
#define SH(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};

/* The daemon of a test: counts what it is told, and keeps the last of each. */
struct t {
    struct loop *loop;
    struct odls *o;
    struct loop_timer *deadline;
    struct loop_timer *tick;
    bool in_call;
    bool ticked;
    int started, failed, exited, ends, rooms, lost, ready;
    uint64_t cleaned;
    pid_t pid;
    int errnum;
    int status;
    char what[1100];
    struct buf out;
    size_t out_bytes;
    void (*on_data)(struct t *t, const char *data, size_t len); /* instead of `out` */
    uint64_t number;                                            /* what a test's on_data counts */
    uint64_t next;
    unsigned left_open; /* streams, a bit for each */
};

/* Wraps a call, so that an upcall from within it is seen. */
#define CALL(t, call)                                                                              \
    do {                                                                                           \
        (t)->in_call = true;                                                                       \
        call;                                                                                      \
        (t)->in_call = false;                                                                      \
    } while (0)

static void told(struct t *t)
{
    CHECK(!t->in_call);
    loop_stop(t->loop);
}

static void on_started(const char *nspace, uint32_t rank, pid_t pid, void *arg)
{
    struct t *t = arg;

    told(t);
    t->started++;
    t->pid = pid;
}

static void on_failed(const char *nspace, uint32_t rank, int errnum, const char *what, void *arg)
{
    struct t *t = arg;

    told(t);
    t->failed++;
    t->errnum = errnum;
    snprintf(t->what, sizeof(t->what), "%s", what);
}

static void on_output(const char *nspace, uint32_t rank, int stream, const void *data, size_t len,
                      void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(strcmp(nspace, NS) == 0);
    CHECK(len <= 65536);
    if (!len) {
        t->ends++;
        return;
    }
    t->out_bytes += len;
    if (t->on_data)
        t->on_data(t, data, len);
    else
        buf_put_raw(&t->out, data, len);
}

static void on_exited(const char *nspace, uint32_t rank, int wait_status, void *arg)
{
    struct t *t = arg;

    told(t);
    t->exited++;
    t->status = wait_status;
}

static void on_stdin_room(const char *nspace, uint32_t rank, void *arg)
{
    struct t *t = arg;

    told(t);
    t->rooms++;
}

static void on_cleaned(uint64_t scope, int errnum, void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(errnum == 0);
    t->cleaned = scope;
}

static void on_spawner_lost(const char *why, void *arg)
{
    struct t *t = arg;

    told(t);
    t->lost++;
}

static void on_left_open(const char *nspace, uint32_t rank, int stream, void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(t->ends < 2);
    t->left_open |= 1u << stream;
}

static void on_deadline(void *arg)
{
    CHECK(!"in time");
}

static void on_tick(void *arg)
{
    struct t *t = arg;

    t->ticked = true;
    loop_stop(t->loop);
}

static void on_held(const char *nspace, uint32_t rank, bool held, void *arg)
{
    CHECK(!"asked for"); /* dvm/test/hold.bats has ranks that are */
}

static void on_ready(const char *nspace, uint32_t rank, void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(!t->started && !t->exited);
    t->ready++;
}

static const struct odls_upcalls upcalls = {
    on_started,    on_failed,  on_output,       on_held,      on_exited,
    on_stdin_room, on_cleaned, on_spawner_lost, on_left_open, on_ready};

static void set_up(struct t *t, int sock)
{
    struct err err = {0};

    *t = (struct t){0};
    buf_init(&t->out, 16u << 20);
    t->loop = loop_create(&err);
    CHECK(t->loop);
    t->deadline = loop_timer_create(t->loop, on_deadline, t);
    t->tick = loop_timer_create(t->loop, on_tick, t);
    loop_timer_arm(t->deadline, 60000);
    t->o = odls_create(t->loop, sock, &upcalls, t, &err);
    CHECK(t->o);
}

static int tear_down(struct t *t)
{
    odls_destroy(t->o);
    loop_timer_destroy(t->deadline);
    loop_timer_destroy(t->tick);
    loop_destroy(t->loop);
    buf_free(&t->out);
    return 0;
}

static void run_until(struct t *t, bool (*cond)(const struct t *t))
{
    while (!cond(t))
        CHECK(loop_run(t->loop, NULL) == 0);
}

/* Turns the loop for some time, in which something must not happen. */
static void run_for(struct t *t, uint64_t ms)
{
    t->ticked = false;
    loop_timer_arm(t->tick, ms);
    while (!t->ticked)
        CHECK(loop_run(t->loop, NULL) == 0);
}

static bool one_over(const struct t *t)
{
    return t->exited == 1 && t->ends == 2;
}

static bool one_failed(const struct t *t)
{
    return t->failed == 1;
}

static bool one_exited(const struct t *t)
{
    return t->exited == 1;
}

static bool has_output(const struct t *t)
{
    return t->out_bytes > 0;
}

static struct odls_rank rank_of(const char *const *argv)
{
    return (struct odls_rank){.argv = argv, .env = plain_env, .cwd = "/"};
}

static void start(struct t *t, const struct odls_rank *r)
{
    struct err err = {0};
    int rc;

    CALL(t, rc = odls_start(t->o, NS, r, 1, &err));
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    CHECK(rc == 0);
}

static void start_sh(struct t *t, const char *script, bool want_stdin)
{
    struct odls_rank r = rank_of(SH(script));

    r.want_stdin = want_stdin;
    start(t, &r);
}

static bool out_is(struct t *t, const char *text)
{
    return t->out.len == strlen(text) && memcmp(t->out.data, text, t->out.len) == 0;
}

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

static void a_missing_program_or_directory_fails_with_errno_and_what(void **state)
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
    CALL(&t, odls_go(t.o, NS)); /* nobody is left */
    return tear_down(&t);
}

static void ranks_that_wait_run_when_all_are_let_go_or_are_ended_unstarted(void **state)
{
    assert_int_equal(under_spawner(body_wait, NULL), 0);
}

#define NUMBERS 12500000 /* by seq: 101 MB */

static void check_numbers(struct t *t, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\n') {
            t->number = t->number * 10 + (uint64_t)(data[i] - '0');
            continue;
        }
        CHECK(t->number == ++t->next);
        t->number = 0;
    }
}

static long peak_kib(void)
{
    struct rusage ru;

    getrusage(RUSAGE_SELF, &ru);
    return ru.ru_maxrss;
}

static int body_big_output(int sock, void *arg)
{
    struct odls_rank r = rank_of((const char *const[]){"seq", "12500000", NULL});
    size_t while_paused;
    struct t t;
    long before;

    set_up(&t, sock);
    t.on_data = check_numbers;
    start(&t, &r);
    run_until(&t, has_output);
    before = peak_kib();
    CALL(&t, odls_output_pause(t.o, NS, true));
    while_paused = t.out_bytes;
    run_for(&t, 30);
    CHECK(t.out_bytes == while_paused && !t.exited);
    CALL(&t, odls_output_pause(t.o, NS, false));
    run_until(&t, one_over);
    CHECK(t.next == NUMBERS && t.out_bytes > 100000000);
    CHECK(peak_kib() - before < 16 * 1024);
    return tear_down(&t);
}

static void output_of_100_mb_arrives_in_order_in_bounded_memory(void **state)
{
    assert_int_equal(under_spawner(body_big_output, NULL), 0);
}

static int body_paused_end(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "echo late", false);
    CALL(&t, odls_output_pause(t.o, NS, true));
    run_until(&t, one_exited);
    run_for(&t, 2300); /* longer than a held stream is waited for */
    CHECK(!t.out_bytes && !t.ends);
    CALL(&t, odls_output_pause(t.o, NS, false));
    run_until(&t, one_over);
    CHECK(out_is(&t, "late\n"));
    return tear_down(&t);
}

static void a_pause_longer_than_the_rank_loses_nothing(void **state)
{
    assert_int_equal(under_spawner(body_paused_end, NULL), 0);
}

static int body_held_stream(int sock, void *arg)
{
    struct t t;
    int64_t before;
    pid_t left;

    set_up(&t, sock);
    start_sh(&t, "sleep 1000 2>/dev/null & echo $!", false);
    run_until(&t, one_exited);
    before = test_now_ms();
    CHECK(t.ends < 2);
    run_until(&t, one_over);
    CHECK(test_now_ms() - before < 10000);
    buf_put_u8(&t.out, 0);
    left = (pid_t)strtol((char *)t.out.data, NULL, 10);
    CHECK(left > 0);
    run_for(&t, 1);                          /* the end of the job is told to the spawner */
    CHECK(t.left_open == 1u << ODLS_STDOUT); /* its standard error is its own */
    CHECK(wait_gone(left));
    return tear_down(&t);
}

static void a_stream_that_a_grandchild_holds_is_ended_and_the_grandchild_too(void **state)
{
    assert_int_equal(under_spawner(body_held_stream, NULL), 0);
}

static int body_flooding_grandchild(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    t.on_data = NULL;
    start_sh(&t,
             "yes >/dev/null 2>&1 & (trap '' PIPE; while :; do echo y; done) 2>/dev/null & "
             "exit 0",
             false);
    run_until(&t, one_over);
    return tear_down(&t);
}

static void a_grandchild_that_writes_for_ever_does_not_keep_the_stream(void **state)
{
    assert_int_equal(under_spawner(body_flooding_grandchild, NULL), 0);
}

static bool all_echoed(const struct t *t)
{
    return t->out_bytes == 300000;
}

static bool has_room(const struct t *t)
{
    return t->rooms > 0;
}

static int body_echo(int sock, void *arg)
{
    struct odls_rank r = rank_of((const char *const[]){"cat", NULL});
    static char data[300000];
    struct t t;
    size_t waiting;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 % 251);
    set_up(&t, sock);
    r.want_stdin = true;
    start(&t, &r);
    CALL(&t, waiting = odls_stdin(t.o, NS, 0, data, 200000));
    CHECK(waiting == 200000);
    run_until(&t, has_room);
    CALL(&t, odls_stdin(t.o, NS, 0, data + 200000, 100000));
    run_until(&t, all_echoed);
    CHECK(memcmp(t.out.data, data, sizeof(data)) == 0);
    CHECK(!t.exited);
    CALL(&t, odls_stdin(t.o, NS, 0, NULL, 0));
    run_until(&t, one_over);
    CHECK(t.status == 0);
    return tear_down(&t);
}

static void input_comes_back_through_cat_and_its_end_ends_it(void **state)
{
    assert_int_equal(under_spawner(body_echo, NULL), 0);
}

static int body_stdin_full(int sock, void *arg)
{
    char *mib = xcalloc(1, 1u << 20);
    struct t t;
    size_t waiting;

    set_up(&t, sock);
    start_sh(&t, "exec sleep 1000", true);
    CALL(&t, waiting = odls_stdin(t.o, NS, 0, mib, 1u << 20));
    CHECK(waiting == 1u << 20);
    CALL(&t, waiting = odls_stdin(t.o, NS, 0, mib, 1));
    CHECK(waiting == SIZE_MAX);
    CALL(&t, waiting = odls_stdin(t.o, NS, 7, mib, 1)); /* there is no such rank */
    CHECK(waiting == 0);
    CALL(&t, odls_end(t.o, NS, ODLS_ALL_RANKS, 0));
    run_until(&t, one_over);
    CHECK(WTERMSIG(t.status) == SIGKILL);
    CHECK(t.rooms == 1); /* nobody waits for a rank that is gone */
    free(mib);
    return tear_down(&t);
}

static void input_over_the_limit_is_refused(void **state)
{
    assert_int_equal(under_spawner(body_stdin_full, NULL), 0);
}

static int body_stdin_unread(int sock, void *arg)
{
    static char data[200000];
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "exec <&-; echo closed; exec sleep 1000", true);
    run_until(&t, has_output);
    CALL(&t, odls_stdin(t.o, NS, 0, data, sizeof(data)));
    run_until(&t, has_room);
    CALL(&t, odls_end(t.o, NS, 0, 0));
    run_until(&t, one_over);
    return tear_down(&t);
}

static void input_that_nobody_reads_is_dropped(void **state)
{
    assert_int_equal(under_spawner(body_stdin_unread, NULL), 0);
}

static int body_no_stdin(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "cat; echo end >&2", false);
    run_until(&t, one_over);
    CHECK(out_is(&t, "end\n"));
    return tear_down(&t);
}

static void a_rank_without_stdin_reads_its_end_at_once(void **state)
{
    assert_int_equal(under_spawner(body_no_stdin, NULL), 0);
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
    CALL(&t, odls_end(t.o, NS, 0, 1000000)); /* does not make it longer */
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
    return tear_down(&t); /* with a rank that runs: the spawner ends it */
}

static void a_refused_start_says_why_and_starts_nothing(void **state)
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
    /* What was asked for when they ran out depends on how many the test was started with. */
    CHECK(odls_start(t.o, NS, ranks, 100, &err) < 0 && strstr(err.msg, strerror(EMFILE)));
    start(&t, &ranks[0]); /* what was taken is free again */
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

static void what_is_kept_for_cleanup_goes_when_the_daemon_does(void **state)
{
    char dir[] = "/tmp/test_odls.XXXXXX";

    assert_non_null(mkdtemp(dir));
    assert_int_equal(under_spawner(body_clean, dir), 0);
    assert_int_equal(access(dir, F_OK), -1);
}

static void what_was_removed_is_told(void **state)
{
    char dir[] = "/tmp/test_odls.XXXXXX";

    assert_non_null(mkdtemp(dir));
    assert_int_equal(under_spawner(body_clean_now, dir), 0);
}

static bool is_lost(const struct t *t)
{
    return t->lost == 1;
}

static void a_lost_spawner_is_told_once_and_refuses_starts(void **state)
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
        cmocka_unit_test(a_missing_program_or_directory_fails_with_errno_and_what),
        cmocka_unit_test(a_hundred_ranks_start_and_end),
        cmocka_unit_test(ranks_that_wait_run_when_all_are_let_go_or_are_ended_unstarted),
        cmocka_unit_test(output_of_100_mb_arrives_in_order_in_bounded_memory),
        cmocka_unit_test(a_pause_longer_than_the_rank_loses_nothing),
        cmocka_unit_test(a_stream_that_a_grandchild_holds_is_ended_and_the_grandchild_too),
        cmocka_unit_test(a_grandchild_that_writes_for_ever_does_not_keep_the_stream),
        cmocka_unit_test(input_comes_back_through_cat_and_its_end_ends_it),
        cmocka_unit_test(input_over_the_limit_is_refused),
        cmocka_unit_test(input_that_nobody_reads_is_dropped),
        cmocka_unit_test(a_rank_without_stdin_reads_its_end_at_once),
        cmocka_unit_test(a_rank_ends_within_its_grace_by_its_own_code),
        cmocka_unit_test(a_rank_that_ignores_sigterm_is_killed_after_its_grace),
        cmocka_unit_test(a_stopped_rank_is_woken_to_end),
        cmocka_unit_test(a_refused_start_says_why_and_starts_nothing),
        cmocka_unit_test(a_start_without_descriptors_left_is_refused_as_a_whole),
        cmocka_unit_test(a_rank_is_bound_to_its_cpus),
        cmocka_unit_test(a_signal_reaches_the_rank),
        cmocka_unit_test(what_is_kept_for_cleanup_goes_when_the_daemon_does),
        cmocka_unit_test(what_was_removed_is_told),
        cmocka_unit_test(a_lost_spawner_is_told_once_and_refuses_starts),
        cmocka_unit_test(a_malformed_or_unknown_report_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
