/* SPDX-License-Identifier: BSD-3-Clause */
/* The roles of certificates and their words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/role.h"

static void every_role_is_found_by_its_word(void **state)
{
    for (int r = 0; r < API_ROLES; r++)
        assert_int_equal(api_role_of(api_role_word((enum api_role)r)), r);
}

static void a_word_of_no_role_is_none(void **state)
{
    static const char *const bad[] = {"", "nobody", "OPERATOR", "head ", "hea", "headless"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(api_role_of(bad[i]), API_ROLE_NONE);
    assert_string_equal(api_role_word(API_ROLES), "none");
}

static void a_role_is_a_daemon_or_a_client_or_neither(void **state)
{
    assert_true(api_role_is_daemon(API_ROLE_HEAD));
    assert_true(api_role_is_daemon(API_ROLE_MEMBER));
    assert_true(api_role_is_client(API_ROLE_OPERATOR));
    assert_true(api_role_is_client(API_ROLE_USER));
    for (int r = 0; r < API_ROLES; r++)
        assert_false(api_role_is_daemon((enum api_role)r) && api_role_is_client((enum api_role)r));
    assert_false(api_role_is_daemon(API_ROLE_NONE) || api_role_is_client(API_ROLE_NONE));
    assert_false(api_role_is_daemon(API_ROLE_CA) || api_role_is_client(API_ROLE_CA));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_role_is_found_by_its_word),
        cmocka_unit_test(a_word_of_no_role_is_none),
        cmocka_unit_test(a_role_is_a_daemon_or_a_client_or_neither),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
