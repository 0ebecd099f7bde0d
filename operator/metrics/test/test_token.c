/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the token of /metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "operator/metrics/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef"

static char file[] = "/tmp/token-XXXXXX";

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void a_token_that_can_be_guessed_or_does_not_fit_is_refused(void **state)
{
    static char large[TOKEN_MAX + 2];
    struct err err = {0};

    memset(large, 'a', sizeof(large) - 1);
    write_file(large);
    assert_int_equal(token_file_check(file, &err), -1);
    write_file("0123456789abcde\n\n");
    assert_int_equal(token_file_check(file, &err), -1);
    assert_non_null(strstr(err.msg, "needs 16 characters"));
    write_file("");
    assert_int_equal(token_file_check(file, &err), -1);
    assert_false(token_file_has(file, ""));
    assert_int_equal(token_file_check("/nowhere/token", &err), -1);
    assert_false(token_file_has("/nowhere/token", TOKEN));
}

static void only_the_whole_token_is_the_token(void **state)
{
    struct err err = {0};

    write_file(TOKEN " \r\n");
    assert_int_equal(token_file_check(file, &err), 0);
    assert_true(token_file_has(file, TOKEN));
    assert_false(token_file_has(file, TOKEN "0"));
    assert_false(token_file_has(file, "0123456789abcde"));
    assert_false(token_file_has(file, "0123456789abcdeF"));
    assert_false(token_file_has(file, NULL));
}

static void a_changed_token_counts_at_once(void **state)
{
    write_file(TOKEN);
    assert_true(token_file_has(file, TOKEN));
    write_file("fedcba9876543210");
    assert_false(token_file_has(file, TOKEN));
    assert_true(token_file_has(file, "fedcba9876543210"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_that_can_be_guessed_or_does_not_fit_is_refused),
        cmocka_unit_test(only_the_whole_token_is_the_token),
        cmocka_unit_test(a_changed_token_counts_at_once),
    };
    int fd = mkstemp(file);

    if (fd < 0)
        return 1;
    close(fd);
    int rc = cmocka_run_group_tests_name("token", tests, NULL, NULL);
    unlink(file);
    return rc;
}
