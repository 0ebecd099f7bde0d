/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the typed JSON fields: refused values with their messages, and safe writing. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "api/fields.h"
#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>

static json_t *json(const char *text)
{
    json_error_t e;
    json_t *o = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);

    assert_non_null(o);
    return o;
}

static void a_value_that_is_no_object_is_refused(void **state)
{
    json_t *list = json("[1]");
    struct err err = {0};
    struct fields f = fields_of(list, &err);

    assert_true(f.bad);
    assert_string_equal(err.msg, "a list where an object is wanted");
    f = fields_of(NULL, &err);
    assert_true(f.bad);
    assert_int_equal(fields_u64(&f, "x", 9), 0);
    json_decref(list);
}

static void the_first_bad_field_is_the_one_that_is_named(void **state)
{
    json_t *o = json("{\"a\": \"text\", \"b\": -1}");
    struct err err = {0};
    struct fields f = fields_of(o, &err);

    fields_u64(&f, "a", 10);
    fields_u64(&f, "b", 10);
    fields_u64(&f, "c", 10);
    assert_true(f.bad);
    assert_string_equal(err.msg, "a: a string where an integer is wanted");
    json_decref(o);
}

static void numbers_outside_their_limits_are_refused(void **state)
{
    static const char *const bad[] = {"{\"n\": -1}",   "{\"n\": 11}",   "{\"n\": 1.0}",
                                      "{\"n\": true}", "{\"n\": null}", "{}"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *o = json(bad[i]);
        struct err err = {0};
        struct fields f = fields_of(o, &err);

        fields_u64(&f, "n", 10);
        assert_true(f.bad);
        assert_int_equal(strncmp(err.msg, "n: ", 3), 0);
        json_decref(o);
    }
}

static void texts_with_a_nul_or_too_long_are_refused(void **state)
{
    json_t *o = json("{\"nul\": \"a\\u0000b\", \"long\": \"abcdef\", \"none\": \"\"}");
    struct err err = {0};
    struct fields f = fields_of(o, &err);

    assert_null(fields_str(&f, "nul", 10));
    assert_string_equal(err.msg, "nul: holds a NUL character");
    f = fields_of(o, &err);
    assert_null(fields_str(&f, "long", 5));
    assert_string_equal(err.msg, "long: 6 bytes, at most 5 are allowed");
    f = fields_of(o, &err);
    assert_null(fields_str(&f, "none", 5));
    assert_string_equal(err.msg, "none: empty");
    f = fields_of(o, &err);
    char word[6];
    fields_word(&f, "long", word, sizeof(word));
    assert_true(f.bad);
    assert_string_equal(word, "");
    json_decref(o);
}

static void unsorted_lists_are_refused_where_order_is_required(void **state)
{
    json_t *o = json("{\"l\": [1, 3, 3]}");
    struct err err = {0};
    struct fields f = fields_of(o, &err);
    size_t n = 7;

    assert_null(fields_u32s(&f, "l", 10, true, &n));
    assert_int_equal(n, 0);
    assert_string_equal(err.msg, "l: 3 after 3, ascending numbers are wanted");
    f = fields_of(o, &err);
    assert_null(fields_u32s(&f, "l", 2, false, &n));
    assert_string_equal(err.msg, "l: 3 elements, at most 2 are allowed");
    f = fields_of(o, &err);
    FREE_AUTO uint32_t *v = fields_u32s(&f, "l", 3, false, &n);
    assert_int_equal(n, 3);
    assert_int_equal(v[2], 3);
    json_decref(o);
}

static void an_optional_field_that_is_null_counts_as_absent(void **state)
{
    static const char *const words[] = {"a", "b"};
    json_t *o = json("{\"n\": null, \"s\": null, \"o\": null, \"l\": null, \"c\": null}");
    struct err err = {0};
    struct fields f = fields_of(o, &err);

    assert_int_equal(fields_u64_or(&f, "n", 10, 7), 7);
    assert_int_equal(fields_i64_or(&f, "n", -5, 10, -2), -2);
    FREE_AUTO char *s = fields_str_or(&f, "s", 10, "none");
    assert_string_equal(s, "none");
    assert_null(fields_object_or_null(&f, "o"));
    assert_null(fields_array_or_null(&f, "l", 3));
    assert_int_equal(fields_choice_or(&f, "c", words, 2, 1), 1);
    assert_false(f.bad);
    json_decref(o);
}

static void written_text_is_cut_and_valid_utf8(void **state)
{
    json_t *o = json_object();

    fields_put_str(o, "cut", "abcdef", 3);
    fields_put_str(o, "whole", "gr\xc3\xbc\xc3\x9f", 10);
    fields_put_str(o, "split", "ab\xc3\xbc", 3);
    fields_put_str(o, "bytes", "a\xff\xc3(\xed\xa0\x80", 64);
    fields_put_str(o, "null", NULL, 64);
    assert_string_equal(json_string_value(json_object_get(o, "cut")), "abc");
    assert_string_equal(json_string_value(json_object_get(o, "whole")), "gr\xc3\xbc\xc3\x9f");
    assert_string_equal(json_string_value(json_object_get(o, "split")), "ab");
    assert_string_equal(json_string_value(json_object_get(o, "bytes")), "a?\?(???");
    assert_string_equal(json_string_value(json_object_get(o, "null")), "");
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_is_no_object_is_refused),
        cmocka_unit_test(the_first_bad_field_is_the_one_that_is_named),
        cmocka_unit_test(numbers_outside_their_limits_are_refused),
        cmocka_unit_test(texts_with_a_nul_or_too_long_are_refused),
        cmocka_unit_test(unsorted_lists_are_refused_where_order_is_required),
        cmocka_unit_test(an_optional_field_that_is_null_counts_as_absent),
        cmocka_unit_test(written_text_is_cut_and_valid_utf8),
    };

    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
