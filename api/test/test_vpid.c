/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of vpids: what is within it, and what a user reads who is beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/vpid.h"

static void the_highest_vpid_is_allowed_and_the_next_one_is_not(void **state)
{
    struct err err = {0};

    assert_true(vpid_allowed(0));
    assert_true(vpid_allowed(65535));
    assert_false(vpid_allowed(65536));
    assert_false(vpid_allowed(UINT64_MAX));
    assert_int_equal(vpid_check("targets", 65535, &err), 0);
    assert_int_equal(vpid_check("targets", 1048575, &err), -1);
    assert_string_equal(err.msg, "targets: 1048575 is over the limit, 65535 members");
    assert_int_equal(err.code, 400);
}

static void a_written_vpid_is_read_if_it_is_within_the_limit(void **state)
{
    static const char *const bad[][2] = {
        {"65536", "--vpid: 65536 is not within 0..65535"},
        {"4294967297", "--vpid: 4294967297 is not within 0..65535"},
        {"-1", "--vpid: -1 is not within 0..65535"},
        {"99999999999999999999", "--vpid: 99999999999999999999 is not within 0..65535"},
        {"x", "--vpid: 'x' is not a whole number"},
        {"", "--vpid: '' is not a whole number"},
    };
    struct err err = {0};
    uint32_t vpid = 7;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(vpid_parse(bad[i][0], "--vpid", &vpid, &err), -1);
        assert_ptr_equal(strstr(err.msg, bad[i][1]), err.msg);
        assert_int_equal(vpid, 7);
    }
    assert_int_equal(vpid_parse("65535", "--vpid", &vpid, &err), 0);
    assert_int_equal(vpid, 65535);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_vpid_is_allowed_and_the_next_one_is_not),
        cmocka_unit_test(a_written_vpid_is_read_if_it_is_within_the_limit),
    };

    return cmocka_run_group_tests_name("vpid", tests, NULL, NULL);
}
