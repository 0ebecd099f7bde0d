/* SPDX-License-Identifier: BSD-3-Clause */
/* The certificate authority: refused requests, and issued certificates. */
#include "base/tls/test/pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

struct fixture {
    struct tls_ca *ca;
    char *cert;
    char *key;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    f->ca = tls_ca_create("red", 10, NULL);
    *state = f;
    return f->ca ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    tls_ca_destroy(f->ca);
    free(f->cert);
    free(f->key);
    free(f);
    return 0;
}

static int issue(struct fixture *f, const char *name, const char *const *names, struct err *err)
{
    return tls_ca_issue(f->ca, "member", name, names, 5, &f->cert, &f->key, err);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    struct fixture *f = *state;
    char name[66] = {0};
    struct err err = {0};

    memset(name, 'x', 65);
    assert_int_equal(issue(f, name, NULL, &err), -1);
    assert_non_null(strstr(err.msg, "CN"));
    assert_null(f->cert);
    assert_null(f->key);
}

static void an_empty_name_is_refused(void **state)
{
    assert_int_equal(issue(*state, "", NULL, NULL), -1);
}

static void an_alternative_name_with_odd_characters_is_refused(void **state)
{
    const char *const names[] = {"good", "bad,IP:1.2.3.4", NULL};
    struct err err = {0};

    assert_int_equal(issue(*state, "x-1", names, &err), -1);
    assert_non_null(strstr(err.msg, "bad,IP:1.2.3.4"));
}

static void an_empty_alternative_name_is_refused(void **state)
{
    const char *const names[] = {"", NULL};

    assert_int_equal(issue(*state, "x-1", names, NULL), -1);
}

static void a_cluster_name_that_is_too_long_is_refused(void **state)
{
    char name[66] = {0};
    struct err err = {0};

    memset(name, 'x', 65);
    assert_null(tls_ca_create(name, 10, &err));
    assert_true(err.msg[0] != '\0');
}

static void text_that_is_no_certificate_is_refused(void **state)
{
    struct fixture *f = *state;
    FREE_AUTO char *key = tls_ca_key_pem(f->ca);
    struct err err = {0};

    assert_null(tls_ca_load("hello", key, &err));
    assert_true(err.msg[0] != '\0');
}

static void a_key_of_another_authority_is_refused(void **state)
{
    struct fixture *f = *state;
    struct tls_ca *other = tls_ca_create("red", 10, NULL);
    FREE_AUTO char *cert = tls_ca_cert_pem(f->ca);
    FREE_AUTO char *key = tls_ca_key_pem(other);

    assert_null(tls_ca_load(cert, key, NULL));
    tls_ca_destroy(other);
}

static void a_leaf_certificate_is_no_authority(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    assert_int_equal(issue(f, "x-1", NULL, NULL), 0);
    assert_null(tls_ca_load(f->cert, f->key, &err));
    assert_non_null(strstr(err.msg, "may not sign"));
}

static void a_loaded_authority_issues_for_the_same_cluster(void **state)
{
    struct fixture *f = *state;
    FREE_AUTO char *cert = tls_ca_cert_pem(f->ca);
    FREE_AUTO char *key = tls_ca_key_pem(f->ca);
    FREE_AUTO char *again = NULL;

    tls_ca_destroy(f->ca);
    f->ca = tls_ca_load(cert, key, NULL);
    assert_non_null(f->ca);
    again = tls_ca_cert_pem(f->ca);
    assert_string_equal(again, cert);
    assert_int_equal(issue(f, "x-1", NULL, NULL), 0);
}

static void two_certificates_differ(void **state)
{
    struct fixture *f = *state;
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    assert_int_equal(issue(f, "x-1", NULL, NULL), 0);
    assert_int_equal(tls_ca_issue(f->ca, "member", "x-1", NULL, 5, &cert, &key, NULL), 0);
    assert_string_not_equal(cert, f->cert);
    assert_string_not_equal(key, f->key);
}

/* Days until the certificate ends, negative if it has ended. */
static int days_left(const char *cert_pem)
{
    BIO *bio = BIO_new_mem_buf(cert_pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    int days = 0, seconds = 0;

    assert_non_null(cert);
    assert_int_equal(ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)), 1);
    X509_free(cert);
    BIO_free(bio);
    return seconds < 0 ? days - 1 : days;
}

static void a_certificate_lasts_the_days_that_are_asked_for(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(issue(f, "x-1", NULL, NULL), 0);
    assert_in_range(days_left(f->cert), 4, 5);
}

static void a_certificate_can_be_issued_that_has_ended(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(tls_ca_issue(f->ca, "member", "x-1", NULL, -3, &f->cert, &f->key, NULL), 0);
    assert_in_range(-days_left(f->cert), 3, 4);
}

static void destroying_null_is_allowed(void **state)
{
    tls_ca_destroy(NULL);
    tls_ctx_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_name_that_is_too_long_is_refused),
        TEST(an_empty_name_is_refused),
        TEST(an_alternative_name_with_odd_characters_is_refused),
        TEST(an_empty_alternative_name_is_refused),
        TEST(a_cluster_name_that_is_too_long_is_refused),
        TEST(text_that_is_no_certificate_is_refused),
        TEST(a_key_of_another_authority_is_refused),
        TEST(a_leaf_certificate_is_no_authority),
        TEST(a_loaded_authority_issues_for_the_same_cluster),
        TEST(two_certificates_differ),
        TEST(a_certificate_lasts_the_days_that_are_asked_for),
        TEST(a_certificate_can_be_issued_that_has_ended),
        TEST(destroying_null_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
