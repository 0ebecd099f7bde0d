/* SPDX-License-Identifier: BSD-3-Clause */
/* The time limits of a connection: a silent peer is declared lost in time, and much traffic on a
 * slow machine does not reach a limit. The loop's clock is the test's, the kernel's clock runs. */
#include "base/loop/test/clock.h"
#include "base/tls/test/pki.h"
#include "dvm/host/net/tcp.h"
#include "dvm/host/net/test/net_fixture.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define FDS_MAX 1024
#define SHORT_MS 700

struct certs {
    struct pki red;
    struct tls_ctx *head, *member;
};

static int set_up(void **state)
{
    static const char *const names[] = {"127.0.0.1", NULL};
    struct certs *c = xcalloc(1, sizeof(*c));

    pki_init(&c->red, "red");
    pki_issue(&c->red, "head", "x-head-0", names, 5);
    pki_issue(&c->red, "member", "x-1", NULL, 5);
    c->head = pki_ctx(&c->red, "x-head-0", &c->red);
    c->member = pki_ctx(&c->red, "x-1", &c->red);
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    struct certs *c = *state;

    tls_ctx_destroy(c->head);
    tls_ctx_destroy(c->member);
    pki_fini(&c->red);
    free(c);
    return 0;
}

static uint16_t start_server(struct fix *f, const struct certs *c)
{
    struct err err = {0};
    uint16_t port = 0;

    fix_init(f, c->head, c->member);
    assert_int_equal(net_listen_tls(f->srv.net, "127.0.0.1", &port, &err), 0);
    return port;
}

static void connect_pair(struct fix *f, const struct certs *c)
{
    uint16_t port = start_server(f, c);

    CALL(f, net_connect_tls(f->cli.net, "127.0.0.1", port, 10000));
    RUN_UNTIL(f, f->srv.opened && f->cli.opened);
}

/* The two ends of the connection: the one that dialled and the one that accepted. */
static void connected_sockets(int fds[2])
{
    size_t n = 0;

    for (int fd = 0; fd < FDS_MAX; fd++) {
        struct sockaddr_in peer;
        socklen_t len = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0 || peer.sin_family != AF_INET)
            continue;
        assert_in_range(n, 0, 1);
        fds[n++] = fd;
    }
    assert_int_equal(n, 2);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void both_ends_notice_the_loss_of_the_peer_after_the_same_time(void **state)
{
    struct fix f;
    int fds[2];

    connect_pair(&f, *state);
    connected_sockets(fds);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(option(fds[i], IPPROTO_TCP, TCP_USER_TIMEOUT), NET_SILENT_MS);
        assert_int_not_equal(option(fds[i], SOL_SOCKET, SO_KEEPALIVE), 0);
        assert_int_equal(1000 * (option(fds[i], IPPROTO_TCP, TCP_KEEPIDLE) +
                                 option(fds[i], IPPROTO_TCP, TCP_KEEPINTVL) *
                                     option(fds[i], IPPROTO_TCP, TCP_KEEPCNT)),
                         NET_SILENT_MS);
        assert_int_not_equal(option(fds[i], IPPROTO_TCP, TCP_NODELAY), 0);
    }
    fix_fini(&f);
}

/* In a network of our own, which is up or down. */
static void loopback(bool up)
{
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
    close(fd);
}

static void a_peer_that_cannot_be_reached_any_more_is_given_up(void **state)
{
    int ms = SHORT_MS;
    struct fix f;
    int fds[2];

    if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
        print_message("no network of our own: %s\n", strerror(errno));
        skip();
    }
    loopback(true);
    connect_pair(&f, *state);
    connected_sockets(fds);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(setsockopt(fds[i], IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)), 0);
    loopback(false);
    CALL(&f, net_send(f.cli.net, f.cli.conn, "into the dark", 13));
    CALL(&f, net_send(f.srv.net, f.srv.conn, "into the dark", 13));
    RUN_UNTIL(&f, f.cli.closed && f.srv.closed);
    assert_non_null(strstr(f.cli.why, strerror(ETIMEDOUT)));
    assert_non_null(strstr(f.srv.why, strerror(ETIMEDOUT)));
    assert_int_equal(f.cli.frames + f.srv.frames, 0);
    fix_fini(&f);
}

#define PIECES 300
#define PIECE ((size_t)100000)

/* Turns the loop until the client cannot write any more. */
static void fill_connection(struct fix *f)
{
    size_t before;

    do {
        before = net_pending(f->cli.net, f->cli.conn);
        for (int i = 0; i < 100; i++)
            clock_turn(f->loop);
    } while (net_pending(f->cli.net, f->cli.conn) < before);
}

static void a_flush_close_waits_for_a_slow_reader_that_reads(void **state)
{
    FREE_AUTO char *data = xcalloc(1, PIECE);
    struct fix f;

    connect_pair(&f, *state);
    for (int i = 0; i < PIECES; i++)
        CALL(&f, net_send(f.cli.net, f.cli.conn, data, PIECE));
    CALL(&f, net_close(f.cli.net, f.cli.conn, true));
    for (int i = 0; i < 5; i++) { /* in total longer than the time limit for a silent peer */
        uint64_t had = f.srv.bytes;

        CALL(&f, net_pause(f.srv.net, f.srv.conn, true));
        clock_run_for(f.loop, 500);
        assert_int_equal(f.srv.closed, 0);
        CALL(&f, net_pause(f.srv.net, f.srv.conn, false));
        RUN_UNTIL(&f, f.srv.bytes > had);
    }
    RUN_UNTIL(&f, f.srv.closed);
    assert_int_equal(f.srv.bytes, PIECES * PIECE);
    fix_fini(&f);
}

static void a_flush_close_gives_a_silent_peer_up(void **state)
{
    FREE_AUTO char *data = xcalloc(1, PIECE);
    struct fix f;

    connect_pair(&f, *state);
    CALL(&f, net_pause(f.srv.net, f.srv.conn, true));
    for (int i = 0; i < PIECES; i++)
        CALL(&f, net_send(f.cli.net, f.cli.conn, data, PIECE));
    CALL(&f, net_close(f.cli.net, f.cli.conn, true));
    fill_connection(&f); /* the silence begins after that */
    clock_run_for(f.loop, 4500);
    CALL(&f, net_pause(f.srv.net, f.srv.conn, false));
    RUN_UNTIL(&f, f.srv.closed);
    assert_true(f.srv.bytes < PIECES * PIECE);
    fix_fini(&f);
}

static void answer_every_frame(struct end *e, uint64_t conn)
{
    static const char data[10000];

    net_send(e->net, conn, data, sizeof(data));
}

static void a_flush_close_delivers_everything_past_unread_input(void **state)
{
    char *data = xcalloc(1, PIECE);
    struct fix f;

    connect_pair(&f, *state);
    f.srv.on_frame = answer_every_frame; /* the closing side does not read it */
    for (int i = 0; i < PIECES; i++)
        CALL(&f, net_send(f.cli.net, f.cli.conn, data, PIECE));
    CALL(&f, net_close(f.cli.net, f.cli.conn, true));
    RUN_UNTIL(&f, f.srv.closed);
    assert_int_equal(f.srv.bytes, PIECES * PIECE);
    assert_string_equal(f.srv.why, "closed by the peer");
    assert_int_equal(f.cli.frames + f.cli.closed, 0);
    free(data);
    fix_fini(&f);
}

static void many_connections_open_and_carry_frames(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c);

    f.srv.echo = true;
    for (int i = 0; i < 150; i++) {
        uint64_t conn;

        CALL(&f, conn = net_connect_tls(f.cli.net, "127.0.0.1", port, 30000));
        CALL(&f, net_send(f.cli.net, conn, "hello", 5));
    }
    RUN_UNTIL(&f, f.cli.frames == 150 || f.cli.closed);
    assert_int_equal(f.cli.closed, 0);
    assert_int_equal(f.srv.opened, 150);
    fix_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_notice_the_loss_of_the_peer_after_the_same_time),
        cmocka_unit_test(a_flush_close_waits_for_a_slow_reader_that_reads),
        cmocka_unit_test(a_flush_close_gives_a_silent_peer_up),
        cmocka_unit_test(a_flush_close_delivers_everything_past_unread_input),
        cmocka_unit_test(many_connections_open_and_carry_frames),
        /* the last: from then on there is no other network */
        cmocka_unit_test(a_peer_that_cannot_be_reached_any_more_is_given_up),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
