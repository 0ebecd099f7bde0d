/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of differences of times: none is negative, and none wraps. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/span/span.h"

static void a_time_that_has_passed_is_zero_away(void **state)
{
    assert_int_equal(span_ms(1000, 999), 0);
    assert_int_equal(span_ms(1000, 1000), 0);
    assert_int_equal(span_ms(UINT64_MAX, 0), 0);
}

static void the_span_to_a_later_time_is_the_difference(void **state)
{
    assert_int_equal(span_ms(1000, 1001), 1);
    assert_int_equal(span_ms(0, INT64_MAX), INT64_MAX);
}

static void a_span_beyond_the_type_is_the_largest_one(void **state)
{
    assert_true(span_ms(0, UINT64_MAX) == INT64_MAX);
    assert_true(span_ms(1000, (uint64_t)-1000) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_that_has_passed_is_zero_away),
        cmocka_unit_test(the_span_to_a_later_time_is_the_difference),
        cmocka_unit_test(a_span_beyond_the_type_is_the_largest_one),
    };

    return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
