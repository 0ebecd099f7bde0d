/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a client that a daemon, which the test plays over a socket pair, sends on: bad answers
 * first. That members are reached is shown by dvm/test/referral.bats. */
#include "dvm/tools/submit/referral.h"

#include "base/buf/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    struct cli_conn *c;
    int daemon;  /* the other end of c */
    int again;   /* where the daemon is connected anew */
    int signals; /* readable: the user has sent one */
    struct cli_where where;
    struct referral r;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(sa);
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    w->c = cli_conn_of(fds[0]);
    w->daemon = fds[1];
    w->signals = eventfd(0, EFD_CLOEXEC);
    snprintf(sa.sun_path, sizeof(sa.sun_path), "/tmp/test_referral.%d", (int)getpid());
    unlink(sa.sun_path);
    w->again = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(w->again, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(listen(w->again, 1), 0);
    w->where = (struct cli_where){.path = xstrdup(sa.sun_path),
                                  .named = true,
                                  .address = xstrdup("10.0.0.1"),
                                  .port = "7400"};
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    cli_conn_free(w->c);
    unlink(w->where.path);
    if (w->daemon >= 0)
        close(w->daemon);
    close(w->again);
    close(w->signals);
    referral_free(&w->r);
    cli_where_free(&w->where);
    free(w);
    return 0;
}

static void tell_bytes(const struct world *w, const struct buf *b)
{
    assert_int_equal(write(w->daemon, b->data, b->len), (ssize_t)b->len);
}

static void tell(const struct world *w, const struct client_msg *m)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 20);
    buf_put_u32(&b, 0);
    client_msg_encode(&b, m);
    buf_patch_u32(&b, 0, (uint32_t)(b.len - 4));
    tell_bytes(w, &b);
}

/* As many addresses as no daemon sends. */
static void tell_too_many(const struct world *w)
{
    static const uint8_t body[] = {CLIENT_VERSION, CLIENT_REFERRAL, CLIENT_PLACES_MAX + 1};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 64);
    buf_put_bytes(&b, body, sizeof(body));
    tell_bytes(w, &b);
}

static void close_daemon(struct world *w)
{
    close(w->daemon);
    w->daemon = -1;
}

static void send_signal(const struct world *w)
{
    static const uint64_t one = 1;

    assert_int_equal(write(w->signals, &one, sizeof(one)), sizeof(one));
}

static int ask(struct world *w, struct err *err)
{
    struct client_referral to;

    return referral_ask(w->c, w->signals, 50, &to, err);
}

/* --- the question */

static void an_answer_that_is_no_referral_is_a_fault(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    tell(w, &(struct client_msg){.type = CLIENT_ERROR, .error = {2, "unknown message type 10"}});
    assert_int_equal(ask(w, &err), -1);
    tell(w, &(struct client_msg){.type = CLIENT_DONE, .done = {0, ""}});
    assert_int_equal(ask(w, &err), -1);
    assert_int_equal(err.code, 0);
}

static void an_answer_with_too_many_addresses_is_a_fault(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    tell_too_many(w);
    assert_int_equal(ask(w, &err), -1);
    assert_non_null(strstr(err.msg, "addresses of 4 daemons, at most 3"));
}

static void a_daemon_that_closes_or_is_silent_is_a_fault(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    assert_int_equal(ask(w, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    close_daemon(w);
    assert_int_equal(ask(w, &err), -1);
}

static void a_signal_ends_the_wait_for_the_answer(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    send_signal(w);
    assert_int_equal(ask(w, &err), -1);
    assert_int_equal(err.code, EINTR);
}

/* --- the addresses */

static void an_address_leads_from_loopback_to_loopback_and_from_elsewhere_elsewhere(void **state)
{
    static const struct {
        const char *to, *reached;
        bool fits;
    } rows[] = {
        {"10.0.0.7", "10.0.0.1", true},    {"10.0.0.7", "127.0.0.1", false},
        {"127.0.0.1", "10.0.0.1", false},  {"127.0.1.3", "127.0.0.1", true},
        {"fd00::7", "fd00::1", true},      {"fd00::7", "10.0.0.1", true},
        {"fd00::7", "::1", false},         {"::1", "127.0.0.1", true},
        {"::1", "fd00::1", false},         {"::ffff:127.0.0.1", "10.0.0.1", false},
        {"::ffff:127.0.0.1", "::1", true}, {"fd00::7", "fe80::1%eth0", true},
        {"::1", "fe80::1%eth0", false},    {"member.x.ns.svc", "10.0.0.1", false},
        {"localhost", "127.0.0.1", false}, {"10.0.0.7:7400", "10.0.0.1", false},
        {"", "10.0.0.1", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client_place to = {.port = 7400};

        snprintf(to.address, sizeof(to.address), "%s", rows[i].to);
        if (referral_fits(&to, rows[i].reached) != rows[i].fits)
            fail_msg("from %s to %s", rows[i].reached, rows[i].to);
    }
}

/* --- the connection for the job */

static struct cli_conn *follow(struct world *w, struct err *err)
{
    struct cli_conn *c = w->c;

    w->c = referral_follow(&w->r, c, &w->where, w->signals, err);
    return w->c;
}

static void assert_not_moved(const struct world *w)
{
    assert_null(w->r.host);
    assert_string_equal(w->where.port, "7400");
}

/* At any address of the name. The next connection that the daemon gets has no question on it. */
static void assert_connected_anew(const struct world *w)
{
    int fd = accept4(w->again, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(recv(fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    close(fd);
    assert_null(w->where.address);
    assert_not_moved(w);
}

static void a_daemon_that_does_not_know_the_question_is_connected_anew(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    tell(w, &(struct client_msg){.type = CLIENT_ERROR, .error = {2, "unknown message type 10"}});
    close_daemon(w);
    assert_non_null(follow(w, &err));
    assert_connected_anew(w);
}

static void a_daemon_with_a_malformed_answer_is_connected_anew(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    tell_too_many(w);
    assert_non_null(follow(w, &err));
    assert_connected_anew(w);
}

static void a_daemon_that_cannot_be_connected_anew_gives_the_reason(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    close_daemon(w);
    unlink(w->where.path);
    assert_null(follow(w, &err));
    assert_non_null(strstr(err.msg, "no DVM at"));
}

static void a_signal_ends_it_without_a_connection(void **state)
{
    struct world *w = *state;
    struct err err = {0};

    send_signal(w);
    assert_null(follow(w, &err));
    assert_int_equal(err.code, EINTR);
}

static void without_addresses_the_connection_stays(void **state)
{
    struct world *w = *state;
    struct cli_conn *before = w->c;
    struct err err = {0};

    tell(w, &(struct client_msg){.type = CLIENT_REFERRAL});
    assert_ptr_equal(follow(w, &err), before);
    assert_not_moved(w);
}

/* The program that connects is not beside this test, so no member can be reached. */
static void with_addresses_that_lead_nowhere_the_connection_stays(void **state)
{
    static const struct client_msg m = {
        .type = CLIENT_REFERRAL,
        .referral = {3, {{"not an address", 1}, {"127.0.0.1", 7400}, {"10.0.0.7", 7400}}}};
    struct world *w = *state;
    struct cli_conn *before = w->c;
    struct err err = {0};

    tell(w, &m);
    assert_ptr_equal(follow(w, &err), before);
    assert_not_moved(w);
}

static void a_client_that_returns_has_the_former_name_and_no_address(void **state)
{
    struct world *w = *state;

    w->where.host = xstrdup("10.0.0.7");
    w->r = (struct referral){.host = xstrdup("x-head"), .port = "7000"};
    referral_return(&w->r, &w->where);
    assert_string_equal(w->where.host, "x-head");
    assert_string_equal(w->where.port, "7000");
    assert_null(w->where.address);
    referral_return(&w->r, &w->where); /* it has not been sent on: no effect */
    assert_string_equal(w->where.host, "x-head");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_that_is_no_referral_is_a_fault),
        TEST(an_answer_with_too_many_addresses_is_a_fault),
        TEST(a_daemon_that_closes_or_is_silent_is_a_fault),
        TEST(a_signal_ends_the_wait_for_the_answer),
        TEST(an_address_leads_from_loopback_to_loopback_and_from_elsewhere_elsewhere),
        TEST(a_daemon_that_does_not_know_the_question_is_connected_anew),
        TEST(a_daemon_with_a_malformed_answer_is_connected_anew),
        TEST(a_daemon_that_cannot_be_connected_anew_gives_the_reason),
        TEST(a_signal_ends_it_without_a_connection),
        TEST(without_addresses_the_connection_stays),
        TEST(with_addresses_that_lead_nowhere_the_connection_stays),
        TEST(a_client_that_returns_has_the_former_name_and_no_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
