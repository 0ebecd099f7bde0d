/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections whose client proves that it holds a key: it is no frame of the owner's, and who sends
 * something else is not reported. */
#include "dvm/host/net/test/net_certs.h"
#include "dvm/host/net/test/net_fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

static const uint8_t nothing[TLS_KEY_ID_BYTES];

struct world {
    struct certs *certs;
    struct tls_held *held;
};

static int set_up(void **state)
{
    static const char *const names[] = {"127.0.0.1", NULL};
    static const uint8_t seed[TLS_SEED_BYTES] = "the seed";
    struct world *w = xcalloc(1, sizeof(*w));

    w->certs = certs_create(names, "member");
    w->held = tls_held_create(seed, NULL);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    certs_destroy(w->certs);
    tls_held_destroy(w->held);
    free(w);
    return 0;
}

static uint16_t start_server(struct fix *f, const struct world *w)
{
    struct err err = {0};
    uint16_t port = 0;

    fix_init(f, w->certs->head, w->certs->member);
    assert_int_equal(net_listen_tls(f->srv.net, "127.0.0.1", &port, &err), 0);
    return port;
}

static void call_server(struct fix *f, uint16_t port)
{
    CALL(f, f->cli.conn = net_connect_tls(f->cli.net, "127.0.0.1", port, 10000));
    CALL(f, net_send(f->cli.net, f->cli.conn, "early", 5));
    RUN_UNTIL(f, f->srv.frames && f->cli.opened);
    assert_memory_equal(f->srv.data.data, "early", 5);
    assert_int_equal(f->srv.frames, 1);
}

/* A client with the member's certificate that sends these bytes after its handshake, and offers a
 * proof. */
static void send_instead(struct fix *f, const struct world *w, uint16_t port, const void *data,
                         int len)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SSL *ssl = tls_new_client(w->certs->member, NULL, NULL);
    int rc = -1;

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(tls_offer_proof(ssl, NULL), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    fix_run_for(f, 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(SSL_set_fd(ssl, fd), 1);
    while ((rc = SSL_do_handshake(ssl)) != 1) {
        assert_int_not_equal(SSL_get_error(ssl, rc), SSL_ERROR_SSL);
        fix_run_for(f, 1);
    }
    if (len)
        assert_int_equal(SSL_write(ssl, data, len), len);
    while ((rc = SSL_read(ssl, (char[1]){0}, 1)) < 0 &&
           SSL_get_error(ssl, rc) == SSL_ERROR_WANT_READ)
        fix_run_for(f, 1);
    assert_true(rc <= 0); /* it was closed */
    SSL_free(ssl);
    close(fd);
}

static void a_client_that_sends_something_else_is_not_reported(void **state)
{
    const struct world *w = *state;
    uint8_t frame[4 + TLS_PROOF_BYTES] = {0, 0, 0, TLS_PROOF_BYTES};
    struct fix f;
    uint16_t port = start_server(&f, w);

    memset(frame + 4, 0x5a, TLS_PROOF_BYTES); /* zeroes are a point of low order: valid at times */
    send_instead(&f, w, port, frame, sizeof(frame));
    send_instead(&f, w, port, "\0\0\0\1x", 5);
    send_instead(&f, w, port, "\xff\xff\xff\xff", 4);
    send_instead(&f, w, port, "", 0); /* it is closed like a silent handshake */
    assert_int_equal(f.srv.opened, 0);
    assert_int_equal(f.srv.frames, 0);
    fix_fini(&f);
}

static void a_client_without_a_key_has_proved_none(void **state)
{
    struct fix f;
    uint16_t port = start_server(&f, *state);

    call_server(&f, port);
    assert_memory_equal(f.srv.peer.key, nothing, sizeof(nothing));
    fix_fini(&f);
}

static void the_owner_learns_the_key_and_gets_the_frames_after_the_proof(void **state)
{
    const struct world *w = *state;
    uint8_t first[TLS_KEY_ID_BYTES];
    struct fix f;
    uint16_t port = start_server(&f, w);

    net_prove(f.cli.net, w->held);
    net_prove(f.srv.net, w->held); /* for its own calls: it proves nothing here */
    f.srv.echo = true;
    call_server(&f, port);
    assert_memory_not_equal(f.srv.peer.key, nothing, sizeof(nothing));
    assert_string_equal(f.srv.peer.name, "x-1");
    assert_memory_equal(f.cli.peer.key, nothing, sizeof(nothing));
    RUN_UNTIL(&f, f.cli.frames);
    assert_memory_equal(f.cli.data.data, "early", 5);
    memcpy(first, f.srv.peer.key, sizeof(first));
    fix_fini(&f);
    port = start_server(&f, w);
    net_prove(f.cli.net, w->held);
    call_server(&f, port);
    assert_memory_equal(f.srv.peer.key, first, sizeof(first));
    fix_fini(&f);
}

static void a_resumed_connection_has_its_own_proof(void **state)
{
    const struct world *w = *state;
    struct fix f;
    uint16_t port = start_server(&f, w);

    net_prove(f.cli.net, w->held);
    for (int i = 1; i <= 2; i++) {
        CALL(&f, f.cli.conn = net_connect_tls(f.cli.net, "127.0.0.1", port, 10000));
        RUN_UNTIL(&f, f.srv.opened == i && f.cli.opened == i);
        assert_memory_not_equal(f.srv.peer.key, nothing, sizeof(nothing));
        CALL(&f, net_send(f.srv.net, f.srv.conn, "x", 1)); /* with it comes the ticket */
        RUN_UNTIL(&f, f.cli.frames == i);
        CALL(&f, net_close(f.cli.net, f.cli.conn, false));
        RUN_UNTIL(&f, f.srv.closed == i);
    }
    assert_int_equal(net_handshakes(f.srv.net).resumed, 1);
    fix_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_sends_something_else_is_not_reported),
        cmocka_unit_test(a_client_without_a_key_has_proved_none),
        cmocka_unit_test(the_owner_learns_the_key_and_gets_the_frames_after_the_proof),
        cmocka_unit_test(a_resumed_connection_has_its_own_proof),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
