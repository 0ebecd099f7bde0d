/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the store: comparison of versions, older versions, and objects that a list no longer
 * has. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/cache/store_private.h"

#include <stdlib.h>

static const struct store_how watched = {0}, listed = {.listed = true},
                              forced = {.listed = true, .force = true};

static json_t *object(const char *version)
{
    return json_pack("{s:{s:s, s:s, s:s}}", "metadata", "namespace", "ns", "name", "x",
                     "resourceVersion", version);
}

static void versions_are_numbers_of_any_length(void **state)
{
    assert_true(store_version_cmp("9", "10") < 0);
    assert_true(store_version_cmp("100000000000000000000000", "99999999999999999999999") > 0);
    assert_int_equal(store_version_cmp("7", "007"), 0);
    assert_true(store_version_cmp(NULL, "1") < 0);
    assert_int_equal(store_version_cmp(NULL, NULL), 0);
    assert_true(store_version_cmp("a", "b") > 0);
    assert_true(store_version_cmp("b", "a") > 0);
    assert_int_equal(store_version_cmp("a", "a"), 0);
}

static void an_object_without_a_name_has_no_key(void **state)
{
    json_t *o = json_pack("{s:{s:s}}", "metadata", "namespace", "ns");

    assert_null(store_key_of(o));
    assert_string_equal(store_version_of(o), "");
    json_decref(o);
    o = json_pack("{s:{s:s}}", "metadata", "name", "node");
    FREE_AUTO char *key = store_key_of(o);
    assert_string_equal(key, "/node");
    json_decref(o);
}

static void an_older_or_the_same_version_changes_nothing(void **state)
{
    struct store s = {.generation = 1};

    assert_true(store_put(&s, "ns/x", object("10"), &watched));
    assert_false(store_put(&s, "ns/x", object("9"), &watched));
    assert_false(store_put(&s, "ns/x", object("10"), &watched));
    assert_string_equal(store_version_of(store_get(&s, "ns/x")), "10");
    assert_null(store_take(&s, "ns/x", "9"));
    assert_true(store_put(&s, "ns/x", object("11"), &watched));
    void *taken = store_take(&s, "ns/x", "12");
    assert_string_equal(store_version_of(taken), "11");
    store_drop(&s, taken);
    assert_null(store_take(&s, "ns/x", "13"));
    assert_int_equal(store_count(&s), 0);
    store_free(&s);
}

static void an_older_version_counts_when_the_server_was_restored(void **state)
{
    struct store s = {.generation = 1};

    assert_true(store_put(&s, "ns/x", object("10"), &watched));
    assert_true(store_put(&s, "ns/x", object("5"), &forced));
    assert_string_equal(store_version_of(store_get(&s, "ns/x")), "5");
    store_free(&s);
}

static void a_list_removes_absent_objects_unless_they_are_newer(void **state)
{
    struct store s = {.generation = 1};

    assert_true(store_put(&s, "ns/shown", object("1"), &listed));
    assert_true(store_put(&s, "ns/gone", object("2"), &listed));
    s.generation++;
    assert_false(store_put(&s, "ns/shown", object("1"), &listed));
    assert_true(store_put(&s, "ns/newer", object("30"), &watched));
    assert_true(store_put(&s, "ns/ghost", object("3"), &watched));
    for (int i = 0; i < 2; i++) {
        char *key = NULL;
        void *gone = store_sweep(&s, "20", false, &key);

        assert_non_null(gone);
        store_drop(&s, gone);
        free(key);
    }
    char *key = NULL;
    assert_null(store_sweep(&s, "20", false, &key));
    assert_non_null(store_get(&s, "ns/shown"));
    assert_non_null(store_get(&s, "ns/newer"));
    void *gone = store_sweep(&s, "20", true, &key);
    assert_string_equal(store_version_of(gone), "30");
    assert_string_equal(key, "ns/newer");
    free(key);
    store_drop(&s, gone);
    assert_int_equal(store_count(&s), 1);
    store_free(&s);
}

/* Keeps the version as a text, with that of the version before. */
static void *keep_version(const json_t *object, const void *before, void *arg)
{
    return xasprintf("%s after %s", store_version_of(object), before ? (const char *)before : "");
}

static void drop_version(void *kept, void *arg)
{
    *(int *)arg += 1;
    free(kept);
}

static void what_its_owner_keeps_of_an_object_is_replaced_with_it(void **state)
{
    int dropped = 0;
    struct store s = {.generation = 1, .keep = keep_version, .drop = drop_version, .arg = &dropped};

    assert_true(store_put(&s, "ns/x", object("10"), &watched));
    assert_false(store_put(&s, "ns/x", object("9"), &watched));
    assert_int_equal(dropped, 0);
    assert_true(store_put(&s, "ns/x", object("11"), &watched));
    assert_int_equal(dropped, 1);
    assert_string_equal(store_get(&s, "ns/x"), "11 after 10 after ");
    assert_string_equal(store_version(&s, "ns/x"), "11");
    store_free(&s);
    assert_int_equal(dropped, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_numbers_of_any_length),
        cmocka_unit_test(an_object_without_a_name_has_no_key),
        cmocka_unit_test(an_older_or_the_same_version_changes_nothing),
        cmocka_unit_test(an_older_version_counts_when_the_server_was_restored),
        cmocka_unit_test(what_its_owner_keeps_of_an_object_is_replaced_with_it),
        cmocka_unit_test(a_list_removes_absent_objects_unless_they_are_newer),
    };

    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
