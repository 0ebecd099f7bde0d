/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits after which a fault counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/faults.h"

#include <string.h>

static void assert_refused(struct api_faults f, const char *text)
{
    struct err err = {0};

    assert_int_equal(api_faults_check(&f, &err), -1);
    if (!strstr(err.msg, text))
        fail_msg("\"%s\" does not say \"%s\"", err.msg, text);
}

static void the_defaults_agree_with_each_other(void **state)
{
    struct api_faults f = API_FAULTS_DEFAULTS;

    assert_int_equal(api_faults_check(&f, NULL), 0);
    assert_true(f.link_grace_ms >= 5000); /* SYNs that are lost are sent again after 1 and 3 s */
}

static void values_out_of_bounds_are_refused_by_name(void **state)
{
    assert_refused((struct api_faults){99, 10000, 30000}, "the link grace is 0.099 s");
    assert_refused((struct api_faults){5000, 0, 30000}, "the silence is 0 s");
    assert_refused((struct api_faults){5000, 10000, UINT64_MAX}, "the head's absence is");
    assert_refused((struct api_faults){5000, UINT64_MAX, 30000}, "the silence is");
}

static void a_grace_longer_than_the_silence_is_refused(void **state)
{
    struct api_faults f = {10000, 10000, 30000};

    assert_int_equal(api_faults_check(&f, NULL), 0);
    assert_refused((struct api_faults){10001, 10000, 60000}, "at most the silence, 10 s");
}

static void an_absence_without_time_for_a_call_to_the_head_is_refused(void **state)
{
    struct api_faults f = {5000, 10000, 20000};

    assert_int_equal(api_faults_check(&f, NULL), 0);
    assert_refused((struct api_faults){5000, 10000, 19999}, "twice the link grace, 20 s");
}

static void
a_daemon_is_lost_after_three_times_the_silence_whatever_the_absence_of_the_head(void **state)
{
    struct api_faults f = API_FAULTS_DEFAULTS;

    assert_int_equal(api_faults_lost_ms(&f), 30000);
    f.head_absence_ms = API_FAULTS_MAX_MS;
    assert_int_equal(api_faults_lost_ms(&f), 30000);
    f.head_absence_ms = 20000;
    assert_int_equal(api_faults_lost_ms(&f), 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_agree_with_each_other),
        cmocka_unit_test(values_out_of_bounds_are_refused_by_name),
        cmocka_unit_test(a_grace_longer_than_the_silence_is_refused),
        cmocka_unit_test(an_absence_without_time_for_a_call_to_the_head_is_refused),
        cmocka_unit_test(
            a_daemon_is_lost_after_three_times_the_silence_whatever_the_absence_of_the_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
