/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the condition Stalled, by which tools that use kstatus give up waiting. */
#include "operator/status/test/built.h"

static void assert_stalled(const json_t *status, const char *value, const char *reason)
{
    assert_string_equal(find_field(status, "Stalled", "status"), value);
    assert_string_equal(find_field(status, "Stalled", "reason"), reason);
}

static json_t *with_trouble(struct fix *f, enum reason reason)
{
    struct status_trouble trouble = {.reason = reason, .message = "words"};
    PLAN_AUTO struct plan *p = plan_make(fix_ages(f));

    return status_build(&f->in, p, &trouble);
}

static void a_settled_cluster_and_a_growing_one_are_not_stalled(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *settled = build_status(&f);
    f.c.replicas = 9;
    json_t *growing = build_status(&f);
    assert_stalled(settled, "False", "AsExpected");
    assert_stalled(growing, "False", "AsExpected");
    json_decref(settled);
    json_decref(growing);
}

static void what_a_user_has_to_correct_stalls(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *refused = with_trouble(&f, REASON_TEMPLATE_REFUSED);
    json_t *invalid = status_invalid(&f.c, refused, "spec.replicas is 70000", FIX_NOW);
    assert_stalled(refused, "True", "TemplateRefused");
    assert_stalled(invalid, "True", "InvalidSpec");
    assert_int_equal(json_array_size(json_object_get(refused, "conditions")), 7);
    json_decref(refused);
    json_decref(invalid);
}

static void a_request_that_may_succeed_the_next_time_does_not(void **state)
{
    struct fix f;

    fix_settled(&f);
    json_t *s = with_trouble(&f, REASON_SECRET_NOT_READ);
    assert_stalled(s, "False", "AsExpected");
    assert_string_equal(find_field(s, "Progressing", "status"), "False");
    json_decref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_settled_cluster_and_a_growing_one_are_not_stalled),
        cmocka_unit_test(what_a_user_has_to_correct_stalls),
        cmocka_unit_test(a_request_that_may_succeed_the_next_time_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
