/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the pauses between tries. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/backoff/backoff.h"

#include <limits.h>

static const struct backoff B = {.min_ms = 200, .max_ms = 10000};

static void a_pause_doubles_with_each_failure_up_to_the_bound(void **state)
{
    assert_int_equal(backoff_pause_ms(&B, 0, 100), 200);
    assert_int_equal(backoff_pause_ms(&B, 3, 800), 1600);
    assert_int_equal(backoff_pause_ms(&B, 6, 5000), 10000);
    assert_int_equal(backoff_pause_ms(&B, UINT_MAX, 5000), 10000);
}

static void half_of_a_pause_is_drawn(void **state)
{
    assert_int_equal(backoff_pause_ms(&B, 0, 0), 100);
    assert_int_equal(backoff_pause_ms(&B, UINT_MAX, 0), 5000);
    for (uint32_t dice = 0; dice < 20000; dice++)
        assert_in_range(backoff_pause_ms(&B, UINT_MAX, dice), 5000, 10000);
}

static void the_dice_differ(void **state)
{
    uint32_t first = backoff_dice();
    int same = 0;

    while (same < 16 && backoff_dice() == first)
        same++;
    assert_true(same < 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_doubles_with_each_failure_up_to_the_bound),
        cmocka_unit_test(half_of_a_pause_is_drawn),
        cmocka_unit_test(the_dice_differ),
    };

    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
