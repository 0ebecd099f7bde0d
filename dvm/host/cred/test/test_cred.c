/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a credential: malformed ones are refused, valid ones are decoded to the same
 * values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/host/cred/cred.h"

#include <string.h>

static struct cred sample(void)
{
    return (struct cred){.incarnation = "0123456789abcdef",
                         .nspace = "0123456789abcdef.7",
                         .rank = 3,
                         .uid = 1000,
                         .gid = 100,
                         .issued_ms = 5000,
                         .ends_ms = 9000,
                         .cert = (const uint8_t *)"certificate",
                         .cert_len = 11,
                         .signature = (const uint8_t *)"signature",
                         .signature_len = 9};
}

static void assert_refused(const void *data, size_t len, const char *why)
{
    struct cred out = {.rank = 77};
    struct err err = {0};
    size_t statement;

    assert_int_equal(cred_decode(data, len, &out, &statement, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
    assert_int_equal(out.rank, 77);
}

static void assert_cred_refused(const struct cred *k)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 2 * CRED_MAX);
    cred_encode(&b, k);
    assert_false(b.failed);
    assert_refused(b.data, b.len, "malformed");
}

static void a_malformed_credential_is_refused(void **state)
{
    uint8_t large[CRED_MAX + 1] = "DVMC\1";

    assert_refused("", 0, "no credential");
    assert_refused("1000:100", 8, "no credential");
    assert_refused("DVMC\2\0", 6, "no credential");
    assert_refused(large, sizeof(large), "more than");
}

static void fields_over_their_bounds_are_refused(void **state)
{
    static const uint8_t large[CRED_CERT_MAX + 1];
    struct cred k = sample();

    k.ends_ms = k.issued_ms - 1;
    assert_cred_refused(&k);
    k = sample();
    k.incarnation[0] = 0;
    assert_cred_refused(&k);
    k = sample();
    k.nspace[0] = 0;
    assert_cred_refused(&k);
    k = sample();
    k.cert = large;
    k.cert_len = sizeof(large);
    assert_cred_refused(&k);
    k = sample();
    k.signature = large;
    k.signature_len = CRED_SIGNATURE_MAX + 1;
    assert_cred_refused(&k);
}

static void every_prefix_and_every_surplus_is_refused(void **state)
{
    BUF_AUTO struct buf b = {0};
    struct cred k = sample();

    buf_init(&b, CRED_MAX);
    cred_encode(&b, &k);
    buf_put_u8(&b, 0);
    assert_refused(b.data, b.len, "malformed");
    for (size_t n = 0; n < b.len - 1; n++)
        assert_refused(b.data, n, "");
}

static void a_holder_of_an_unknown_kind_is_refused(void **state)
{
    BUF_AUTO struct buf b = {0};
    struct cred k = sample();

    buf_init(&b, CRED_MAX);
    cred_encode(&b, &k);
    b.data[5] = 2;
    assert_refused(b.data, b.len, "malformed");
}

static void a_credential_is_decoded_as_it_was_encoded(void **state)
{
    BUF_AUTO struct buf b = {0}, signed_part = {0};
    struct cred k = sample(), out;
    size_t statement;

    for (int tool = 0; tool < 2; tool++) {
        k.tool = tool;
        buf_init(&b, CRED_MAX);
        buf_init(&signed_part, CRED_MAX);
        cred_encode(&b, &k);
        cred_encode_statement(&signed_part, &k);
        assert_int_equal(cred_decode(b.data, b.len, &out, &statement, NULL), 0);
        assert_int_equal(statement, signed_part.len);
        assert_memory_equal(b.data, signed_part.data, statement);
        assert_string_equal(out.incarnation, k.incarnation);
        assert_string_equal(out.nspace, k.nspace);
        assert_int_equal(out.rank, 3);
        assert_int_equal(out.tool, tool);
        assert_int_equal(out.uid, 1000);
        assert_int_equal(out.gid, 100);
        assert_int_equal(out.issued_ms, 5000);
        assert_int_equal(out.ends_ms, 9000);
        assert_int_equal(out.cert_len, 11);
        assert_memory_equal(out.cert, "certificate", 11);
        assert_int_equal(out.signature_len, 9);
        assert_memory_equal(out.signature, "signature", 9);
        buf_free(&b);
        buf_free(&signed_part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_malformed_credential_is_refused),
        cmocka_unit_test(fields_over_their_bounds_are_refused),
        cmocka_unit_test(every_prefix_and_every_surplus_is_refused),
        cmocka_unit_test(a_holder_of_an_unknown_kind_is_refused),
        cmocka_unit_test(a_credential_is_decoded_as_it_was_encoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
