/* SPDX-License-Identifier: BSD-3-Clause */
/* Resumed sessions: a peer that a full handshake would refuse now is refused too. */
#include "base/tls/test/pki.h"
#include "base/tls/test/shake.h"
#include "base/tls/tls_private.h"

#include <time.h>

#define DAY_S 86400
#define SERVER "x-head-0.x.ns.svc 7400"

static const char *const head_names[] = {"x-head-0.x.ns.svc", NULL};

struct fixture {
    struct pki red;
    struct pki blue;
    struct tls_ctx *server;
    struct tls_ctx *client;
};

/* Certificates end after 5 days, those of the authorities after 10. */
static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    pki_init(&f->red, "red");
    pki_init(&f->blue, "blue");
    pki_issue(&f->red, "head", "x-head-0", head_names, 5);
    pki_issue(&f->red, "member", "x-1", NULL, 5);
    f->server = pki_ctx(&f->red, "x-head-0", &f->red);
    f->client = pki_ctx(&f->red, "x-1", &f->red);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    tls_ctx_destroy(f->server);
    tls_ctx_destroy(f->client);
    pki_fini(&f->red);
    pki_fini(&f->blue);
    free(f);
    return 0;
}

/* A connection that may be resumed; the client has read what came after the handshake. */
static struct pair connect_to(struct fixture *f, const char *host)
{
    SSL *server = tls_new_server(f->server, NULL);
    SSL *client = tls_new_client(f->client, host, NULL);
    struct pair p;
    char c;

    tls_resume(f->server, server, NULL);
    tls_resume(f->client, client, SERVER);
    p = pair_shake(server, client);
    if (p.client_rc == 1)
        SSL_read(client, &c, 1);
    return p;
}

static void end_connection(struct fixture *f, struct pair *p)
{
    tls_keep(f->client, p->client, SERVER);
    pair_free(p);
}

/* A connection whose end leaves a session behind. */
static void connect_once(struct fixture *f)
{
    struct pair p = connect_to(f, NULL);

    assert_int_equal(p.server_rc, 1);
    assert_int_equal(p.client_rc, 1);
    end_connection(f, &p);
}

static bool next_is_resumed(struct fixture *f)
{
    struct pair p = connect_to(f, NULL);
    bool resumed = tls_resumed(p.client);

    assert_int_equal(p.server_rc, 1);
    assert_int_equal(p.client_rc, 1);
    assert_int_equal(tls_resumed(p.server), resumed);
    pair_free(&p);
    return resumed;
}

static void refresh(struct tls_ctx *t)
{
    assert_int_equal(tls_ctx_refresh(t, NULL), 1);
}

/* The context's clock goes to so many days from now. */
static void set_clock(struct tls_ctx *t, int days)
{
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(t->ssl), time(NULL) + (time_t)days * DAY_S);
}

static void a_resumed_client_whose_certificate_has_expired_meanwhile_is_refused(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    connect_once(f);
    set_clock(f->server, 6);
    p = connect_to(f, NULL);
    assert_int_not_equal(p.server_rc, 1);
    assert_int_equal(SSL_get_verify_result(p.server), X509_V_ERR_CERT_HAS_EXPIRED);
    pair_free(&p);
}

static void a_resumed_server_whose_certificate_has_expired_meanwhile_is_refused(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    connect_once(f);
    set_clock(f->client, 6);
    p = connect_to(f, NULL);
    assert_int_not_equal(p.client_rc, 1);
    assert_int_equal(SSL_get_verify_result(p.client), X509_V_ERR_CERT_HAS_EXPIRED);
    pair_free(&p);
}

static void a_resumed_server_without_the_expected_host_name_is_refused(void **state)
{
    struct fixture *f = *state;
    struct pair p;

    connect_once(f);
    p = connect_to(f, "other.x.ns.svc");
    assert_int_not_equal(p.client_rc, 1);
    pair_free(&p);
    connect_once(f);
    p = connect_to(f, "x-head-0.x.ns.svc.");
    assert_int_equal(p.client_rc, 1);
    assert_true(tls_resumed(p.client));
    pair_free(&p);
}

static void a_client_is_refused_when_its_authority_is_no_longer_trusted(void **state)
{
    struct fixture *f = *state;
    FREE_AUTO char *blue = tls_ca_cert_pem(f->blue.ca);
    struct pair p;

    connect_once(f);
    pki_write(&f->red, "ca.pem", blue);
    refresh(
        f->server); /* the client keeps its bundle: it reads the file with its next connection */
    p = connect_to(f, NULL);
    assert_int_not_equal(p.server_rc, 1);
    pair_free(&p);
}

static void a_server_is_refused_when_its_authority_is_no_longer_trusted(void **state)
{
    struct fixture *f = *state;
    FREE_AUTO char *blue = tls_ca_cert_pem(f->blue.ca);
    struct tls_ctx *server = f->server;
    struct pair p;

    connect_once(f);
    free(f->client->ca);
    f->client->ca = xasprintf("%s/ca.pem", f->blue.dir);
    pki_write(&f->blue, "ca.pem", blue);
    refresh(f->client);
    assert_ptr_equal(f->server, server);
    p = connect_to(f, NULL);
    assert_int_not_equal(p.client_rc, 1);
    pair_free(&p);
}

static void a_client_with_a_new_role_shows_it(void **state)
{
    struct fixture *f = *state;
    struct tls_peer peer;
    struct pair p;

    connect_once(f);
    pki_issue(&f->red, "user", "x-1", NULL, 5);
    p = connect_to(f, NULL);
    assert_int_equal(p.server_rc, 1);
    assert_false(tls_resumed(p.server));
    assert_int_equal(tls_peer(p.server, &peer, NULL), 0);
    assert_string_equal(peer.role, "user");
    pair_free(&p);
}

static void a_server_with_a_new_role_shows_it(void **state)
{
    struct fixture *f = *state;
    struct tls_peer peer;
    struct pair p;

    connect_once(f);
    pki_issue(&f->red, "member", "x-head-0", head_names, 5);
    p = connect_to(f, NULL);
    assert_int_equal(p.client_rc, 1);
    assert_false(tls_resumed(p.client));
    assert_int_equal(tls_peer(p.client, &peer, NULL), 0);
    assert_string_equal(peer.role, "member");
    pair_free(&p);
}

static void a_new_process_of_the_server_does_a_full_handshake(void **state)
{
    struct fixture *f = *state;

    connect_once(f);
    tls_ctx_destroy(f->server);
    f->server = pki_ctx(&f->red, "x-head-0", &f->red);
    assert_false(next_is_resumed(f));
}

/* As at the control port. */
static void a_server_that_does_not_resume_neither_gives_nor_takes_a_session(void **state)
{
    struct fixture *f = *state;
    SSL *client;
    struct pair p;
    char c;

    connect_once(f);
    client = tls_new_client(f->client, NULL, NULL);
    tls_resume(f->client, client, SERVER);
    p = pair_shake(tls_new_server(f->server, NULL), client);
    assert_int_equal(p.server_rc, 1);
    assert_false(tls_resumed(p.server));
    SSL_read(p.client, &c, 1);
    end_connection(f, &p);
    assert_false(next_is_resumed(f));
}

static void a_session_is_resumed_with_the_identity_of_both(void **state)
{
    struct fixture *f = *state;
    struct tls_peer peer;
    struct pair p;

    connect_once(f);
    p = connect_to(f, NULL);
    assert_true(tls_resumed(p.server) && tls_resumed(p.client));
    assert_int_equal(tls_peer(p.server, &peer, NULL), 0);
    assert_string_equal(peer.role, "member");
    assert_string_equal(peer.name, "x-1");
    assert_int_equal(tls_peer(p.client, &peer, NULL), 0);
    assert_string_equal(peer.role, "head");
    assert_string_equal(peer.cluster, "red");
    end_connection(f, &p);
    assert_true(next_is_resumed(f)); /* a resumed connection leaves a session too */
}

static void a_session_is_used_once_and_few_are_kept_for_a_server(void **state)
{
    struct fixture *f = *state;
    struct pair p[TLS_SESSIONS_MAX + 2];
    int resumed = 0;

    for (int i = 0; i < TLS_SESSIONS_MAX + 2; i++)
        p[i] = connect_to(f, NULL);
    for (int i = 0; i < TLS_SESSIONS_MAX + 2; i++)
        end_connection(f, &p[i]);
    while (next_is_resumed(f))
        resumed++;
    assert_int_equal(resumed, TLS_SESSIONS_MAX);
}

static void sessions_are_kept_for_so_many_servers(void **state)
{
    struct fixture *f = *state;
    struct pair p = connect_to(f, NULL);

    for (int i = 0; i < 3 * TLS_SERVERS_MAX; i++) {
        FREE_AUTO char *name = xasprintf("x-%d 7400", i);

        tls_keep(f->client, p.client, name);
        assert_in_range(tls_servers(f->client), 1, TLS_SERVERS_MAX);
    }
    pair_free(&p);
}

static void a_connection_of_former_credentials_leaves_no_session(void **state)
{
    struct fixture *f = *state;
    struct pair p = connect_to(f, NULL);

    pki_issue(&f->red, "user", "x-1", NULL, 5);
    refresh(f->client);
    end_connection(f, &p);
    assert_int_equal(tls_servers(f->client), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_resumed_client_whose_certificate_has_expired_meanwhile_is_refused),
        TEST(a_resumed_server_whose_certificate_has_expired_meanwhile_is_refused),
        TEST(a_resumed_server_without_the_expected_host_name_is_refused),
        TEST(a_client_is_refused_when_its_authority_is_no_longer_trusted),
        TEST(a_server_is_refused_when_its_authority_is_no_longer_trusted),
        TEST(a_client_with_a_new_role_shows_it),
        TEST(a_server_with_a_new_role_shows_it),
        TEST(a_new_process_of_the_server_does_a_full_handshake),
        TEST(a_server_that_does_not_resume_neither_gives_nor_takes_a_session),
        TEST(a_session_is_resumed_with_the_identity_of_both),
        TEST(a_session_is_used_once_and_few_are_kept_for_a_server),
        TEST(sessions_are_kept_for_so_many_servers),
        TEST(a_connection_of_former_credentials_leaves_no_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
