/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections over TLS: which peers are accepted, how connections end, and that no frame is
 * lost. */
#include "dvm/host/net/test/net_certs.h"
#include "dvm/host/net/test/net_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int set_up(void **state)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "::1", NULL};

    *state = certs_create(names, "member");
    return 0;
}

static int tear_down(void **state)
{
    certs_destroy(*state);
    return 0;
}

static uint16_t start_server(struct fix *f, struct tls_ctx *server, struct tls_ctx *client)
{
    struct err err = {0};
    uint16_t port = 0;

    fix_init(f, server, client);
    assert_int_equal(net_listen_tls(f->srv.net, "127.0.0.1", &port, &err), 0);
    assert_int_not_equal(port, 0);
    return port;
}

static uint16_t connect_pair(struct fix *f, const struct certs *c)
{
    uint16_t port = start_server(f, c->head, c->member);

    CALL(f, net_connect_tls(f->cli.net, "127.0.0.1", port, 10000));
    RUN_UNTIL(f, f->srv.opened && f->cli.opened);
    return port;
}

static void both_ends_learn_the_identity_of_the_peer(void **state)
{
    struct fix f;

    connect_pair(&f, *state);
    assert_string_equal(f.srv.peer.role, "member");
    assert_string_equal(f.srv.peer.name, "x-1");
    assert_string_equal(f.cli.peer.role, "head");
    assert_string_equal(f.cli.peer.cluster, "red");
    assert_true(f.srv.incoming && !f.cli.incoming);
    fix_fini(&f);
}

static void frames_come_back_in_order(void **state)
{
    struct fix f;
    char text[16];

    connect_pair(&f, *state);
    f.srv.echo = true;
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "%05d", i);
        CALL(&f, net_send(f.cli.net, f.cli.conn, text, 5));
    }
    RUN_UNTIL(&f, f.cli.frames == 1000);
    assert_memory_equal(f.cli.data.data, "00000000010000200003", 20);
    assert_memory_equal(f.cli.data.data + 4995, "00999", 5);
    fix_fini(&f);
}

static void a_frame_of_32_mib_arrives_and_drained_is_called(void **state)
{
    const size_t len = 32u << 20;
    uint8_t *big = xmalloc(len);
    struct fix f;

    memset(big, 0x5a, len);
    connect_pair(&f, *state);
    CALL(&f, net_send(f.cli.net, f.cli.conn, big, len));
    assert_true(net_pending(f.cli.net, f.cli.conn) > len);
    RUN_UNTIL(&f, f.srv.frames == 1 && f.cli.drained);
    assert_int_equal(f.srv.bytes, len);
    assert_int_equal(f.cli.drained, 1);
    free(big);
    fix_fini(&f);
}

static void frames_sent_while_connecting_arrive_in_order(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->member);
    uint64_t conn;

    CALL(&f, conn = net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    CALL(&f, net_send(f.cli.net, conn, "one", 3));
    CALL(&f, net_send(f.cli.net, conn, "two", 3));
    RUN_UNTIL(&f, f.srv.frames == 2);
    assert_memory_equal(f.srv.data.data, "onetwo", 6);
    fix_fini(&f);
}

static void a_name_is_resolved_by_the_hosts_file(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->member);

    CALL(&f, net_connect_tls(f.cli.net, "localhost", port, 10000));
    RUN_UNTIL(&f, f.cli.opened || f.cli.closed);
    assert_string_equal(f.cli.why, "");
    fix_fini(&f);
}

static void a_name_that_does_not_resolve_reports(void **state)
{
    const struct certs *c = *state;
    struct fix f;

    fix_init(&f, c->head, c->member);
    CALL(&f, net_connect_tls(f.cli.net, "no-such-host.invalid", 1, 200));
    RUN_UNTIL(&f, f.cli.closed);
    assert_true(strstr(f.cli.why, "resolving no-such-host.invalid") ||
                strstr(f.cli.why, "could not connect within the time"));
    fix_run_for(&f, 10);
    assert_int_equal(f.cli.closed, 1);
    fix_fini(&f);
}

static void the_net_ends_with_everything_under_way(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->member);
    int closed;

    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    fix_run_for(&f, 1);
    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    CALL(&f, net_connect_tls(f.cli.net, "no-such-host.invalid", 1, 10000));
    closed = f.cli.closed;
    net_destroy(f.cli.net);
    f.cli.net = NULL;
    fix_run_for(&f, 10);
    assert_int_equal(f.cli.closed, closed);
    fix_fini(&f);
}

static void net_and_loop_end_while_a_name_is_being_resolved(void **state)
{
    const struct certs *c = *state;
    struct fix f;

    fix_init(&f, c->head, c->member);
    CALL(&f, net_connect_tls(f.cli.net, "no-such-host.invalid", 1, 10000));
    fix_fini(&f);
}

/* A bound port on which no socket listens. */
static int closed_port(uint16_t *port, bool listening)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    if (listening)
        assert_int_equal(listen(fd, 5), 0);
    getsockname(fd, (struct sockaddr *)&in, &len);
    *port = ntohs(in.sin_port);
    return fd;
}

static void a_closed_port_is_reported_with_peer_and_reason(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port;
    int fd = closed_port(&port, false);

    fix_init(&f, c->head, c->member);
    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, "connecting to 127.0.0.1 port"));
    assert_non_null(strstr(f.cli.why, "Connection refused"));
    close(fd);
    fix_fini(&f);
}

static void a_silent_server_is_given_up(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port;
    int fd = closed_port(&port, true);

    fix_init(&f, c->head, c->member);
    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 50));
    RUN_UNTIL(&f, f.cli.closed);
    assert_string_equal(f.cli.why, "no TLS handshake within the time given");
    close(fd);
    fix_fini(&f);
}

static void a_server_of_another_authority_is_refused(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->stranger, c->member);

    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, "the peer's certificate is refused"));
    fix_run_for(&f, 5);
    assert_int_equal(f.srv.opened + f.srv.closed + f.cli.opened, 0);
    fix_fini(&f);
}

static void a_client_of_another_authority_is_refused(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->pretender);

    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, "unknown ca"));
    assert_int_equal(f.srv.opened + f.srv.closed, 0);
    fix_fini(&f);
}

static void a_certificate_for_another_host_is_refused(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->member, c->member); /* contains no host name at all */

    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, "the peer's certificate is refused: IP address mismatch"));
    fix_fini(&f);
}

static int raw_connect(uint16_t port)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0 ? fd : -1;
}

/* In a process of its own: a client without a certificate. 0: it was refused. */
static int no_certificate(uint16_t port)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(ctx);
    char c;

    SSL_set_fd(ssl, raw_connect(port));
    if (SSL_connect(ssl) != 1)
        return 0;
    SSL_write(ssl, "\0\0\0\1x", 5);
    return SSL_read(ssl, &c, 1) <= 0 ? 0 : 1;
}

static void a_client_without_certificate_is_refused(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->member);
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(no_certificate(port));
    while (waitpid(pid, &status, WNOHANG) == 0)
        fix_run_for(&f, 2);
    assert_int_equal(status, 0);
    assert_int_equal(f.srv.opened + f.srv.frames + f.srv.closed, 0);
    fix_fini(&f);
}

static void bytes_that_are_no_tls_are_refused(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->member);
    int fd = raw_connect(port);
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLHUP};
    char text[64];

    assert_int_equal(write(fd, "\0\0\0\5hello\r\n\r\n", 13), 13);
    while (poll(&p, 1, 0) == 0 || read(fd, text, sizeof(text)) > 0)
        fix_run_for(&f, 1);
    assert_int_equal(f.srv.opened + f.srv.frames + f.srv.closed, 0);
    close(fd);
    fix_fini(&f);
}

static void a_connection_without_a_message_leaves_nothing_behind(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->member);

    close(raw_connect(port));
    fix_run_for(&f, 10);
    assert_int_equal(f.srv.opened + f.srv.closed, 0);
    fix_fini(&f);
}

#define PIECES 300
#define PIECE ((size_t)100000)

static void a_plain_close_is_seen_by_the_peer_only(void **state)
{
    struct fix f;

    connect_pair(&f, *state);
    CALL(&f, net_close(f.srv.net, f.srv.conn, false));
    RUN_UNTIL(&f, f.cli.closed);
    assert_string_equal(f.cli.why, "closed by the peer");
    assert_int_equal(f.srv.closed, 0);
    CALL(&f, net_send(f.srv.net, f.srv.conn, "x", 1));
    CALL(&f, net_close(f.srv.net, 12345, true));
    fix_fini(&f);
}

static void note_done(void *arg)
{
    struct fix *f = arg;

    assert_false(f->in_call);
    f->done++;
    loop_stop(f->loop);
}

/* The server closes with unread input, so the client's connection is reset. */
static void reset_connection(struct fix *f)
{
    char *data = xcalloc(1, PIECE);

    CALL(f, net_pause(f->srv.net, f->srv.conn, true));
    for (int i = 0; i < 10; i++)
        CALL(f, net_send(f->cli.net, f->cli.conn, data, PIECE));
    fix_run_for(f, 5);
    CALL(f, net_close(f->srv.net, f->srv.conn, false));
    RUN_UNTIL(f, f->cli.closed);
    fix_run_for(f, 1);
    free(data);
}

static void a_reconnect_after_a_reset_resumes_the_session(void **state)
{
    struct fix f;
    uint16_t port = connect_pair(&f, *state);
    struct net_handshakes h;

    for (uint64_t i = 1; i <= 3; i++) {
        reset_connection(&f);
        f.srv.opened = f.cli.opened = f.cli.closed = 0;
        CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
        RUN_UNTIL(&f, f.srv.opened && f.cli.opened);
        assert_string_equal(f.srv.peer.role, "member");
        assert_string_equal(f.srv.peer.name, "x-1");
        assert_string_equal(f.srv.peer.cluster, "red");
        assert_string_equal(f.cli.peer.role, "head");
        h = net_handshakes(f.cli.net);
        assert_true(h.full == 1 && h.resumed == i);
        h = net_handshakes(f.srv.net);
        assert_true(h.full == 1 && h.resumed == i);
    }
    fix_fini(&f);
}

static void a_reconnect_is_refused_when_the_authority_is_no_longer_trusted(void **state)
{
    struct certs *c = *state;
    FREE_AUTO char *red = tls_ca_cert_pem(c->red.ca);
    FREE_AUTO char *blue = tls_ca_cert_pem(c->blue.ca);
    struct fix f;
    uint16_t port = connect_pair(&f, c);

    reset_connection(&f);
    pki_write(&c->red, "ca.pem", blue);
    f.srv.opened = f.cli.opened = f.cli.closed = 0;
    CALL(&f, net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
    RUN_UNTIL(&f, f.cli.closed);
    assert_int_equal(f.srv.opened + f.cli.opened, 0);
    pki_write(&c->red, "ca.pem", red);
    fix_fini(&f);
}

static void finish_delivers_everything_and_reports_its_end_once(void **state)
{
    char *data = xcalloc(1, PIECE);
    struct fix f;

    connect_pair(&f, *state);
    for (int i = 0; i < PIECES; i++)
        CALL(&f, net_send(f.cli.net, f.cli.conn, data, PIECE));
    CALL(&f, net_finish(f.cli.net, note_done, &f));
    RUN_UNTIL(&f, f.done && f.srv.closed);
    assert_int_equal(f.srv.bytes, PIECES * PIECE);
    fix_run_for(&f, 5);
    assert_int_equal(f.done, 1);
    free(data);
    fix_fini(&f);
}

static void an_interrupted_finish_is_not_reported(void **state)
{
    struct fix f;

    connect_pair(&f, *state);
    CALL(&f, net_finish(f.cli.net, note_done, &f));
    net_destroy(f.cli.net);
    f.cli.net = NULL;
    fix_run_for(&f, 5);
    assert_int_equal(f.done, 0);
    fix_fini(&f);
}

static void a_paused_connection_resumes_where_it_was(void **state)
{
    char *data = xcalloc(1, PIECE);
    struct fix f;

    connect_pair(&f, *state);
    for (int i = 0; i < PIECES; i++)
        CALL(&f, net_send(f.cli.net, f.cli.conn, data, PIECE));
    while (f.srv.frames < PIECES) {
        int before;

        CALL(&f, net_pause(f.srv.net, f.srv.conn, true));
        before = f.srv.frames;
        fix_run_for(&f, 1);
        assert_int_equal(f.srv.frames, before);
        CALL(&f, net_pause(f.srv.net, f.srv.conn, false));
        RUN_UNTIL(&f, f.srv.frames > before);
    }
    assert_int_equal(f.srv.bytes, PIECES * PIECE);
    free(data);
    fix_fini(&f);
}

static void listening_on_a_name_or_a_taken_port_is_refused(void **state)
{
    const struct certs *c = *state;
    struct err err = {0};
    struct fix f;
    uint16_t port = start_server(&f, c->head, c->member);

    assert_int_equal(net_listen_tls(f.cli.net, "127.0.0.1", &port, &err), -1);
    assert_int_equal(err.code, EADDRINUSE);
    assert_non_null(strstr(err.msg, "listening on 127.0.0.1 port"));
    assert_int_equal(net_listen_tls(f.cli.net, "localhost", &port, &err), -1);
    assert_non_null(strstr(err.msg, "no numeric address"));
    fix_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_learn_the_identity_of_the_peer),
        cmocka_unit_test(frames_come_back_in_order),
        cmocka_unit_test(a_frame_of_32_mib_arrives_and_drained_is_called),
        cmocka_unit_test(frames_sent_while_connecting_arrive_in_order),
        cmocka_unit_test(a_name_is_resolved_by_the_hosts_file),
        cmocka_unit_test(a_name_that_does_not_resolve_reports),
        cmocka_unit_test(the_net_ends_with_everything_under_way),
        cmocka_unit_test(net_and_loop_end_while_a_name_is_being_resolved),
        cmocka_unit_test(a_closed_port_is_reported_with_peer_and_reason),
        cmocka_unit_test(a_silent_server_is_given_up),
        cmocka_unit_test(a_server_of_another_authority_is_refused),
        cmocka_unit_test(a_client_of_another_authority_is_refused),
        cmocka_unit_test(a_certificate_for_another_host_is_refused),
        cmocka_unit_test(a_client_without_certificate_is_refused),
        cmocka_unit_test(bytes_that_are_no_tls_are_refused),
        cmocka_unit_test(a_connection_without_a_message_leaves_nothing_behind),
        cmocka_unit_test(a_plain_close_is_seen_by_the_peer_only),
        cmocka_unit_test(a_reconnect_after_a_reset_resumes_the_session),
        cmocka_unit_test(a_reconnect_is_refused_when_the_authority_is_no_longer_trusted),
        cmocka_unit_test(finish_delivers_everything_and_reports_its_end_once),
        cmocka_unit_test(an_interrupted_finish_is_not_reported),
        cmocka_unit_test(a_paused_connection_resumes_where_it_was),
        cmocka_unit_test(listening_on_a_name_or_a_taken_port_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
