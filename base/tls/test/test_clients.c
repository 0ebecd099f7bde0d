/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of several authorities that share one context. */
#include "base/tls/test/pki.h"
#include "base/tls/test/shake.h"

#define HOST "x-head.ns.svc"

struct side {
    struct pki pki;
    char *ca, *cert, *key; /* of the operator */
};

struct fixture {
    struct side red, blue;
    struct tls_clients *clients;
};

static char *read_text(const struct pki *p, const char *name)
{
    FREE_AUTO char *path = xasprintf("%s/%s", p->dir, name);
    char *text = xcalloc(1, 8192);
    FILE *f = fopen(path, "re");

    assert_non_null(f);
    assert_true(fread(text, 1, 8191, f) > 0);
    fclose(f);
    return text;
}

static void make_side(struct side *s, const char *cluster)
{
    static const char *const names[] = {HOST, NULL};

    pki_init(&s->pki, cluster);
    pki_issue(&s->pki, "head", "head", names, 5);
    pki_issue(&s->pki, "head", "old", names, -1);
    pki_issue(&s->pki, "operator", "op", NULL, 5);
    s->ca = read_text(&s->pki, "ca.pem");
    s->cert = read_text(&s->pki, "op.pem");
    s->key = read_text(&s->pki, "op.key");
}

static void free_side(struct side *s)
{
    pki_fini(&s->pki);
    free(s->ca);
    free(s->cert);
    free(s->key);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct err err = {0};

    make_side(&f->red, "red");
    make_side(&f->blue, "blue");
    f->clients = tls_clients_create(&err);
    assert_non_null(f->clients);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    free_side(&f->red);
    free_side(&f->blue);
    tls_clients_destroy(f->clients);
    free(f);
    return 0;
}

static struct tls_texts texts_of(const struct side *s)
{
    return (struct tls_texts){.ca = s->ca, .cert = s->cert, .key = s->key};
}

/* A client of `own` that connects to the server with the certificate `name` of `other`. */
static struct pair shake(struct fixture *f, const struct side *own, const struct side *other,
                         const char *name, const char *host)
{
    const struct tls_texts texts = texts_of(own);
    struct tls_ctx *server = pki_ctx(&other->pki, name, &other->pki);
    struct err err = {0};
    struct pair p = pair_shake(tls_new_server(server, &err),
                               tls_clients_connect(f->clients, &texts, host, &err));

    tls_ctx_destroy(server);
    return p;
}

static void a_malformed_text_is_refused_and_named(void **state)
{
    struct fixture *f = *state;
    const struct tls_texts good = texts_of(&f->red);
    const struct {
        struct tls_texts texts;
        const char *named;
    } cases[] = {
        {{.ca = "", .cert = good.cert, .key = good.key}, "trust bundle"},
        {{.ca = good.key, .cert = good.cert, .key = good.key}, "trust bundle"},
        {{.ca = good.ca, .cert = "x", .key = good.key}, "certificate"},
        {{.ca = good.ca, .cert = good.cert, .key = good.cert}, "key"},
        {{.ca = good.ca, .cert = good.cert, .key = f->blue.key}, "key"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};

        assert_null(tls_clients_connect(f->clients, &cases[i].texts, HOST, &err));
        assert_non_null(strstr(err.msg, cases[i].named));
        assert_non_null(strstr(err.msg, HOST));
    }
}

static void each_connection_trusts_its_own_authority_only(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair red = shake(f, &f->red, &f->red, "head", HOST);
    PAIR_AUTO struct pair blue = shake(f, &f->blue, &f->blue, "head", HOST);
    PAIR_AUTO struct pair crossed = shake(f, &f->red, &f->blue, "head", HOST);
    struct tls_peer peer;
    struct err err = {0};

    assert_int_equal(red.client_rc, 1);
    assert_int_equal(blue.client_rc, 1);
    assert_int_not_equal(crossed.client_rc, 1);
    assert_int_not_equal(SSL_get_verify_result(crossed.client), X509_V_OK);
    assert_int_equal(tls_peer(red.server, &peer, &err), 0);
    assert_string_equal(peer.cluster, "red");
    assert_int_equal(tls_peer(blue.server, &peer, &err), 0);
    assert_string_equal(peer.cluster, "blue");
}

static void a_server_with_another_name_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake(f, &f->red, &f->red, "head", "y-head.ns.svc");

    assert_int_not_equal(p.client_rc, 1);
    assert_int_equal(SSL_get_verify_result(p.client), X509_V_ERR_HOSTNAME_MISMATCH);
}

static void a_server_with_an_expired_certificate_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake(f, &f->red, &f->red, "old", HOST);

    assert_int_not_equal(p.client_rc, 1);
    assert_int_equal(SSL_get_verify_result(p.client), X509_V_ERR_CERT_HAS_EXPIRED);
}

static void a_server_with_a_certificate_of_a_client_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake(f, &f->red, &f->red, "op", HOST);

    assert_int_not_equal(p.client_rc, 1);
}

static void a_connection_goes_on_without_its_texts(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake(f, &f->red, &f->red, "head", HOST);
    X509_STORE *store = NULL;
    char text[8] = "";

    assert_int_equal(p.client_rc, 1);
    assert_non_null(SSL_get_certificate(p.client));
    assert_null(SSL_get0_verified_chain(p.client));
    tls_drop_texts(p.client);
    assert_null(SSL_get_certificate(p.client));
    assert_null(SSL_get_privatekey(p.client));
    assert_int_equal(SSL_get0_verify_cert_store(p.client, &store), 1);
    assert_null(store);
    assert_int_equal(SSL_key_update(p.client, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(SSL_write(p.client, "ping", 4), 4);
    assert_int_equal(SSL_read(p.server, text, sizeof(text)), 4);
    assert_int_equal(SSL_write(p.server, "pong", 4), 4);
    assert_int_equal(SSL_read(p.client, text, sizeof(text)), 4);
    assert_string_equal(text, "pong");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_malformed_text_is_refused_and_named),
        cmocka_unit_test(each_connection_trusts_its_own_authority_only),
        cmocka_unit_test(a_server_with_another_name_is_refused),
        cmocka_unit_test(a_server_with_an_expired_certificate_is_refused),
        cmocka_unit_test(a_server_with_a_certificate_of_a_client_is_refused),
        cmocka_unit_test(a_connection_goes_on_without_its_texts),
    };

    return cmocka_run_group_tests_name("tls clients", tests, setup, teardown);
}
