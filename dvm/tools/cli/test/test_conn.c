/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the clients' side of the local socket, over a socket pair. */
#include "dvm/tools/cli/conn.h"

#include "dvm/host/net/net.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct pair {
    struct cli_conn *c;
    int daemon;
};

static int setup(void **state)
{
    struct pair *p = xcalloc(1, sizeof(*p));
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    p->c = cli_conn_of(fds[0]);
    p->daemon = fds[1];
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;

    cli_conn_free(p->c);
    if (p->daemon >= 0)
        close(p->daemon);
    free(p);
    return 0;
}

static void daemon_writes(struct pair *p, const void *data, size_t len)
{
    assert_int_equal(write(p->daemon, data, len), (ssize_t)len);
}

static void daemon_closes(struct pair *p)
{
    close(p->daemon);
    p->daemon = -1;
}

static struct buf frame(const struct client_msg *m)
{
    struct buf b;

    buf_init(&b, 1u << 20);
    buf_put_u32(&b, 0);
    client_msg_encode(&b, m);
    buf_patch_u32(&b, 0, (uint32_t)(b.len - 4));
    return b;
}

static void a_frame_over_the_limit_is_a_fault(void **state)
{
    struct pair *p = *state;
    struct client_msg m;
    struct err err = {0};
    uint8_t head[4] = {0xff, 0xff, 0xff, 0xff};

    daemon_writes(p, head, sizeof(head));
    assert_int_equal(cli_conn_wait(p->c, &m, 1000, &err), -1);
    assert_non_null(strstr(err.msg, "over the limit"));
}

static void a_malformed_message_is_a_fault(void **state)
{
    struct pair *p = *state;
    struct client_msg m;
    struct err err = {0};
    uint8_t bytes[] = {0, 0, 0, 2, CLIENT_VERSION, 99};

    daemon_writes(p, bytes, sizeof(bytes));
    assert_int_equal(cli_conn_wait(p->c, &m, 1000, &err), -1);
    assert_non_null(strstr(err.msg, "unknown message type"));
}

static void a_daemon_of_another_version_is_named_with_both_versions(void **state)
{
    struct pair *p = *state;
    struct client_msg m;
    struct err err = {0};
    uint8_t bytes[] = {0, 0, 0, 2, CLIENT_VERSION + 1, CLIENT_REACHED};

    daemon_writes(p, bytes, sizeof(bytes));
    assert_int_equal(cli_conn_wait(p->c, &m, 1000, &err), -1);
    assert_string_equal(err.msg,
                        "client message: version 3 of the local protocol, this program speaks 2");
}

static void a_daemon_that_closes_in_mid_frame_is_seen_as_closed(void **state)
{
    struct pair *p = *state;
    struct client_msg m;
    struct err err = {0};
    uint8_t bytes[] = {0, 0, 0, 2, CLIENT_VERSION};

    daemon_writes(p, bytes, sizeof(bytes));
    daemon_closes(p);
    assert_int_equal(cli_conn_wait(p->c, &m, 1000, &err), 0);
}

static void a_silent_daemon_is_given_up_after_the_time_asked_for(void **state)
{
    struct pair *p = *state;
    struct client_msg m;
    struct err err = {0};

    assert_int_equal(cli_conn_wait(p->c, &m, 1, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    assert_string_equal(err.msg, "the daemon has not answered for 0.001 s");
}

static void messages_sent_before_the_daemon_closes_are_still_read(void **state)
{
    struct pair *p = *state;
    BUF_AUTO struct buf b = frame(&(struct client_msg){.type = CLIENT_DONE, .done = {3, "x"}});
    struct client_msg m;
    struct err err = {0};

    daemon_writes(p, b.data, b.len);
    daemon_closes(p);
    /* Bytes of ours wait to be written, too. */
    assert_int_equal(cli_conn_send(p->c, &(struct client_msg){.type = CLIENT_STDIN}, &err), 0);
    assert_int_equal(cli_conn_wait(p->c, &m, 1000, &err), 1);
    assert_int_equal(m.done.code, 3);
    client_msg_free(&m);
    assert_int_equal(cli_conn_wait(p->c, &m, 1000, &err), 0);
}

static void a_frame_that_comes_byte_by_byte_is_put_together(void **state)
{
    struct pair *p = *state;
    BUF_AUTO struct buf b =
        frame(&(struct client_msg){.type = CLIENT_ACCEPTED, .accepted = {"5.1"}});
    struct client_msg m;
    struct err err = {0};

    for (size_t i = 0; i < b.len; i++) {
        assert_int_equal(cli_conn_take(p->c, &m, &err), 0);
        daemon_writes(p, b.data + i, 1);
        assert_int_equal(cli_conn_pump(p->c, true, &err), 1);
    }
    assert_int_equal(cli_conn_take(p->c, &m, &err), 1);
    assert_string_equal(m.accepted.nspace, "5.1");
    client_msg_free(&m);
}

static void frames_that_come_together_are_taken_one_by_one(void **state)
{
    struct pair *p = *state;
    struct err err = {0};

    for (uint32_t i = 0; i < 3; i++) {
        BUF_AUTO struct buf b = frame(&(struct client_msg){.type = CLIENT_DONE, .done = {i, ""}});

        daemon_writes(p, b.data, b.len);
    }
    for (uint32_t i = 0; i < 3; i++) {
        struct client_msg m;

        assert_int_equal(cli_conn_wait(p->c, &m, 1000, &err), 1);
        assert_int_equal(m.done.code, i);
        client_msg_free(&m);
    }
}

static void sent_bytes_arrive_as_one_frame(void **state)
{
    struct pair *p = *state;
    struct client_msg m = {.type = CLIENT_SIGNAL, .signal = {15}};
    BUF_AUTO struct buf want = frame(&m);
    struct err err = {0};
    uint8_t got[64];

    assert_int_equal(cli_conn_send(p->c, &m, &err), 0);
    assert_int_equal(cli_conn_pump(p->c, false, &err), 1);
    assert_int_equal(cli_conn_pending(p->c), 0);
    assert_int_equal(read(p->daemon, got, sizeof(got)), (ssize_t)want.len);
    assert_memory_equal(got, want.data, want.len);
}

static void a_socket_path_that_is_too_long_is_reported(void **state)
{
    CLI_WHERE_AUTO struct cli_where w = {.named = true};
    struct err err = {0};

    w.path = xasprintf("/%0200d", 7);
    assert_null(cli_connect(&w, &err));
    assert_int_equal(err.code, ENAMETOOLONG);
}

static void a_missing_daemon_is_reported_with_the_command_that_starts_one(void **state)
{
    CLI_WHERE_AUTO struct cli_where w = {.named = true};
    struct err err = {0};

    w.path = xstrdup("/nonexistent/prted.sock");
    assert_null(cli_connect(&w, &err));
    assert_non_null(strstr(err.msg, "no DVM at /nonexistent/prted.sock"));
    assert_non_null(strstr(err.msg, "prte start"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_frame_over_the_limit_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(a_malformed_message_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(a_daemon_of_another_version_is_named_with_both_versions,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_daemon_that_closes_in_mid_frame_is_seen_as_closed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_silent_daemon_is_given_up_after_the_time_asked_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(messages_sent_before_the_daemon_closes_are_still_read,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_frame_that_comes_byte_by_byte_is_put_together, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(frames_that_come_together_are_taken_one_by_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(sent_bytes_arrive_as_one_frame, setup, teardown),
        cmocka_unit_test(a_socket_path_that_is_too_long_is_reported),
        cmocka_unit_test(a_missing_daemon_is_reported_with_the_command_that_starts_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
