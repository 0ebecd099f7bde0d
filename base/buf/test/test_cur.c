/* SPDX-License-Identifier: BSD-3-Clause */
/* The cursor: truncated and false input, then well-formed input. */
#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A heap copy of exactly `len` bytes, so that the sanitizer sees a read past the end. */
static uint8_t *exact(const void *p, size_t len)
{
    uint8_t *copy = xmalloc(len);

    memcpy(copy, p, len);
    return copy;
}

static void every_integer_is_refused_when_truncated(void **state)
{
    for (size_t len = 0; len < 8; len++) {
        FREE_AUTO uint8_t *p = exact("\1\1\1\1\1\1\1\1", len);
        struct cur c8 = cur_of(p, len);
        struct cur c4 = cur_of(p, len);
        struct cur c2 = cur_of(p, len);
        struct cur c1 = cur_of(p, len);

        assert_int_equal(cur_u64(&c8), 0);
        assert_true(c8.bad);
        assert_int_equal(cur_u32(&c4), len < 4 ? 0 : 0x01010101);
        assert_int_equal(c4.bad, len < 4);
        assert_int_equal(cur_u16(&c2), len < 2 ? 0 : 0x0101);
        assert_int_equal(c2.bad, len < 2);
        assert_int_equal(cur_u8(&c1), len < 1 ? 0 : 1);
        assert_int_equal(c1.bad, len < 1);
    }
}

static void after_a_bad_read_everything_is_bad(void **state)
{
    FREE_AUTO uint8_t *p = exact("\1\2\3", 3);
    struct cur c = cur_of(p, 3);
    size_t len = 7;
    FREE_AUTO char *s = NULL;

    cur_u32(&c);
    assert_true(c.bad);
    assert_int_equal(cur_u8(&c), 0);
    assert_null(cur_raw(&c, 0));
    assert_null(cur_bytes(&c, 10, &len));
    assert_int_equal(len, 0);
    s = cur_str(&c, 10);
    assert_string_equal(s, "");
    assert_int_equal(cur_count(&c, 10, 1), 0);
    assert_int_equal(cur_left(&c), 0);
    assert_false(cur_done(&c));
}

static void a_length_past_the_end_is_refused(void **state)
{
    FREE_AUTO uint8_t *p = exact("\0\0\0\4abc", 7);
    struct cur c = cur_of(p, 7);
    size_t len;

    assert_null(cur_bytes(&c, 100, &len));
    assert_true(c.bad);
}

static void the_longest_length_is_refused(void **state)
{
    FREE_AUTO uint8_t *p = exact("\377\377\377\377abc", 7);
    struct cur c = cur_of(p, 7);
    size_t len;

    assert_null(cur_bytes(&c, SIZE_MAX, &len));
    assert_true(c.bad);
}

static void bytes_over_the_callers_bound_are_refused(void **state)
{
    FREE_AUTO uint8_t *p = exact("\0\0\0\3abc", 7);
    struct cur c = cur_of(p, 7);
    size_t len;

    assert_null(cur_bytes(&c, 2, &len));
    assert_true(c.bad);
}

static void a_string_with_a_nul_is_refused(void **state)
{
    FREE_AUTO uint8_t *p = exact("\0\0\0\3a\0c", 7);
    struct cur c = cur_of(p, 7);
    FREE_AUTO char *s = cur_str(&c, 100);

    assert_string_equal(s, "");
    assert_true(c.bad);
}

static void a_count_over_the_callers_bound_is_refused(void **state)
{
    FREE_AUTO uint8_t *p = exact("\0\0\0\3abc", 7);
    struct cur c = cur_of(p, 7);

    assert_int_equal(cur_count(&c, 2, 1), 0);
    assert_true(c.bad);
}

static void a_count_that_cannot_fit_is_refused(void **state)
{
    FREE_AUTO uint8_t *p = exact("\0\0\0\2abc", 7);
    struct cur c = cur_of(p, 7);

    assert_int_equal(cur_count(&c, 100, 2), 0);
    assert_true(c.bad);
}

static void leftover_bytes_are_not_done(void **state)
{
    struct cur c = cur_of("ab", 2);

    cur_u8(&c);
    assert_false(cur_done(&c));
    assert_int_equal(cur_left(&c), 1);
}

static void a_length_without_bytes_is_bad(void **state)
{
    struct cur c = cur_of(NULL, 3);

    assert_true(c.bad);
    assert_false(cur_done(&c));
}

static void an_empty_input_is_read_completely(void **state)
{
    struct cur c = cur_of(NULL, 0);

    assert_true(cur_done(&c));
    assert_non_null(cur_raw(&c, 0));
    assert_false(c.bad);
}

static void an_empty_run_differs_from_a_bad_one(void **state)
{
    FREE_AUTO uint8_t *p = exact("\0\0\0\0", 4);
    struct cur c = cur_of(p, 4);
    size_t len = 9;

    assert_non_null(cur_bytes(&c, 0, &len));
    assert_int_equal(len, 0);
    assert_true(cur_done(&c));
}

static void a_count_that_fits_exactly_is_taken(void **state)
{
    FREE_AUTO uint8_t *p = exact("\0\0\0\2abcd", 8);
    struct cur c = cur_of(p, 8);

    assert_int_equal(cur_count(&c, 2, 2), 2);
    assert_false(c.bad);
}

static void put_values_are_read_back(void **state)
{
    BUF_AUTO struct buf b;
    FREE_AUTO char *s = NULL;
    struct cur c;
    size_t len;

    buf_init(&b, 1000);
    buf_put_u8(&b, 0xfe);
    buf_put_u16(&b, 0xfedc);
    buf_put_u32(&b, 0xfedcba98);
    buf_put_u64(&b, 0xfedcba9876543210);
    buf_put_str(&b, "text");
    buf_put_bytes(&b, "\0\1", 2);
    buf_put_raw(&b, "raw", 3);
    c = cur_of(b.data, b.len);
    assert_int_equal(cur_u8(&c), 0xfe);
    assert_int_equal(cur_u16(&c), 0xfedc);
    assert_int_equal(cur_u32(&c), 0xfedcba98);
    assert_true(cur_u64(&c) == 0xfedcba9876543210);
    s = cur_str(&c, 4);
    assert_string_equal(s, "text");
    assert_memory_equal(cur_bytes(&c, 2, &len), "\0\1", 2);
    assert_int_equal(len, 2);
    assert_memory_equal(cur_raw(&c, 3), "raw", 3);
    assert_true(cur_done(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_integer_is_refused_when_truncated),
        cmocka_unit_test(after_a_bad_read_everything_is_bad),
        cmocka_unit_test(a_length_past_the_end_is_refused),
        cmocka_unit_test(the_longest_length_is_refused),
        cmocka_unit_test(bytes_over_the_callers_bound_are_refused),
        cmocka_unit_test(a_string_with_a_nul_is_refused),
        cmocka_unit_test(a_count_over_the_callers_bound_is_refused),
        cmocka_unit_test(a_count_that_cannot_fit_is_refused),
        cmocka_unit_test(leftover_bytes_are_not_done),
        cmocka_unit_test(a_length_without_bytes_is_bad),
        cmocka_unit_test(an_empty_input_is_read_completely),
        cmocka_unit_test(an_empty_run_differs_from_a_bad_one),
        cmocka_unit_test(a_count_that_fits_exactly_is_taken),
        cmocka_unit_test(put_values_are_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
