/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the base64 decoder. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/kube/kube.h"

#include <string.h>

static void malformed_base64_is_refused(void **state)
{
    static const char *const bad[] = {
        "A",    "AA",    "AAA",   "AA=", "AAA==",    "A===", "AA=A",
        "A-_A", "AAAA-", "AAAA=", "=",   "AA==AAAA", "AA*A", "AAAA\xff"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};

        if (kube_base64_decode(bad[i], &err))
            fail_msg("\"%s\" is taken", bad[i]);
        assert_string_equal(err.msg, "this is not base64 text");
    }
}

static void base64_of_every_length_is_decoded(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"", ""},
                 {"Zg==", "f"},
                 {"Zm8=", "fo"},
                 {"Zm9v", "foo"},
                 {"Zm9vYg==", "foob"},
                 {"Zm9vYmE=", "fooba"},
                 {"Zm9vYmFy", "foobar"},
                 {"Pz8/Pj4+", "\x3f\x3f\x3f\x3e\x3e\x3e"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        FREE_AUTO char *got = kube_base64_decode(cases[i].text, &err);

        assert_non_null(got);
        assert_string_equal(got, cases[i].want);
    }
}

static void white_space_in_base64_is_skipped(void **state)
{
    struct err err = {0};
    FREE_AUTO char *got = kube_base64_decode(" Zm9v\r\n Ym\tFy\n", &err);

    assert_string_equal(got, "foobar");
}

static void a_long_text_is_decoded(void **state)
{
    char text[4097];
    struct err err = {0};

    for (size_t i = 0; i < 4096; i += 4) {
        for (size_t k = 0; k < 4; k++)
            text[i + k] = "Zm9v"[k];
    }
    text[4096] = '\0';
    FREE_AUTO char *got = kube_base64_decode(text, &err);
    assert_int_equal(strlen(got), 3072);
    assert_string_equal(got + 3066, "foofoo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_base64_is_refused),
        cmocka_unit_test(base64_of_every_length_is_decoded),
        cmocka_unit_test(white_space_in_base64_is_skipped),
        cmocka_unit_test(a_long_text_is_decoded),
    };

    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
