/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials: forged, altered, expired ones and those of another DVM are refused; each daemon
 * accepts those of its own DVM. */
#include "base/tls/test/pki.h"
#include "dvm/host/cred/sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1000000000000ull
#define LIFE "0123456789abcdef"

struct fixture {
    struct pki red, blue, red_too; /* another authority with the same name "red" */
    struct tls_ctx *head, *member, *user, *stranger, *namesake;
    struct buf cred; /* made by member at NOW */
};

static const struct cred who = {
    .incarnation = LIFE, .nspace = LIFE ".7", .rank = 3, .uid = 1000, .gid = 100};

static void sign(struct buf *b, const struct tls_ctx *t, const struct cred *k)
{
    struct err err = {0};

    buf_reset(b);
    if (cred_sign(t, k, NOW, b, &err) < 0)
        fail_msg("%s", err.msg);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    pki_init(&f->red, "red");
    pki_init(&f->blue, "blue");
    pki_init(&f->red_too, "red");
    pki_issue(&f->red, "head", "x-0", NULL, 5);
    pki_issue(&f->red, "member", "x-1", NULL, 5);
    pki_issue(&f->red, "user", "me", NULL, 5);
    pki_issue(&f->blue, "member", "y-1", NULL, 5);
    pki_issue(&f->red_too, "member", "x-1", NULL, 5);
    f->head = pki_ctx(&f->red, "x-0", &f->red);
    f->member = pki_ctx(&f->red, "x-1", &f->red);
    f->user = pki_ctx(&f->red, "me", &f->red);
    f->stranger = pki_ctx(&f->blue, "y-1", &f->blue);
    f->namesake = pki_ctx(&f->red_too, "x-1", &f->red_too);
    buf_init(&f->cred, CRED_MAX);
    sign(&f->cred, f->member, &who);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    buf_free(&f->cred);
    tls_ctx_destroy(f->head);
    tls_ctx_destroy(f->member);
    tls_ctx_destroy(f->user);
    tls_ctx_destroy(f->stranger);
    tls_ctx_destroy(f->namesake);
    pki_fini(&f->red);
    pki_fini(&f->blue);
    pki_fini(&f->red_too);
    free(f);
    return 0;
}

static void assert_refused(const struct tls_ctx *t, const char *cluster, const char *incarnation,
                           uint64_t now_ms, const struct buf *b, const char *why)
{
    struct cred out = {.rank = 77};
    struct err err = {0};

    assert_int_equal(cred_check(t, cluster, incarnation, now_ms, b->data, b->len, &out, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
    assert_int_equal(out.rank, 77);
}

static void every_altered_byte_is_refused(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->cred.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            f->cred.data[i] ^= (uint8_t)(1u << bit);
            assert_refused(f->head, "red", LIFE, NOW, &f->cred, "");
            f->cred.data[i] ^= (uint8_t)(1u << bit);
        }
    }
}

static void every_cut_is_refused(void **state)
{
    struct fixture *f = *state;
    struct buf part = f->cred;

    for (part.len = 0; part.len < f->cred.len; part.len++)
        assert_refused(f->head, "red", LIFE, NOW, &part, "");
}

/* The signature of one credential with the statement of another. */
static void a_signature_fits_its_own_statement_only(void **state)
{
    struct fixture *f = *state;
    BUF_AUTO struct buf b = {0};
    struct cred k;
    size_t statement;

    buf_init(&b, CRED_MAX);
    assert_int_equal(cred_decode(f->cred.data, f->cred.len, &k, &statement, NULL), 0);
    k.uid = 0;
    cred_encode(&b, &k);
    assert_refused(f->head, "red", LIFE, NOW, &b, "the signature is not");
}

static void a_credential_signed_by_a_user_is_refused(void **state)
{
    struct fixture *f = *state;

    sign(&f->cred, f->user, &who);
    assert_refused(f->head, "red", LIFE, NOW, &f->cred, "signed by a user");
}

static void another_authoritys_credential_is_refused(void **state)
{
    struct fixture *f = *state;

    sign(&f->cred, f->stranger, &who);
    assert_refused(f->head, "red", LIFE, NOW, &f->cred, "not trusted");
    sign(&f->cred, f->namesake, &who);
    assert_refused(f->head, "red", LIFE, NOW, &f->cred, "not trusted");
}

static void another_dvms_credential_is_refused(void **state)
{
    const struct fixture *f = *state;

    assert_refused(f->head, "red", "fedcba9876543210", NOW, &f->cred, "another DVM");
    assert_refused(f->head, "red/2", LIFE, NOW, &f->cred, "the cluster red");
    assert_refused(f->head, "red", "", NOW, &f->cred, "another DVM");
}

static void a_credential_is_good_for_its_time(void **state)
{
    const struct fixture *f = *state;
    struct cred out;

    assert_refused(f->head, "red", LIFE, NOW + CRED_LIFE_MS, &f->cred, "it ended 0 s ago");
    assert_refused(f->head, "red", LIFE, NOW - CRED_SKEW_MS - 1000, &f->cred, "it begins in 301 s");
    assert_int_equal(cred_check(f->head, "red", LIFE, NOW + CRED_LIFE_MS - 1, f->cred.data,
                                f->cred.len, &out, NULL),
                     0);
    assert_int_equal(
        cred_check(f->head, "red", LIFE, NOW - CRED_SKEW_MS, f->cred.data, f->cred.len, &out, NULL),
        0);
}

static void a_credential_names_its_holder_to_any_daemon(void **state)
{
    struct fixture *f = *state;
    const struct tls_ctx *all[] = {f->head, f->member};
    struct cred k = who, out;

    for (int i = 0; i < 4; i++) {
        k.tool = i & 1;
        sign(&f->cred, all[i >> 1], &k);
        assert_true(f->cred.len <= CRED_MAX);
        assert_int_equal(
            cred_check(f->head, "red", LIFE, NOW, f->cred.data, f->cred.len, &out, NULL), 0);
        assert_string_equal(out.nspace, who.nspace);
        assert_int_equal(out.rank, 3);
        assert_int_equal(out.uid, 1000);
        assert_int_equal(out.gid, 100);
        assert_int_equal(out.tool, k.tool);
        assert_int_equal(out.ends_ms - out.issued_ms, CRED_LIFE_MS);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_altered_byte_is_refused),
        TEST(every_cut_is_refused),
        TEST(a_signature_fits_its_own_statement_only),
        TEST(a_credential_signed_by_a_user_is_refused),
        TEST(another_authoritys_credential_is_refused),
        TEST(another_dvms_credential_is_refused),
        TEST(a_credential_is_good_for_its_time),
        TEST(a_credential_names_its_holder_to_any_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
