/* SPDX-License-Identifier: BSD-3-Clause */
/* Handshakes over a socket pair, reload of files, the certificate authority. */
#include "base/tls/test/pki.h"
#include "base/tls/test/shake.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

struct fixture {
    struct pki red;
    struct pki blue;
};

static const char *const head_names[] = {"x-head-0.x.ns.svc", "*.x.ns.svc", "10.0.0.7", "fd00::7",
                                         NULL};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    pki_init(&f->red, "red");
    pki_init(&f->blue, "blue");
    pki_issue(&f->red, "head", "x-head-0", head_names, 5);
    pki_issue(&f->red, "member", "x-1", NULL, 5);
    pki_issue(&f->red, "member", "old", NULL, -1);
    pki_issue(&f->blue, "member", "y-1", NULL, 5);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    pki_fini(&f->red);
    pki_fini(&f->blue);
    free(f);
    return 0;
}

static struct pair shake_as(const struct pki *server_pki, const char *server,
                            const struct pki *client_pki, const char *client,
                            const struct pki *client_trust, const char *host)
{
    struct tls_ctx *s = pki_ctx(server_pki, server, server_pki);
    struct tls_ctx *c = pki_ctx(client_pki, client, client_trust);
    struct pair p = pair_shake(tls_new_server(s, NULL), tls_new_client(c, host, NULL));

    tls_ctx_destroy(s);
    tls_ctx_destroy(c);
    return p;
}

static void a_client_of_another_authority_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-head-0", &f->blue, "y-1", &f->red, NULL);
    struct tls_peer peer;
    struct err err = {0};

    assert_int_not_equal(p.server_rc, 1);
    assert_int_equal(tls_peer(p.server, &peer, &err), -1);
    assert_string_equal(peer.name, "");
}

static void a_server_of_another_authority_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-head-0", &f->red, "x-1", &f->blue, NULL);

    assert_int_not_equal(p.client_rc, 1);
}

static void an_expired_client_certificate_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-head-0", &f->red, "old", &f->red, NULL);

    assert_int_not_equal(p.server_rc, 1);
    assert_int_equal(SSL_get_verify_result(p.server), X509_V_ERR_CERT_HAS_EXPIRED);
}

static void an_expired_server_certificate_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "old", &f->red, "x-1", &f->red, NULL);

    assert_int_not_equal(p.client_rc, 1);
}

static struct pair shake_with_bare_client(const struct fixture *f, int max_version)
{
    struct tls_ctx *s = pki_ctx(&f->red, "x-head-0", &f->red);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *client;
    struct pair p;

    SSL_CTX_set_max_proto_version(ctx, max_version);
    client = SSL_new(ctx);
    SSL_set_connect_state(client);
    p = pair_shake(tls_new_server(s, NULL), client);
    SSL_CTX_free(ctx);
    tls_ctx_destroy(s);
    return p;
}

static void a_client_without_a_certificate_is_refused(void **state)
{
    PAIR_AUTO struct pair p = shake_with_bare_client(*state, 0);
    struct tls_peer peer;
    struct err err = {0};

    assert_int_not_equal(p.server_rc, 1);
    assert_int_equal(tls_peer(p.server, &peer, &err), -1);
    assert_string_equal(err.msg, "the peer showed no certificate");
}

static void tls_1_2_is_refused(void **state)
{
    PAIR_AUTO struct pair p = shake_with_bare_client(*state, TLS1_2_VERSION);

    assert_int_not_equal(p.server_rc, 1);
}

static void a_host_that_is_not_in_the_certificate_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p =
        shake_as(&f->red, "x-head-0", &f->red, "x-1", &f->red, "evil.example");

    assert_int_not_equal(p.client_rc, 1);
}

static void an_address_that_is_not_in_the_certificate_is_refused(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-head-0", &f->red, "x-1", &f->red, "10.0.0.8");

    assert_int_not_equal(p.client_rc, 1);
}

static void a_common_name_is_no_host_name(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-1", &f->red, "x-1", &f->red, "x-1");

    assert_int_not_equal(p.client_rc, 1);
}

static void both_sides_see_cluster_role_and_name(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-head-0", &f->red, "x-1", &f->red, NULL);
    struct tls_peer peer;

    assert_int_equal(p.server_rc, 1);
    assert_int_equal(tls_peer(p.server, &peer, NULL), 0);
    assert_string_equal(peer.cluster, "red");
    assert_string_equal(peer.role, "member");
    assert_string_equal(peer.name, "x-1");
    assert_int_equal(tls_peer(p.client, &peer, NULL), 0);
    assert_string_equal(peer.role, "head");
    assert_int_equal(SSL_version(p.client), TLS1_3_VERSION);
}

static void only_the_chain_of_the_file_is_sent(void **state)
{
    struct fixture *f = *state;
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-head-0", &f->red, "x-1", &f->red, NULL);
    /* As the client sees it with the server's own certificate, as the server sees it without. */
    int of_server = sk_X509_num(SSL_get_peer_cert_chain(p.client));
    int of_client = sk_X509_num(SSL_get_peer_cert_chain(p.server));

    assert_int_equal(p.client_rc, 1);
    assert_int_equal(p.server_rc, 1);
    assert_int_equal(of_server, 1);
    assert_true(of_client <= 0);
}

static void assert_host_is_accepted(struct fixture *f, const char *host)
{
    PAIR_AUTO struct pair p = shake_as(&f->red, "x-head-0", &f->red, "x-1", &f->red, host);

    assert_int_equal(p.client_rc, 1);
}

static void a_host_name_of_the_certificate_is_accepted(void **state)
{
    assert_host_is_accepted(*state, "x-head-0.x.ns.svc");
}

static void a_wildcard_of_the_certificate_is_accepted(void **state)
{
    assert_host_is_accepted(*state, "x-17.x.ns.svc");
}

static void an_ipv4_address_of_the_certificate_is_accepted(void **state)
{
    assert_host_is_accepted(*state, "10.0.0.7");
}

static void an_ipv6_address_of_the_certificate_is_accepted(void **state)
{
    assert_host_is_accepted(*state, "fd00::7");
}

/* A context over copies in `dir`, or NULL and the reason. */
static struct tls_ctx *create_from(struct pki *p, const char *ca, const char *cert, const char *key,
                                   struct err *err)
{
    FREE_AUTO char *ca_path = xasprintf("%s/%s", p->dir, ca);
    FREE_AUTO char *cert_path = xasprintf("%s/%s", p->dir, cert);
    FREE_AUTO char *key_path = xasprintf("%s/%s", p->dir, key);

    return tls_ctx_create(&(struct tls_files){.ca = ca_path, .cert = cert_path, .key = key_path},
                          err);
}

static void a_missing_file_is_named(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    assert_null(create_from(&f->red, "ca.pem", "nobody.pem", "x-1.key", &err));
    assert_non_null(strstr(err.msg, "nobody.pem"));
    assert_int_equal(err.code, ENOENT);
}

static void a_context_gives_the_subject_of_its_own_certificate(void **state)
{
    struct fixture *f = *state;
    struct tls_ctx *t = create_from(&f->red, "ca.pem", "x-1.pem", "x-1.key", NULL);
    struct tls_peer own;

    assert_non_null(t);
    assert_int_equal(tls_ctx_own(t, &own, NULL), 0);
    assert_string_equal(own.cluster, "red");
    assert_string_equal(own.role, "member");
    assert_string_equal(own.name, "x-1");
    tls_ctx_destroy(t);
}

static void a_trust_bundle_that_is_no_pem_is_named(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    pki_write(&f->red, "bad.pem", "hello\n");
    assert_null(create_from(&f->red, "bad.pem", "x-1.pem", "x-1.key", &err));
    assert_non_null(strstr(err.msg, "bad.pem"));
}

static void a_key_of_another_certificate_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    assert_null(create_from(&f->red, "ca.pem", "x-1.pem", "old.key", &err));
    assert_non_null(strstr(err.msg, "old.key"));
}

static void an_encrypted_key_is_refused_without_asking(void **state)
{
    static const char key[] = "-----BEGIN EC PRIVATE KEY-----\n"
                              "Proc-Type: 4,ENCRYPTED\n"
                              "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
                              "AAAAAAAAAAAAAAAAAAAAAA==\n"
                              "-----END EC PRIVATE KEY-----\n";
    struct fixture *f = *state;
    struct err err = {0};

    pki_write(&f->red, "locked.key", key);
    assert_null(create_from(&f->red, "ca.pem", "x-1.pem", "locked.key", &err));
    assert_non_null(strstr(err.msg, "locked.key"));
}

static void a_refresh_of_unchanged_files_does_nothing(void **state)
{
    struct fixture *f = *state;
    struct tls_ctx *ctx = pki_ctx(&f->red, "x-1", &f->red);

    assert_int_equal(tls_ctx_refresh(ctx, NULL), 0);
    tls_ctx_destroy(ctx);
}

static void a_refresh_with_a_broken_file_keeps_the_old_ones(void **state)
{
    struct fixture *f = *state;
    struct tls_ctx *server = pki_ctx(&f->red, "x-head-0", &f->red);
    struct tls_ctx *client = pki_ctx(&f->red, "x-1", &f->red);
    struct err err = {0};
    struct pair p;

    pki_write(&f->red, "x-head-0.pem", "half a file");
    assert_int_equal(tls_ctx_refresh(server, &err), -1);
    assert_non_null(strstr(err.msg, "x-head-0.pem"));
    p = pair_shake(tls_new_server(server, NULL), tls_new_client(client, NULL, NULL));
    assert_int_equal(p.server_rc, 1);
    pair_free(&p);
    tls_ctx_destroy(server);
    tls_ctx_destroy(client);
}

static void a_refresh_whose_file_is_gone_keeps_the_old_ones(void **state)
{
    struct fixture *f = *state;
    struct tls_ctx *ctx = pki_ctx(&f->red, "x-1", &f->red);
    FREE_AUTO char *path = xasprintf("%s/x-1.pem", f->red.dir);
    struct err err = {0};

    unlink(path);
    assert_int_equal(tls_ctx_refresh(ctx, &err), -1);
    assert_int_equal(err.code, ENOENT);
    tls_ctx_destroy(ctx);
}

static void a_refresh_brings_the_new_certificate(void **state)
{
    struct fixture *f = *state;
    struct tls_ctx *server = pki_ctx(&f->red, "x-head-0", &f->red);
    struct tls_ctx *client = pki_ctx(&f->red, "x-1", &f->red);
    struct tls_peer peer;
    struct pair p;
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    assert_int_equal(tls_ca_issue(f->red.ca, "head", "renewed", NULL, 5, &cert, &key, NULL), 0);
    pki_write(&f->red, "x-head-0.pem", cert);
    pki_write(&f->red, "x-head-0.key", key);
    assert_int_equal(tls_ctx_refresh(server, NULL), 1);
    assert_int_equal(tls_ctx_refresh(server, NULL), 0);
    p = pair_shake(tls_new_server(server, NULL), tls_new_client(client, NULL, NULL));
    assert_int_equal(tls_peer(p.client, &peer, NULL), 0);
    assert_string_equal(peer.name, "renewed");
    pair_free(&p);
    tls_ctx_destroy(server);
    tls_ctx_destroy(client);
}

static void a_new_connection_has_the_new_certificate_without_a_refresh(void **state)
{
    struct fixture *f = *state;
    struct tls_ctx *server = pki_ctx(&f->red, "x-head-0", &f->red);
    struct tls_ctx *client = pki_ctx(&f->red, "x-1", &f->red);
    SSL *early = tls_new_server(server, NULL);
    struct tls_peer peer;
    struct pair p;
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    assert_int_equal(tls_ca_issue(f->red.ca, "head", "renewed", NULL, 5, &cert, &key, NULL), 0);
    pki_write(&f->red, "x-head-0.pem", cert);
    pki_write(&f->red, "x-head-0.key", key);
    p = pair_shake(tls_new_server(server, NULL), tls_new_client(client, NULL, NULL));
    assert_int_equal(tls_peer(p.client, &peer, NULL), 0);
    assert_string_equal(peer.name, "renewed");
    pair_free(&p);
    p = pair_shake(early, tls_new_client(client, NULL, NULL));
    assert_int_equal(tls_peer(p.client, &peer, NULL), 0);
    assert_string_equal(peer.name, "x-head-0");
    pair_free(&p);
    pki_write(&f->red, "x-head-0.key", "no key");
    p = pair_shake(tls_new_server(server, NULL), tls_new_client(client, NULL, NULL));
    assert_int_equal(tls_peer(p.client, &peer, NULL), 0);
    assert_string_equal(peer.name, "renewed");
    pair_free(&p);
    tls_ctx_destroy(server);
    tls_ctx_destroy(client);
}

static void the_life_of_a_certificate_is_read(void **state)
{
    struct fixture *f = *state;
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;
    struct tls_life life;
    struct err err = {0};
    int64_t before_ms = (int64_t)time(NULL) * 1000, day_ms = 86400000;

    assert_int_equal(tls_ca_issue(f->red.ca, "head", "x", NULL, 90, &cert, &key, NULL), 0);
    assert_int_equal(tls_cert_life(cert, &life, &err), 0);
    assert_in_range(life.end_ms - before_ms, 90 * day_ms, 90 * day_ms + 60000);
    assert_in_range(life.end_ms - life.begin_ms, 90 * day_ms, 90 * day_ms + 600000);
    assert_int_equal(tls_cert_life(key, &life, &err), -1);
    assert_non_null(strstr(err.msg, "reading a certificate"));
}

static void a_refreshed_trust_bundle_shuts_the_old_authority_out(void **state)
{
    struct fixture *f = *state;
    struct tls_ctx *server = pki_ctx(&f->red, "x-head-0", &f->red);
    struct tls_ctx *client = pki_ctx(&f->red, "x-1", &f->red);
    FREE_AUTO char *other = tls_ca_cert_pem(f->blue.ca);
    struct pair p;

    pki_write(&f->red, "ca.pem", other);
    assert_int_equal(tls_ctx_refresh(server, NULL), 1);
    p = pair_shake(tls_new_server(server, NULL), tls_new_client(client, NULL, NULL));
    assert_int_not_equal(p.server_rc, 1);
    pair_free(&p);
    tls_ctx_destroy(server);
    tls_ctx_destroy(client);
}

/* The names of both authorities are equal; only their keys differ. */
static void a_bundle_of_two_authorities_trusts_the_certificates_of_both(void **state)
{
    struct fixture *f = *state;
    struct pki next;
    FREE_AUTO char *old = tls_ca_cert_pem(f->red.ca);

    pki_init(&next, "red");
    pki_issue(&next, "member", "x-2", NULL, 5);
    FREE_AUTO char *new = tls_ca_cert_pem(next.ca);
    FREE_AUTO char *both = xasprintf("%s%s", old, new);
    pki_write(&f->red, "ca.pem", both);
    pki_write(&next, "ca.pem", both);
    PAIR_AUTO struct pair p =
        shake_as(&f->red, "x-head-0", &next, "x-2", &next, "x-head-0.x.ns.svc");
    assert_int_equal(p.server_rc, 1);
    assert_int_equal(p.client_rc, 1);
    PAIR_AUTO struct pair q = shake_as(&next, "x-2", &f->red, "x-1", &f->red, NULL);
    assert_int_equal(q.server_rc, 1);
    pki_fini(&next);
}

static void a_bundle_names_the_issuer_of_a_certificate(void **state)
{
    struct fixture *f = *state;
    FREE_AUTO char *red = tls_ca_cert_pem(f->red.ca);
    FREE_AUTO char *blue = tls_ca_cert_pem(f->blue.ca);
    FREE_AUTO char *both = xasprintf("%s\n# a comment\n%s", blue, red);
    FREE_AUTO char *swapped = xasprintf("%s%s", red, blue);
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    assert_int_equal(tls_ca_issue(f->red.ca, "member", "m", NULL, 5, &cert, &key, NULL), 0);
    assert_null(tls_bundle_issuer(NULL, cert));
    assert_null(tls_bundle_issuer("no PEM", cert));
    assert_null(tls_bundle_issuer(blue, cert));
    assert_null(tls_bundle_issuer(both, NULL));
    FREE_AUTO char *issuer = tls_bundle_issuer(both, cert);
    assert_string_equal(issuer, red);
    assert_int_equal(tls_bundle_count(NULL), 0);
    assert_int_equal(tls_bundle_count("no PEM"), 0);
    assert_int_equal(tls_bundle_count(both), 2);
    assert_true(tls_bundle_same(both, swapped));
    assert_false(tls_bundle_same(both, red));
    assert_false(tls_bundle_same(NULL, red));
    assert_true(tls_bundle_has(both, red));
    assert_false(tls_bundle_has(both, cert));
    assert_false(tls_bundle_has(both, "no PEM"));
    FREE_AUTO char *second = tls_bundle_nth(both, 1);
    assert_string_equal(second, red);
    assert_null(tls_bundle_nth(both, 2));
}

/* Both authorities have the same name, and the one that has issued the certificate is kept. */
static void no_authority_is_taken_for_the_issuer_that_was_found_before(void **state)
{
    struct fixture *f = *state;
    struct pki other;
    FREE_AUTO char *red = tls_ca_cert_pem(f->red.ca);
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    pki_init(&other, "red");
    FREE_AUTO char *same_name = tls_ca_cert_pem(other.ca);
    assert_int_equal(tls_ca_issue(f->red.ca, "member", "m", NULL, 5, &cert, &key, NULL), 0);
    for (int i = 0; i < 2; i++) {
        FREE_AUTO char *issuer = tls_bundle_issuer(red, cert);
        FREE_AUTO char *again = tls_bundle_issuer(red, cert);

        assert_string_equal(issuer, red);
        assert_string_equal(again, red);
        assert_null(tls_bundle_issuer(same_name, cert));
        tls_bundle_forget(); /* the second time all is decoded and verified */
    }
    pki_fini(&other);
}

/* More certificates than are kept decoded, in an order in which the kept ones are replaced. */
static void each_of_many_certificates_of_a_bundle_is_found(void **state)
{
    enum { MANY = 160 };
    char *cert[MANY], *bundle = NULL;

    for (int i = 0; i < MANY; i++) {
        struct tls_ca *ca = tls_ca_create("red", 1, NULL);

        cert[i] = tls_ca_cert_pem(ca);
        tls_ca_destroy(ca);
        FREE_AUTO char *before = bundle;
        bundle = xasprintf("%s%s", before ? before : "", cert[i]);
    }
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tls_bundle_count(bundle), MANY);
        for (int i = MANY - 1; i >= 0; i--) {
            FREE_AUTO char *nth = tls_bundle_nth(bundle, (size_t)i);

            assert_string_equal(nth, cert[i]);
            assert_true(tls_bundle_same(nth, cert[i]));
            assert_false(tls_bundle_same(nth, cert[i ? i - 1 : MANY - 1]));
        }
        tls_bundle_forget();
    }
    for (int i = 0; i < MANY; i++)
        free(cert[i]);
    free(bundle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_of_another_authority_is_refused),
        TEST(a_server_of_another_authority_is_refused),
        TEST(an_expired_client_certificate_is_refused),
        TEST(an_expired_server_certificate_is_refused),
        TEST(a_bundle_of_two_authorities_trusts_the_certificates_of_both),
        TEST(a_bundle_names_the_issuer_of_a_certificate),
        TEST(no_authority_is_taken_for_the_issuer_that_was_found_before),
        TEST(each_of_many_certificates_of_a_bundle_is_found),
        TEST(a_client_without_a_certificate_is_refused),
        TEST(tls_1_2_is_refused),
        TEST(a_host_that_is_not_in_the_certificate_is_refused),
        TEST(an_address_that_is_not_in_the_certificate_is_refused),
        TEST(a_common_name_is_no_host_name),
        TEST(only_the_chain_of_the_file_is_sent),
        TEST(both_sides_see_cluster_role_and_name),
        TEST(a_host_name_of_the_certificate_is_accepted),
        TEST(a_wildcard_of_the_certificate_is_accepted),
        TEST(an_ipv4_address_of_the_certificate_is_accepted),
        TEST(an_ipv6_address_of_the_certificate_is_accepted),
        TEST(a_missing_file_is_named),
        TEST(a_context_gives_the_subject_of_its_own_certificate),
        TEST(a_trust_bundle_that_is_no_pem_is_named),
        TEST(a_key_of_another_certificate_is_refused),
        TEST(an_encrypted_key_is_refused_without_asking),
        TEST(a_refresh_of_unchanged_files_does_nothing),
        TEST(a_refresh_with_a_broken_file_keeps_the_old_ones),
        TEST(a_refresh_whose_file_is_gone_keeps_the_old_ones),
        TEST(a_refresh_brings_the_new_certificate),
        TEST(a_new_connection_has_the_new_certificate_without_a_refresh),
        TEST(the_life_of_a_certificate_is_read),
        TEST(a_refreshed_trust_bundle_shuts_the_old_authority_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
