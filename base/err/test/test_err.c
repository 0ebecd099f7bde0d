/* SPDX-License-Identifier: BSD-3-Clause */
/* The error object: its message after setting, cutting and wrapping. */
#include "base/err/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_setter_takes_null(void **state)
{
    assert_int_equal(err_set(NULL, "x"), -1);
    assert_int_equal(err_sys(NULL, ENOENT, "x"), -1);
    assert_int_equal(err_code(NULL, 404, "x"), -1);
    assert_int_equal(err_wrap(NULL, "x"), -1);
}

static void a_long_message_is_cut(void **state)
{
    char text[2 * ERR_MSG_MAX];
    struct err err = {0};

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(err_set(&err, "%s", text), -1);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
}

static void a_long_message_with_a_reason_is_cut(void **state)
{
    char text[2 * ERR_MSG_MAX];
    struct err err = {0};

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    err_sys(&err, ENOENT, "%s", text);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    assert_int_equal(err.code, ENOENT);
}

static void wrapping_a_full_message_is_cut(void **state)
{
    struct err err = {0};

    memset(err.msg, 'y', sizeof(err.msg) - 1);
    err_wrap(&err, "starting %s", "it");
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    assert_memory_equal(err.msg, "starting it: yyy", 16);
}

static void set_forgets_an_older_code(void **state)
{
    struct err err = {.code = 7};

    err_set(&err, "plain");
    assert_int_equal(err.code, 0);
    assert_string_equal(err.msg, "plain");
}

static void sys_appends_the_systems_reason(void **state)
{
    struct err err = {0};

    assert_int_equal(err_sys(&err, ENOENT, "opening %s", "/x"), -1);
    assert_string_equal(err.msg, "opening /x: No such file or directory");
    assert_int_equal(err.code, ENOENT);
}

static void code_is_kept_when_wrapped(void **state)
{
    struct err err = {0};

    err_code(&err, 409, "campaign %d runs", 3);
    assert_int_equal(err_wrap(&err, "shrinking"), -1);
    assert_string_equal(err.msg, "shrinking: campaign 3 runs");
    assert_int_equal(err.code, 409);
}

static void the_old_message_may_be_an_argument(void **state)
{
    struct err err = {0};

    err_set(&err, "cause");
    err_set(&err, "again (%s)", err.msg);
    assert_string_equal(err.msg, "again (cause)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setter_takes_null),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(a_long_message_with_a_reason_is_cut),
        cmocka_unit_test(wrapping_a_full_message_is_cut),
        cmocka_unit_test(set_forgets_an_older_code),
        cmocka_unit_test(sys_appends_the_systems_reason),
        cmocka_unit_test(code_is_kept_when_wrapped),
        cmocka_unit_test(the_old_message_may_be_an_argument),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
