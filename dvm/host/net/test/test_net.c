/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames, limits, back pressure and ends, over local sockets. */
#include "dvm/host/net/test/net_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static void listen_local(struct fix *f)
{
    struct err err = {0};

    fix_init(f, NULL, NULL);
    assert_int_equal(net_listen_local(f->srv.net, f->path, &err), 0);
}

/* Server and client, connected. */
static void connect_local(struct fix *f)
{
    uint64_t conn;

    listen_local(f);
    CALL(f, conn = net_connect_local(f->cli.net, f->path));
    assert_true(conn != 0);
    RUN_UNTIL(f, f->srv.opened && f->cli.opened);
    assert_true(f->cli.conn == conn);
}

/* A peer that sends raw bytes, not frames. */
static int connect_raw(const struct fix *f)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(un.sun_path, f->path, strlen(f->path) + 1);
    return connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0 ? fd : -1;
}

static void send_text(struct fix *f, struct end *e, const char *text)
{
    CALL(f, net_send(e->net, e->conn, text, strlen(text)));
}

static bool got(const struct end *e, const char *text)
{
    return e->data.len == strlen(text) && memcmp(e->data.data, text, e->data.len) == 0;
}

static void frames_go_both_ways_on_a_local_socket(void **state)
{
    struct fix f;

    connect_local(&f);
    assert_true(f.srv.incoming && !f.cli.incoming);
    assert_false(f.srv.has_peer || f.cli.has_peer);
    send_text(&f, &f.cli, "ping");
    send_text(&f, &f.srv, "pong");
    RUN_UNTIL(&f, f.srv.frames && f.cli.frames);
    assert_true(got(&f.srv, "ping") && got(&f.cli, "pong"));
    fix_fini(&f);
}

static void a_frame_of_no_bytes_is_a_frame(void **state)
{
    struct fix f;

    connect_local(&f);
    CALL(&f, net_send(f.cli.net, f.cli.conn, NULL, 0));
    RUN_UNTIL(&f, f.srv.frames == 1);
    assert_int_equal(f.srv.bytes, 0);
    fix_fini(&f);
}

static void frames_sent_before_the_connection_is_open_arrive(void **state)
{
    struct fix f;

    listen_local(&f);
    CALL(&f, f.cli.conn = net_connect_local(f.cli.net, f.path));
    send_text(&f, &f.cli, "early");
    RUN_UNTIL(&f, f.srv.frames == 1);
    assert_true(got(&f.srv, "early"));
    fix_fini(&f);
}

static void a_frame_byte_by_byte_arrives_once_and_whole(void **state)
{
    static const char bytes[] = "\0\0\0\3abc\0\0\0\1d";
    struct fix f;
    int fd;

    listen_local(&f);
    fd = connect_raw(&f);
    for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
        assert_int_equal(write(fd, bytes + i, 1), 1);
        fix_run_for(&f, 0);
    }
    RUN_UNTIL(&f, f.srv.frames == 2);
    assert_true(got(&f.srv, "abcd"));
    close(fd);
    fix_fini(&f);
}

static void a_frame_and_an_end_at_once_are_both_reported(void **state)
{
    struct fix f;
    int fd;

    listen_local(&f);
    fd = connect_raw(&f);
    assert_int_equal(write(fd, "\0\0\0\1x\0\0\0\1y", 10), 10);
    close(fd);
    RUN_UNTIL(&f, f.srv.closed);
    assert_int_equal(f.srv.opened, 1);
    assert_true(got(&f.srv, "xy"));
    assert_string_equal(f.srv.why, "closed by the peer");
    fix_fini(&f);
}

static void a_frame_cut_by_the_end_is_not_delivered(void **state)
{
    struct fix f;
    int fd;

    listen_local(&f);
    fd = connect_raw(&f);
    assert_int_equal(write(fd, "\0\0\0\5abc", 7), 7);
    close(fd);
    RUN_UNTIL(&f, f.srv.closed);
    assert_int_equal(f.srv.frames, 0);
    assert_string_equal(f.srv.why, "closed by the peer within a frame");
    fix_fini(&f);
}

static void a_length_of_4_gb_is_refused(void **state)
{
    struct fix f;
    char c;
    int fd;

    listen_local(&f);
    fd = connect_raw(&f);
    assert_int_equal(write(fd, "\377\377\377\377", 4), 4);
    RUN_UNTIL(&f, f.srv.closed);
    assert_string_equal(f.srv.why,
                        "the peer announced a frame of 4294967295 bytes, the limit is 67108864");
    fix_run_for(&f, 0);
    assert_int_equal(read(fd, &c, 1), 0);
    close(fd);
    fix_fini(&f);
}

static void the_longest_frame_arrives_and_one_byte_more_is_refused(void **state)
{
    char *big = xcalloc(1, NET_FRAME_MAX + 1);
    struct fix f;

    connect_local(&f);
    CALL(&f, net_send(f.cli.net, f.cli.conn, big, NET_FRAME_MAX));
    RUN_UNTIL(&f, f.srv.frames == 1);
    assert_int_equal(f.srv.bytes, NET_FRAME_MAX);
    CALL(&f, net_send(f.cli.net, f.cli.conn, big, NET_FRAME_MAX + 1));
    RUN_UNTIL(&f, f.cli.closed && f.srv.closed);
    assert_non_null(strstr(f.cli.why, "the limit is"));
    assert_int_equal(f.srv.frames, 1);
    free(big);
    fix_fini(&f);
}

static void a_peer_that_does_not_read_is_closed_at_the_limit(void **state)
{
    const size_t piece = 32u << 20;
    char *data = xcalloc(1, piece);
    struct fix f;
    int sent = 0;

    connect_local(&f);
    CALL(&f, net_pause(f.srv.net, f.srv.conn, true));
    while (net_pending(f.cli.net, f.cli.conn) + piece + 4 <= (512u << 20)) {
        CALL(&f, net_send(f.cli.net, f.cli.conn, data, piece));
        sent++;
    }
    assert_int_equal(f.cli.closed, 0);
    assert_in_range(sent, 15, 16);
    CALL(&f, net_send(f.cli.net, f.cli.conn, data, piece));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, "the peer does not read"));
    assert_int_equal(net_pending(f.cli.net, f.cli.conn), 0);
    free(data);
    fix_fini(&f);
}

static void drained_is_called_once_after_a_large_backlog(void **state)
{
    char *mib = xcalloc(1, 1u << 20);
    struct fix f;

    connect_local(&f);
    CALL(&f, net_send(f.cli.net, f.cli.conn, mib, 1000));
    RUN_UNTIL(&f, f.srv.frames == 1);
    CALL(&f, net_send(f.cli.net, f.cli.conn, mib, 1u << 20));
    RUN_UNTIL(&f, f.srv.frames == 2 && f.cli.drained);
    fix_run_for(&f, 5);
    assert_int_equal(f.cli.drained, 1);
    free(mib);
    fix_fini(&f);
}

static void a_paused_connection_delivers_nothing_until_resumed(void **state)
{
    struct fix f;

    connect_local(&f);
    CALL(&f, net_pause(f.srv.net, f.srv.conn, true));
    send_text(&f, &f.cli, "one");
    fix_run_for(&f, 10);
    assert_int_equal(f.srv.frames, 0);
    CALL(&f, net_pause(f.srv.net, f.srv.conn, false));
    RUN_UNTIL(&f, f.srv.frames == 1);
    fix_fini(&f);
}

static void pause_in_frame(struct end *e, uint64_t conn)
{
    net_pause(e->net, conn, true);
}

static void frames_read_before_a_pause_and_the_end_wait_for_the_reader(void **state)
{
    struct fix f;
    int fd;

    listen_local(&f);
    f.srv.on_frame = pause_in_frame;
    fd = connect_raw(&f);
    assert_int_equal(write(fd, "\0\0\0\1x\0\0\0\1y\0\0\0\1z", 15), 15);
    close(fd);
    RUN_UNTIL(&f, f.srv.frames == 1);
    for (int i = 2; i <= 3; i++) {
        fix_run_for(&f, 5);
        assert_int_equal(f.srv.frames, i - 1);
        assert_int_equal(f.srv.closed, 0);
        CALL(&f, net_pause(f.srv.net, f.srv.conn, false));
        RUN_UNTIL(&f, f.srv.frames == i);
    }
    CALL(&f, net_pause(f.srv.net, f.srv.conn, false));
    RUN_UNTIL(&f, f.srv.closed);
    assert_true(got(&f.srv, "xyz"));
    fix_fini(&f);
}

static void pause_and_resume_in_frame(struct end *e, uint64_t conn)
{
    net_pause(e->net, conn, true);
    net_pause(e->net, conn, false);
}

static void pause_and_resume_within_a_frame_loses_nothing(void **state)
{
    struct fix f;

    connect_local(&f);
    f.srv.on_frame = pause_and_resume_in_frame;
    for (int i = 0; i < 1000; i++)
        send_text(&f, &f.cli, "0123456789");
    RUN_UNTIL(&f, f.srv.frames == 1000);
    assert_int_equal(f.srv.bytes, 10000);
    fix_fini(&f);
}

static void close_in_frame(struct end *e, uint64_t conn)
{
    net_close(e->net, conn, false);
    net_send(e->net, conn, "x", 1); /* unknown by now: ignored */
    net_pause(e->net, conn, true);
}

static void no_callback_comes_after_close(void **state)
{
    struct fix f;

    connect_local(&f);
    f.srv.on_frame = close_in_frame;
    send_text(&f, &f.cli, "a");
    send_text(&f, &f.cli, "b");
    RUN_UNTIL(&f, f.cli.closed);
    fix_run_for(&f, 5);
    assert_int_equal(f.srv.frames, 1);
    assert_int_equal(f.srv.closed, 0);
    assert_int_equal(net_pending(f.srv.net, f.srv.conn), 0);
    fix_fini(&f);
}

static void flush_close_in_frame(struct end *e, uint64_t conn)
{
    e->on_frame = NULL;
    net_send(e->net, conn, "bye", 3);
    net_close(e->net, conn, true);
}

static void a_flush_close_within_a_frame_sends_the_answer(void **state)
{
    struct fix f;

    connect_local(&f);
    f.srv.on_frame = flush_close_in_frame;
    for (int i = 0; i < 1000; i++)
        send_text(&f, &f.cli, "unread");
    RUN_UNTIL(&f, f.cli.closed);
    assert_true(got(&f.cli, "bye"));
    assert_int_equal(f.srv.frames, 1);
    assert_int_equal(f.srv.closed, 0);
    fix_fini(&f);
}

static void a_flush_close_right_after_connect_delivers(void **state)
{
    struct fix f;

    listen_local(&f);
    CALL(&f, f.cli.conn = net_connect_local(f.cli.net, f.path));
    send_text(&f, &f.cli, "hello");
    CALL(&f, net_close(f.cli.net, f.cli.conn, true));
    RUN_UNTIL(&f, f.srv.closed);
    assert_true(got(&f.srv, "hello"));
    assert_int_equal(f.cli.opened + f.cli.closed, 0);
    fix_fini(&f);
}

static void connecting_to_no_socket_reports(void **state)
{
    struct fix f;

    fix_init(&f, NULL, NULL);
    CALL(&f, net_connect_local(f.cli.net, f.path));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, f.path));
    assert_non_null(strstr(f.cli.why, "No such file"));
    fix_fini(&f);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char path[200];
    struct err err = {0};
    struct fix f;

    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    fix_init(&f, NULL, NULL);
    assert_int_equal(net_listen_local(f.srv.net, path, &err), -1);
    assert_non_null(strstr(err.msg, "1 to 107 bytes"));
    CALL(&f, net_connect_local(f.cli.net, path));
    RUN_UNTIL(&f, f.cli.closed);
    fix_fini(&f);
}

static void a_stale_socket_is_replaced_a_live_one_and_a_file_are_not(void **state)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct err err = {0};
    struct stat st;
    struct fix f;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    fix_init(&f, NULL, NULL);
    memcpy(un.sun_path, f.path, strlen(f.path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    close(fd);
    assert_int_equal(net_listen_local(f.srv.net, f.path, &err), 0);
    assert_int_equal(stat(f.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(net_listen_local(f.cli.net, f.path, &err), -1);
    assert_int_equal(err.code, EADDRINUSE);
    net_destroy(f.srv.net);
    f.srv.net = NULL;
    assert_int_equal(access(f.path, F_OK), -1);
    fd = open(f.path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_int_equal(net_listen_local(f.cli.net, f.path, &err), -1);
    assert_int_equal(access(f.path, F_OK), 0);
    unlink(f.path);
    fix_fini(&f);
}

static void another_user_is_refused(void **state)
{
    struct fix f;
    int status;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    listen_local(&f);
    chmod(f.path, 0666);
    chmod(f.dir, 0755);
    pid = fork();
    if (pid == 0) {
        char c;
        int fd;

        if (setresuid(12345, 12345, 12345) < 0)
            _exit(1);
        fd = connect_raw(&f);
        _exit(fd >= 0 && read(fd, &c, 1) <= 0 ? 0 : 2);
    }
    while (waitpid(pid, &status, WNOHANG) == 0)
        fix_run_for(&f, 2);
    assert_int_equal(status, 0);
    assert_int_equal(f.srv.opened + f.srv.closed, 0);
    fix_fini(&f);
}

static void the_4097th_connection_is_closed_at_once(void **state)
{
    struct rlimit r;
    struct fix f;

    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    if (r.rlim_max < 16400 || setrlimit(RLIMIT_NOFILE, &r) < 0)
        skip();
    listen_local(&f);
    for (int i = 1; i <= 4096; i++) {
        CALL(&f, net_connect_local(f.cli.net, f.path));
        if (i % 64 == 0) /* the kernel's queue is short */
            RUN_UNTIL(&f, f.srv.opened == i);
    }
    CALL(&f, net_connect_local(f.cli.net, f.path));
    RUN_UNTIL(&f, f.cli.closed == 1);
    assert_int_equal(f.srv.opened, 4096);
    CALL(&f, net_close(f.srv.net, f.srv.conn, false));
    RUN_UNTIL(&f, f.cli.closed == 2);
    CALL(&f, net_connect_local(f.cli.net, f.path));
    RUN_UNTIL(&f, f.srv.opened == 4097);
    fix_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_go_both_ways_on_a_local_socket),
        cmocka_unit_test(a_frame_of_no_bytes_is_a_frame),
        cmocka_unit_test(frames_sent_before_the_connection_is_open_arrive),
        cmocka_unit_test(a_frame_byte_by_byte_arrives_once_and_whole),
        cmocka_unit_test(a_frame_and_an_end_at_once_are_both_reported),
        cmocka_unit_test(a_frame_cut_by_the_end_is_not_delivered),
        cmocka_unit_test(a_length_of_4_gb_is_refused),
        cmocka_unit_test(the_longest_frame_arrives_and_one_byte_more_is_refused),
        cmocka_unit_test(a_peer_that_does_not_read_is_closed_at_the_limit),
        cmocka_unit_test(drained_is_called_once_after_a_large_backlog),
        cmocka_unit_test(a_paused_connection_delivers_nothing_until_resumed),
        cmocka_unit_test(frames_read_before_a_pause_and_the_end_wait_for_the_reader),
        cmocka_unit_test(pause_and_resume_within_a_frame_loses_nothing),
        cmocka_unit_test(no_callback_comes_after_close),
        cmocka_unit_test(a_flush_close_within_a_frame_sends_the_answer),
        cmocka_unit_test(a_flush_close_right_after_connect_delivers),
        cmocka_unit_test(connecting_to_no_socket_reports),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(a_stale_socket_is_replaced_a_live_one_and_a_file_are_not),
        cmocka_unit_test(another_user_is_refused),
        cmocka_unit_test(the_4097th_connection_is_closed_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
