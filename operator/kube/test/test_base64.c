/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of base64. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/kube/kube.h"

#include <stdlib.h>
#include <string.h>

static void what_is_no_base64_is_refused(void **state)
{
    static const char *const bad[] = {
        "A", "AA", "AAA", "AA=", "AAA==", "A===", "AA=A", "A-_A", "AAAA=", "=", "AA==AAAA"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        assert_null(kube_base64_decode(bad[i], NULL, &err));
        assert_int_equal(strncmp(err.msg, "no base64", 9), 0);
    }
}

static void base64_of_every_length_survives_the_round_trip(void **state)
{
    unsigned char data[70];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 37 + 200);
    for (size_t n = 0; n <= sizeof(data); n++) {
        struct err err = {0};
        size_t len = 99;
        FREE_AUTO char *text = kube_base64_encode(data, n);
        FREE_AUTO char *back = kube_base64_decode(text, &len, &err);
        assert_non_null(back);
        assert_int_equal(len, n);
        assert_memory_equal(back, data, n);
        assert_int_equal(back[n], 0);
    }
}

static void base64_is_the_standard_one(void **state)
{
    struct err err = {0};
    FREE_AUTO char *text = kube_base64_encode("any carnal pleas", 16);
    assert_string_equal(text, "YW55IGNhcm5hbCBwbGVhcw==");
    FREE_AUTO char *back = kube_base64_decode(" YW55IGNhcm5h\r\n bCBwbGVhcw==\n", NULL, &err);
    assert_string_equal(back, "any carnal pleas");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_base64_is_refused),
        cmocka_unit_test(base64_of_every_length_survives_the_round_trip),
        cmocka_unit_test(base64_is_the_standard_one),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
