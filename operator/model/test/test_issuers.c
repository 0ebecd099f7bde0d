/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the issuers that a DvmCluster may name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "operator/model/issuers.h"

#include <string.h>

static void what_is_no_kind_and_name_is_refused(void **state)
{
    static const char *const texts[] = {"", "Issuer", "/name", "Issuer/", "a/b/c", "Issuer/a b"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct issuers list = {.n = 0};
        struct err err = {0};

        assert_int_equal(issuers_add(&list, texts[i], &err), -1);
        assert_non_null(strstr(err.msg, "must be KIND/NAME"));
        assert_int_equal(list.n, 0);
    }
}

static void more_issuers_than_the_list_holds_are_refused(void **state)
{
    struct issuers list = {.n = 0};
    struct err err = {0};

    for (size_t i = 0; i < ISSUERS_MAX; i++)
        assert_int_equal(issuers_add(&list, "Issuer/a", &err), 0);
    assert_int_equal(issuers_add(&list, "Issuer/a", &err), -1);
}

static void only_listed_issuers_may_be_named(void **state)
{
    static const struct {
        const char *entry; /* NULL: the default */
        char *kind, *name, *group;
        int rc;
    } cases[] = {
        {NULL, "Issuer", "any", "cert-manager.io", 0},
        {NULL, "ClusterIssuer", "any", "cert-manager.io", -1},
        {NULL, "Issuer", "any", "example.test", -1},
        {NULL, NULL, NULL, NULL, 0},
        {"ClusterIssuer/a", "ClusterIssuer", "a", "cert-manager.io", 0},
        {"ClusterIssuer/a", "ClusterIssuer", "ab", "cert-manager.io", -1},
        {"ClusterIssuer/a", "Issuer", "a", "cert-manager.io", -1},
        {"ClusterIssuer/*", "ClusterIssuer", "b", "cert-manager.io", 0},
        {"Own.example.test/a", "Own", "a", "example.test", 0},
        {"Own.example.test/a", "Own", "a", "cert-manager.io", -1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cluster_issuer issuer = {
            .name = cases[i].name, .kind = cases[i].kind, .group = cases[i].group};
        struct issuers list = {.n = 0};
        struct err err = {0};

        if (cases[i].entry)
            assert_int_equal(issuers_add(&list, cases[i].entry, &err), 0);
        assert_int_equal(issuers_check(&list, &issuer, &err), cases[i].rc);
        if (cases[i].rc)
            assert_non_null(strstr(err.msg, "spec.security.issuerRef is "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_kind_and_name_is_refused),
        cmocka_unit_test(more_issuers_than_the_list_holds_are_refused),
        cmocka_unit_test(only_listed_issuers_may_be_named),
    };

    return cmocka_run_group_tests_name("issuers", tests, NULL, NULL);
}
