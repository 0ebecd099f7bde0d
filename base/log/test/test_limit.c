/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the bound on repeated records. */
#include "base/log/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

static void a_key_is_taken_once_in_a_period_and_then_tells_how_many_were_left_out(void **state)
{
    struct log_limit l = {0};
    unsigned long left_out = 7;

    (void)state;
    assert_true(log_limit_take(&l, "a", 1000, &left_out));
    assert_int_equal(left_out, 0);
    for (uint64_t t = 1000; t < 1000 + LOG_LIMIT_MS; t += LOG_LIMIT_MS / 10)
        assert_false(log_limit_take(&l, "a", t, &left_out));
    assert_true(log_limit_take(&l, "a", 1000 + LOG_LIMIT_MS, &left_out));
    assert_int_equal(left_out, 10);
    assert_true(log_limit_take(&l, "a", 1000 + 2 * LOG_LIMIT_MS, &left_out));
    assert_int_equal(left_out, 0);
}

static void keys_are_bounded_one_by_one(void **state)
{
    struct log_limit l = {0};
    unsigned long left_out;

    (void)state;
    assert_true(log_limit_take(&l, "a", 0, &left_out));
    assert_true(log_limit_take(&l, "b", 0, &left_out));
    assert_false(log_limit_take(&l, "b", 1, &left_out));
    assert_false(log_limit_take(&l, "a", 1, &left_out));
}

static void a_further_key_takes_the_place_of_the_oldest(void **state)
{
    char keys[LOG_LIMIT_KEYS + 1][4];
    struct log_limit l = {0};
    unsigned long left_out;

    (void)state;
    for (unsigned i = 0; i <= LOG_LIMIT_KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%u", i);
        assert_true(log_limit_take(&l, keys[i], i, &left_out));
    }
    for (unsigned i = 1; i <= LOG_LIMIT_KEYS; i++)
        assert_false(log_limit_take(&l, keys[i], 40, &left_out));
    assert_true(log_limit_take(&l, keys[0], 40, &left_out));
}

/* The operator has some 20 kinds of warnings for one cluster. */
static void twenty_five_keys_in_turn_are_bounded(void **state)
{
    char keys[25][4];
    struct log_limit l = {0};
    unsigned long left_out, taken = 0;

    (void)state;
    for (unsigned t = 0; t < 1000; t++) {
        snprintf(keys[t % 25], sizeof(keys[0]), "%u", t % 25);
        taken += log_limit_take(&l, keys[t % 25], t, &left_out);
    }
    assert_int_equal(taken, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_taken_once_in_a_period_and_then_tells_how_many_were_left_out),
        cmocka_unit_test(keys_are_bounded_one_by_one),
        cmocka_unit_test(a_further_key_takes_the_place_of_the_oldest),
        cmocka_unit_test(twenty_five_keys_in_turn_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
