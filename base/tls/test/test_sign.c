/* SPDX-License-Identifier: BSD-3-Clause */
/* Signed statements: an altered one, and one signed by another authority, is refused. */
#include "base/tls/test/pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SAYS "it rains"

struct fixture {
    struct pki red, blue;
    struct tls_ctx *member, *other, *old, *stranger;
    struct buf cert, signature; /* of SAYS, by member */
};

static struct tls_signed signed_of(const struct fixture *f)
{
    return (struct tls_signed){.cert = f->cert.data,
                               .cert_len = f->cert.len,
                               .signature = f->signature.data,
                               .signature_len = f->signature.len};
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    pki_init(&f->red, "red");
    pki_init(&f->blue, "blue");
    pki_issue(&f->red, "member", "x-1", NULL, 5);
    pki_issue(&f->red, "head", "x-0", NULL, 5);
    pki_issue(&f->red, "member", "old", NULL, -1);
    pki_issue(&f->blue, "member", "y-1", NULL, 5);
    f->member = pki_ctx(&f->red, "x-1", &f->red);
    f->other = pki_ctx(&f->red, "x-0", &f->red);
    f->old = pki_ctx(&f->red, "old", &f->red);
    f->stranger = pki_ctx(&f->blue, "y-1", &f->blue);
    buf_init(&f->cert, TLS_CERT_MAX);
    buf_init(&f->signature, TLS_SIGNATURE_MAX);
    assert_int_equal(tls_sign(f->member, "news", SAYS, 8, &f->cert, &f->signature, NULL), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    buf_free(&f->cert);
    buf_free(&f->signature);
    tls_ctx_destroy(f->member);
    tls_ctx_destroy(f->other);
    tls_ctx_destroy(f->old);
    tls_ctx_destroy(f->stranger);
    pki_fini(&f->red);
    pki_fini(&f->blue);
    free(f);
    return 0;
}

static void assert_refused(const struct tls_ctx *t, const char *use, const char *says, size_t len,
                           const struct tls_signed *s, const char *why)
{
    struct tls_peer signer = {.name = "before"};
    struct err err = {0};

    assert_int_equal(tls_verify(t, use, says, len, s, &signer, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
    assert_string_equal(signer.name, "");
}

static void another_statement_or_use_is_refused(void **state)
{
    const struct fixture *f = *state;
    struct tls_signed s = signed_of(f);

    assert_refused(f->other, "news", "it pours", 8, &s, "the signature is not");
    assert_refused(f->other, "news", SAYS, 7, &s, "the signature is not");
    assert_refused(f->other, "new", "s" SAYS, 9, &s, "the signature is not");
    assert_refused(f->other, "handshake", SAYS, 8, &s, "the signature is not");
}

static void another_authoritys_statement_is_refused(void **state)
{
    const struct fixture *f = *state;
    struct tls_signed s = signed_of(f);

    assert_refused(f->stranger, "news", SAYS, 8, &s, "not trusted");
}

static void a_certificate_that_has_ended_is_refused(void **state)
{
    struct fixture *f = *state;
    struct tls_signed s;

    buf_reset(&f->cert);
    buf_reset(&f->signature);
    assert_int_equal(tls_sign(f->old, "news", SAYS, 8, &f->cert, &f->signature, NULL), 0);
    s = signed_of(f);
    assert_refused(f->other, "news", SAYS, 8, &s, "expired");
}

/* The signature needs the private key: a certificate alone is public and not enough. */
static void another_holder_of_the_same_authority_cannot_sign_for_it(void **state)
{
    struct fixture *f = *state;
    BUF_AUTO struct buf cert = {0};
    struct tls_signed s;

    buf_init(&cert, TLS_CERT_MAX);
    buf_reset(&f->signature);
    assert_int_equal(tls_sign(f->other, "news", SAYS, 8, &cert, &f->signature, NULL), 0);
    s = signed_of(f);
    assert_refused(f->other, "news", SAYS, 8, &s, "the signature is not");
}

static void every_altered_byte_and_every_cut_is_refused(void **state)
{
    struct fixture *f = *state;
    struct buf *both[] = {&f->cert, &f->signature};
    struct tls_signed s;

    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < both[k]->len; i++) {
            s = signed_of(f);
            both[k]->data[i] ^= (uint8_t)(1u << i % 8);
            assert_refused(f->other, "news", SAYS, 8, &s, "");
            both[k]->data[i] ^= (uint8_t)(1u << i % 8);
            *(k ? &s.signature_len : &s.cert_len) = i;
            assert_refused(f->other, "news", SAYS, 8, &s, "");
        }
    }
    buf_put_u8(&f->cert, 0);
    s = signed_of(f);
    assert_refused(f->other, "news", SAYS, 8, &s, "malformed");
}

static void a_verified_statement_names_its_signer(void **state)
{
    const struct fixture *f = *state;
    struct tls_signed s = signed_of(f);
    struct tls_peer signer;

    assert_int_equal(tls_verify(f->other, "news", SAYS, 8, &s, &signer, NULL), 0);
    assert_string_equal(signer.cluster, "red");
    assert_string_equal(signer.role, "member");
    assert_string_equal(signer.name, "x-1");
}

/* A buffer that has no room left gets one clear error. */
static void a_certificate_that_exceeds_its_buffer_is_refused(void **state)
{
    const struct fixture *f = *state;
    BUF_AUTO struct buf cert = {0}, signature = {0};
    struct err err = {0};

    buf_init(&cert, 16);
    buf_init(&signature, TLS_SIGNATURE_MAX);
    assert_int_equal(tls_sign(f->member, "news", SAYS, 8, &cert, &signature, &err), -1);
    assert_non_null(strstr(err.msg, "too long"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_statement_or_use_is_refused),
        TEST(another_authoritys_statement_is_refused),
        TEST(a_certificate_that_has_ended_is_refused),
        TEST(another_holder_of_the_same_authority_cannot_sign_for_it),
        TEST(every_altered_byte_and_every_cut_is_refused),
        TEST(a_verified_statement_names_its_signer),
        TEST(a_certificate_that_exceeds_its_buffer_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
