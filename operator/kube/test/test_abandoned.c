/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of writes without an answer: which objects are read, and which hold what was written. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/kube/kube_private.h"

#include <stdlib.h>

static void only_a_write_that_is_refused_the_second_time_is_looked_up(void **state)
{
    static const struct {
        enum kube_method method;
        const char *path, *body, *look;
    } cases[] = {
        {KUBE_GET, "/a/x", NULL, NULL},
        {KUBE_DELETE, "/a/x", "{\"preconditions\": {\"uid\": \"u\"}}", NULL},
        {KUBE_POST, "/a", NULL, NULL},
        {KUBE_POST, "/a", "broken", NULL},
        {KUBE_POST, "/a", "{\"metadata\": {\"generateName\": \"x-\"}}", NULL},
        {KUBE_POST, "/a?dryRun=All", "{\"metadata\": {\"name\": \"x\"}}", NULL},
        {KUBE_POST, "/a?fieldManager=m", "{\"metadata\": {\"name\": \"x\"}}", "/a/x"},
        {KUBE_PATCH, "/a/x?force=true", "{\"metadata\": {\"uid\": \"u\"}}", NULL},
        {KUBE_PATCH, "/a/x?force=true", "{\"metadata\": {\"resourceVersion\": \"1\"}}", "/a/x"},
        {KUBE_PUT, "/a/x/status?b=c", "{\"metadata\": {\"resourceVersion\": \"1\"}}", "/a/x"},
        {KUBE_PUT, "/a/status", "{\"metadata\": {\"resourceVersion\": \"1\"}}", "/a"},
        {KUBE_PUT, "/status", "{\"metadata\": {\"resourceVersion\": \"1\"}}", "/status"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FREE_AUTO char *look = kube_abandoned_path(cases[i].method, cases[i].path, cases[i].body);

        if (cases[i].look)
            assert_string_equal(look, cases[i].look);
        else
            assert_null(look);
    }
}

static void an_object_holds_a_write_if_it_has_all_that_the_write_sets(void **state)
{
    static const struct {
        const char *path, *body, *object;
        bool held;
    } cases[] = {
        {"/a/x", NULL, "{}", false},
        {"/a/x", "{\"a\": 1}", "{}", false},
        {"/a/x", "{\"a\": 1}", "{\"a\": 2}", false},
        {"/a/x", "{\"a\": {\"b\": 1}}", "{\"a\": 1}", false},
        {"/a/x", "{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 1, \"c\": 2}, \"d\": 3}", true},
        {"/a/x", "{\"a\": {}}", "{}", true},
        {"/a/x", "{\"a\": [1, 2]}", "{\"a\": [1]}", false},
        {"/a/x", "{\"a\": [1]}", "{\"a\": {}}", false},
        {"/a/x", "{\"a\": [{\"b\": 1}]}", "{\"a\": [{\"b\": 1, \"c\": 2}]}", true},
        {"/a/x", "{\"a\": [{\"b\": 1}]}", "{\"a\": [{\"b\": 2}]}", false},
        {"/a/x", "{\"a\": null}", "{\"a\": 1}", false},
        {"/a/x", "{\"a\": null}", "{}", true},
        {"/a/x", "{\"metadata\": {\"resourceVersion\": \"1\"}}",
         "{\"metadata\": {\"resourceVersion\": \"9\"}}", true},
        {"/a/x", "{\"stringData\": {\"k\": \"ca\"}}", "{\"data\": {\"k\": \"Y2E=\"}}", true},
        {"/a/x", "{\"stringData\": {\"k\": \"ca\"}}", "{\"data\": {\"k\": \"Y2U=\"}}", false},
        {"/a/x", "{\"stringData\": {\"k\": \"ca\"}}", "{}", false},
        {"/a/x", "{\"stringData\": {\"k\": 1}}", "{\"data\": {\"k\": \"Y2E=\"}}", false},
        {"/a/x/status", "{\"spec\": 1}", "{\"spec\": 1}", false},
        {"/a/x/status?b=c", "{\"spec\": 1, \"status\": {\"n\": 2}}",
         "{\"spec\": 9, \"status\": {\"n\": 2}}", true},
        {"/a/x/status?b=c", "{\"spec\": 1, \"status\": {\"n\": 2}}",
         "{\"spec\": 1, \"status\": {\"n\": 1}}", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *object = json_loads(cases[i].object, 0, NULL);

        assert_non_null(object);
        assert_int_equal(kube_abandoned_held(cases[i].path, cases[i].body, object), cases[i].held);
        json_decref(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_write_that_is_refused_the_second_time_is_looked_up),
        cmocka_unit_test(an_object_holds_a_write_if_it_has_all_that_the_write_sets),
    };

    return cmocka_run_group_tests_name("abandoned", tests, NULL, NULL);
}
