/* SPDX-License-Identifier: BSD-3-Clause */
/* The HTTP server with mutual TLS: which clients are accepted, and the identity that a handler
 * sees. */
#include "base/httpd/test/client.h"
#include "base/tls/test/pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GET_WHO "GET /who HTTP/1.1\r\nConnection: close\r\n\r\n"

struct fixture {
    struct pki ours;
    struct pki theirs;
    struct loop *loop;
    struct tls_ctx *server;
    struct httpd *h;
    struct httpd_stream *stream;
    int closed;
    struct client client;
};

static void on_who(struct httpd_req *req, void *arg)
{
    const struct tls_peer *peer = httpd_peer(req);

    httpd_reply_json(req, 200,
                     json_pack("{s:s,s:s,s:s}", "cluster", peer->cluster, "role", peer->role,
                               "name", peer->name));
}

static void on_closed(void *arg)
{
    struct fixture *f = arg;

    f->closed++;
    loop_stop(f->loop);
}

static void on_stream(struct httpd_req *req, void *arg)
{
    struct fixture *f = arg;

    f->stream = httpd_stream_begin(req, "text/plain", on_closed, f);
    assert_int_equal(httpd_stream_send(f->stream, "first\n", 6), 0);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct httpd_opts opts = {
        .addr = "127.0.0.1", .max_body = 1000, .max_conns = 8, .idle_timeout_ms = 60000};

    pki_init(&f->ours, "red");
    pki_init(&f->theirs, "blue");
    pki_issue(&f->ours, "head", "red-head-0", NULL, 5);
    pki_issue(&f->ours, "user", "alice", NULL, 5);
    pki_issue(&f->ours, "user", "old", NULL, -1);
    pki_issue(&f->theirs, "user", "mallory", NULL, 5);
    f->server = pki_ctx(&f->ours, "red-head-0", &f->ours);
    opts.tls = f->server;
    f->loop = loop_create(NULL);
    f->h = httpd_create(f->loop, &opts, NULL);
    httpd_route(f->h, "GET", "/who", on_who, f);
    httpd_route(f->h, "GET", "/stream", on_stream, f);
    f->client = (struct client){.loop = f->loop, .port = httpd_port(f->h), .request = GET_WHO};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    httpd_destroy(f->h);
    loop_destroy(f->loop);
    tls_ctx_destroy(f->server);
    tls_ctx_destroy(f->client.tls);
    pki_fini(&f->ours);
    pki_fini(&f->theirs);
    buf_free(&f->client.answer);
    free(f);
    return 0;
}

/* The whole answer to GET_WHO for a client with that certificate, "" if it got none. */
static const char *ask_as(struct fixture *f, struct tls_ctx *tls)
{
    f->client.tls = tls;
    client_run(&f->client);
    return f->client.answer.data ? (const char *)f->client.answer.data : "";
}

static void talk_without_certificate(struct client *c, struct link *l)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    struct link bare = link_open(c->port, NULL);

    bare.ssl = SSL_new(ctx);
    SSL_set_fd(bare.ssl, bare.fd);
    /* In TLS 1.3 the client may think it is connected before the server has looked. */
    if (SSL_connect(bare.ssl) == 1) {
        link_send(&bare, GET_WHO);
        link_read_until(&bare, &c->answer, NULL);
    }
    link_close(&bare);
    SSL_CTX_free(ctx);
}

static void a_client_without_a_certificate_gets_nothing(void **state)
{
    struct fixture *f = *state;

    f->client.talk = talk_without_certificate;
    assert_string_equal(ask_as(f, NULL), "");
}

static void a_client_that_speaks_plain_http_gets_nothing(void **state)
{
    assert_null(strstr(ask_as(*state, NULL), "HTTP/1.1"));
}

static void a_client_of_another_authority_gets_nothing(void **state)
{
    struct fixture *f = *state;

    /* It trusts the server, so only the server can refuse. */
    assert_string_equal(ask_as(f, pki_ctx(&f->theirs, "mallory", &f->ours)), "");
}

static void a_client_with_an_expired_certificate_gets_nothing(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(ask_as(f, pki_ctx(&f->ours, "old", &f->ours)), "");
}

static void a_client_refuses_a_server_of_another_authority(void **state)
{
    struct fixture *f = *state;

    ask_as(f, pki_ctx(&f->ours, "alice", &f->theirs));
    assert_false(f->client.connected);
}

static void the_handler_sees_the_subject_of_the_peer(void **state)
{
    struct fixture *f = *state;
    const char *answer = ask_as(f, pki_ctx(&f->ours, "alice", &f->ours));

    assert_non_null(strstr(answer, "{\"cluster\":\"red\",\"role\":\"user\",\"name\":\"alice\"}"));
}

static void talk_until_first(struct client *c, struct link *l)
{
    link_send(l, "GET /stream HTTP/1.1\r\n\r\n");
    link_read_until(l, &c->answer, "first\n");
}

static void the_owner_is_notified_when_a_streams_peer_closes(void **state)
{
    struct fixture *f = *state;

    f->client.talk = talk_until_first;
    ask_as(f, pki_ctx(&f->ours, "alice", &f->ours));
    while (!f->closed)
        assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->closed, 1);
}

static void a_stream_is_closed_when_the_server_is_destroyed(void **state)
{
    struct fixture *f = *state;

    f->client.talk = talk_until_first;
    ask_as(f, pki_ctx(&f->ours, "alice", &f->ours));
    httpd_destroy(f->h);
    f->h = NULL;
    assert_int_equal(f->closed, 1);
}

static void new_connections_use_the_refreshed_certificate(void **state)
{
    struct fixture *f = *state;

    pki_issue(&f->ours, "head", "red-head-0", NULL, 6);
    assert_int_equal(tls_ctx_refresh(f->server, NULL), 1);
    assert_non_null(strstr(ask_as(f, pki_ctx(&f->ours, "alice", &f->ours)), "alice"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_without_a_certificate_gets_nothing),
        TEST(a_client_that_speaks_plain_http_gets_nothing),
        TEST(a_client_of_another_authority_gets_nothing),
        TEST(a_client_with_an_expired_certificate_gets_nothing),
        TEST(a_client_refuses_a_server_of_another_authority),
        TEST(the_handler_sees_the_subject_of_the_peer),
        TEST(the_owner_is_notified_when_a_streams_peer_closes),
        TEST(a_stream_is_closed_when_the_server_is_destroyed),
        TEST(new_connections_use_the_refreshed_certificate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
