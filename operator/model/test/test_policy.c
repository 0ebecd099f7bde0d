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
#include "operator/model/policy_table.h"

#include <string.h>

static json_t *load_cases(void)
{
    json_error_t e;
    json_t *cases = json_load_file("operator/model/test/policy.json", 0, &e);

    if (!cases)
        fail_msg("policy.json: %s in line %d", e.text, e.line);
    return cases;
}

static void each_template_of_the_list_has_its_verdict_and_a_refusal_names_the_path(void **state)
{
    json_t *cases = load_cases(), *c;
    size_t i, refused = 0;

    json_array_foreach(cases, i, c)
    {
        struct err err = {0};
        const char *at = json_string_value(json_object_get(c, "refused"));
        const json_t *template = json_object_get(c, "template");
        FREE_AUTO char *text = json_dumps(template, 0);
        FREE_AUTO char *named = xasprintf("spec.template.%s is refused by the template policy", at);
        int rc = policy_check(template, "spec.template", &err);

        refused += at != NULL;
        if (at && !rc)
            fail_msg("allowed: %s", text);
        if (!at && rc)
            fail_msg("%s: %s", err.msg, text);
        if (at && strncmp(err.msg, named, strlen(named)) != 0)
            fail_msg("\"%s\" does not name %s of %s", err.msg, at, text);
    }
    assert_true(refused >= 60 && refused < i);
    json_decref(cases);
}

/* Whatever Pod Security refuses at its restricted level is refused here, too. */
static void no_template_is_allowed_that_pod_security_refuses(void **state)
{
    json_t *cases = load_cases(), *c;
    size_t i;

    json_array_foreach(cases, i, c)
    {
        const char *level = json_string_value(json_object_get(c, "podSecurity"));

        if (!level || (strcmp(level, "refused") == 0 && !json_object_get(c, "refused")))
            fail_msg("case %zu", i);
    }
    json_decref(cases);
}

/* The item of a field, or of a container's field, by its key. */
static const struct policy_field *field_of(const struct policy_field *list, const char *key)
{
    for (; list->key; list++) {
        if (strcmp(list->key, key) == 0)
            return list;
    }
    fail_msg("the table has no %s", key);
    return NULL;
}

static void a_field_of_a_later_kubernetes_is_refused_wherever_it_stands(void **state)
{
    static const char *const lists[] = {"containers", "initContainers", "volumes", "tolerations"};
    const struct policy_field *spec = field_of(POLICY_TEMPLATE, "spec")->fields;

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct err err = {0};
        json_t *t =
            json_pack("{s:{s:[{s:s, s:s}]}}", "spec", lists[i], "name", "n", "newField", "v");
        FREE_AUTO char *path = xasprintf("spec.template.spec.%s[0].", lists[i]);

        assert_int_equal(field_of(spec, lists[i])->rule, POLICY_ITEMS);
        assert_int_equal(policy_check(t, "spec.template", &err), -1);
        assert_ptr_equal(strstr(err.msg, path), err.msg);
        json_decref(t);
    }
}

static void
a_field_that_breaks_the_daemons_is_refused_with_the_reason_whatever_the_policy(void **state)
{
    static const struct {
        const char *spec, *why; /* NULL: allowed */
    } cases[] = {
        {"{\"terminationGracePeriodSeconds\": 1}",
         "spec.template.spec.terminationGracePeriodSeconds is refused: it follows from spec.drain"},
        {"{\"setHostnameAsFQDN\": true}",
         "spec.template.spec.setHostnameAsFQDN is refused: a daemon "
         "reads its number from the short name of its host"},
        {"{\"hostNetwork\": true, \"setHostnameAsFQDN\": false}", NULL},
        {"{\"terminationGracePeriodSeconds\": null}", NULL},
        {"null", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct err err = {0};
        FREE_AUTO char *text = xasprintf("{\"spec\": %s}", cases[i].spec);
        json_t *t = json_loads(text, 0, NULL);

        assert_non_null(t);
        assert_int_equal(policy_check_always(t, "spec.template", &err), cases[i].why ? -1 : 0);
        if (cases[i].why)
            assert_string_equal(err.msg, cases[i].why);
        json_decref(t);
    }
}

static void an_absent_template_is_allowed(void **state)
{
    struct err err = {0};

    assert_int_equal(policy_check(NULL, "spec.template", &err), 0);
    assert_int_equal(policy_check_always(NULL, "spec.template", &err), 0);
}

static void the_path_is_that_of_the_template(void **state)
{
    struct err err = {0};
    json_t *t = json_pack("{s:{s:[{s:s, s:{}}, {s:s, s:{}}]}}", "spec", "volumes", "name", "a",
                          "emptyDir", "name", "b", "hostPath");

    assert_int_equal(policy_check(t, "spec.other", &err), -1);
    assert_non_null(strstr(err.msg, "spec.other.spec.volumes[1].hostPath"));
    json_decref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_template_of_the_list_has_its_verdict_and_a_refusal_names_the_path),
        cmocka_unit_test(no_template_is_allowed_that_pod_security_refuses),
        cmocka_unit_test(a_field_of_a_later_kubernetes_is_refused_wherever_it_stands),
        cmocka_unit_test(
            a_field_that_breaks_the_daemons_is_refused_with_the_reason_whatever_the_policy),
        cmocka_unit_test(an_absent_template_is_allowed),
        cmocka_unit_test(the_path_is_that_of_the_template),
    };

    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
