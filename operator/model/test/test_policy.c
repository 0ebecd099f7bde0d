/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the template policy. The cases are in policy.json, by which policy.bats also tests the
 * chart's ValidatingAdmissionPolicy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "base/buf/buf.h"
#include "operator/model/policy.h"

#include <string.h>

static json_t *load_cases(void)
{
    json_error_t e;
    json_t *cases = json_load_file("operator/model/test/policy.json", 0, &e);

    if (!cases)
        fail_msg("policy.json: %s in line %d", e.text, e.line);
    return cases;
}

static void a_field_that_gives_more_than_a_restricted_pod_is_refused_by_its_path(void **state)
{
    json_t *cases = load_cases(), *c;
    size_t i;

    assert_true(json_array_size(json_object_get(cases, "refused")) > 30);
    json_array_foreach(json_object_get(cases, "refused"), i, c)
    {
        struct err err = {0};
        const char *field = json_string_value(json_object_get(c, "field"));
        FREE_AUTO char *text = json_dumps(json_object_get(c, "spec"), 0);
        FREE_AUTO char *named = xasprintf(".%s is refused by the template policy", field);
        json_t *template = json_pack("{s:O}", "spec", json_object_get(c, "spec"));

        if (!policy_check(template, &err))
            fail_msg("allowed: %s", text);
        if (strncmp(err.msg, "spec.template.spec", 18) != 0 || !strstr(err.msg, named))
            fail_msg("\"%s\" does not name %s of %s", err.msg, field, text);
        json_decref(template);
    }
    json_decref(cases);
}

static void what_a_restricted_pod_may_have_is_allowed(void **state)
{
    json_t *cases = load_cases(), *spec;
    size_t i;

    json_array_foreach(json_object_get(cases, "allowed"), i, spec)
    {
        struct err err = {0};
        json_t *template = json_pack("{s:O}", "spec", spec);

        if (policy_check(template, &err))
            fail_msg("%s", err.msg);
        json_decref(template);
    }
    json_decref(cases);
}

static void no_template_is_allowed(void **state)
{
    struct err err = {0};

    assert_int_equal(policy_check(NULL, &err), 0);
}

static void the_index_of_an_item_is_in_the_path(void **state)
{
    struct err err = {0};
    json_t *t = json_pack("{s:{s:[{s:s, s:{}}, {s:s, s:{}}]}}", "spec", "volumes", "name", "a",
                          "emptyDir", "name", "b", "hostPath");

    assert_int_equal(policy_check(t, &err), -1);
    assert_non_null(strstr(err.msg, "spec.template.spec.volumes[1].hostPath"));
    json_decref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_that_gives_more_than_a_restricted_pod_is_refused_by_its_path),
        cmocka_unit_test(what_a_restricted_pod_may_have_is_allowed),
        cmocka_unit_test(no_template_is_allowed),
        cmocka_unit_test(the_index_of_an_item_is_in_the_path),
    };

    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
