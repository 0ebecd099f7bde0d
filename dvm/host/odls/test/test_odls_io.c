/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of local launch: output and input of ranks. */
#include "dvm/host/odls/test/fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

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
    run_for(&t, 3 * LINGER_MS); /* longer than the limit for a stream that is held open */
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

static void on_written(int fd, int events, void *arg)
{
    struct t *t = arg;

    t->ticked = true;
    loop_stop(t->loop);
}

/* A rank whose output is not read reports by a FIFO that it has written. */
static int body_paused_and_ended(int sock, void *arg)
{
    char dir[] = "/tmp/test_odls_io.XXXXXX";
    struct loop_fd *written;
    struct t t;
    char *fifo, *script;
    int fd;

    CHECK(mkdtemp(dir));
    fifo = xasprintf("%s/written", dir);
    script = xasprintf("echo late; echo later >&2; echo > %s; sleep 1000", fifo);
    CHECK(mkfifo(fifo, 0600) == 0);
    fd = open(fifo, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    set_up(&t, sock);
    written = loop_fd_create(t.loop, fd, LOOP_READ, on_written, &t);
    start_sh(&t, script, false);
    CALL(&t, odls_output_pause(t.o, NS, true));
    while (!t.ticked)
        CHECK(loop_run(t.loop, NULL) == 0);
    loop_fd_destroy(written);
    close(fd);
    unlink(fifo);
    rmdir(dir);
    free(fifo);
    free(script);
    CHECK(!t.out_bytes);
    CALL(&t, odls_end(t.o, NS, ODLS_ALL_RANKS, 0));
    run_until(&t, one_over);
    CHECK(t.out_bytes == strlen("late\nlater\n"));
    CHECK(!t.left_open);
    return tear_down(&t);
}

static void a_rank_that_is_ended_does_not_wait_for_a_reader(void **state)
{
    assert_int_equal(under_spawner(body_paused_and_ended, NULL), 0);
}

/* Its last output is in the pipe when it is ordered to end. */
static int body_paused_then_ended(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    start_sh(&t, "echo late", false);
    CALL(&t, odls_output_pause(t.o, NS, true));
    run_until(&t, one_exited);
    run_for(&t, 3 * LINGER_MS);
    CHECK(!t.out_bytes && !t.ends);
    CALL(&t, odls_end(t.o, NS, ODLS_ALL_RANKS, 0));
    run_until(&t, one_over);
    CHECK(out_is(&t, "late\n"));
    return tear_down(&t);
}

static void a_rank_that_has_exited_and_is_ended_does_not_wait_for_a_reader(void **state)
{
    assert_int_equal(under_spawner(body_paused_then_ended, NULL), 0);
}

static int body_paused_flood(int sock, void *arg)
{
    struct t t;

    set_up(&t, sock);
    t.on_data = NULL;
    start_sh(&t, "setsid yes 2>/dev/null & exit 0", false);
    CALL(&t, odls_output_pause(t.o, NS, true));
    run_until(&t, one_exited);
    CALL(&t, odls_end(t.o, NS, ODLS_ALL_RANKS, 0));
    run_until(&t, one_over);
    CHECK(t.out_bytes <= 65536);
    CHECK(t.left_open == 1u << ODLS_STDOUT);
    return tear_down(&t);
}

static void no_more_than_a_pipe_is_read_of_a_paused_rank_s_remaining_output(void **state)
{
    assert_int_equal(under_spawner(body_paused_flood, NULL), 0);
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
    run_for(&t, 1);                          /* the spawner gets the end of the job */
    CHECK(t.left_open == 1u << ODLS_STDOUT); /* the rank's standard error is the test's own */
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
    CHECK(t.rooms == 1); /* no wait for a rank that has ended */
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

static void input_without_a_reader_is_dropped(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_of_100_mb_arrives_in_order_in_bounded_memory),
        cmocka_unit_test(a_pause_longer_than_the_rank_loses_nothing),
        cmocka_unit_test(a_rank_that_is_ended_does_not_wait_for_a_reader),
        cmocka_unit_test(a_rank_that_has_exited_and_is_ended_does_not_wait_for_a_reader),
        cmocka_unit_test(no_more_than_a_pipe_is_read_of_a_paused_rank_s_remaining_output),
        cmocka_unit_test(a_stream_that_a_grandchild_holds_is_ended_and_the_grandchild_too),
        cmocka_unit_test(a_grandchild_that_writes_for_ever_does_not_keep_the_stream),
        cmocka_unit_test(input_comes_back_through_cat_and_its_end_ends_it),
        cmocka_unit_test(input_over_the_limit_is_refused),
        cmocka_unit_test(input_without_a_reader_is_dropped),
        cmocka_unit_test(a_rank_without_stdin_reads_its_end_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
