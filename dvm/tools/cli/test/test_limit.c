/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of waits with a limit. */
#include "dvm/tools/cli/limit.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BEGIN_MS 5000

/* The text of a notice. Counts the notices. */
static char *count_notice(void *arg)
{
    ++*(int *)arg;
    return xstrdup("a test");
}

static void a_wait_ends_at_its_limit(void **state)
{
    struct cli_limit l = cli_limit_begin(BEGIN_MS, 300, NULL, NULL);

    assert_int_equal(cli_limit_step(&l, BEGIN_MS), 300);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 299), 1);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 300), 0);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 9000), 0);
}

static void the_notice_is_given_once_and_after_a_second(void **state)
{
    int notices = 0;
    struct cli_limit l = cli_limit_begin(BEGIN_MS, 30000, count_notice, &notices);

    assert_int_equal(cli_limit_step(&l, BEGIN_MS), CLI_LIMIT_NOTICE_MS);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 999), 1);
    assert_int_equal(notices, 0);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 1000), 29000);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 2000), 28000);
    assert_int_equal(notices, 1);
}

static void a_wait_that_has_ended_gives_no_notice(void **state)
{
    int notices = 0;
    struct cli_limit l = cli_limit_begin(BEGIN_MS, 500, count_notice, &notices);

    assert_int_equal(cli_limit_step(&l, BEGIN_MS), 500);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 2000), 0);
    assert_int_equal(notices, 0);
}

static void a_limit_is_extended_and_shortened(void **state)
{
    struct cli_limit l = cli_limit_begin(BEGIN_MS, 1000, NULL, NULL);

    cli_limit_extend(&l, 4000);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS), 5000);
    cli_limit_shorten(&l, BEGIN_MS, 9000);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS), 5000);
    cli_limit_shorten(&l, BEGIN_MS, 200);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS), 200);
}

static void a_renewed_limit_is_as_long_as_at_its_begin(void **state)
{
    struct cli_limit l = cli_limit_begin(BEGIN_MS, 1000, NULL, NULL);

    cli_limit_renew(&l, BEGIN_MS + 900);
    assert_int_equal(cli_limit_step(&l, BEGIN_MS + 900), 1000);
    assert_int_equal(cli_limit_total_ms(&l), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_ends_at_its_limit),
        cmocka_unit_test(the_notice_is_given_once_and_after_a_second),
        cmocka_unit_test(a_wait_that_has_ended_gives_no_notice),
        cmocka_unit_test(a_limit_is_extended_and_shortened),
        cmocka_unit_test(a_renewed_limit_is_as_long_as_at_its_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
