/* SPDX-License-Identifier: BSD-3-Clause */
/* The growable buffer: its bound, its bytes, and allocation failure. */
#include "base/buf/buf.h"

#include "base/buf/test/out_of_memory.h"

static void a_put_over_the_bound_fails_and_writes_nothing(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 5);
    buf_put_u32(&b, 1);
    buf_put_u16(&b, 2);
    assert_true(b.failed);
    assert_int_equal(b.len, 4);
}

static void after_a_failure_nothing_is_written(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 2);
    buf_put_u32(&b, 1);
    buf_put_u8(&b, 2);
    assert_true(b.failed);
    assert_int_equal(b.len, 0);
}

static void bytes_that_do_not_fit_leave_no_length_behind(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 6);
    buf_put_bytes(&b, "abc", 3);
    assert_true(b.failed);
    assert_int_equal(b.len, 0);
}

static void a_buffer_with_bound_0_accepts_no_byte(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 0);
    buf_put_raw(&b, "", 0);
    assert_false(b.failed);
    buf_put_u8(&b, 1);
    assert_true(b.failed);
}

static void a_patch_outside_fails(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 100);
    buf_put_u32(&b, 7);
    buf_patch_u32(&b, 1, 9);
    assert_true(b.failed);
    assert_int_equal(b.data[3], 7);
}

static void a_patch_of_an_empty_buffer_fails(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 100);
    buf_patch_u32(&b, SIZE_MAX, 9);
    assert_true(b.failed);
}

static void consuming_more_than_the_content_empties_the_buffer(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 100);
    buf_put_u32(&b, 7);
    buf_consume(&b, 5);
    assert_int_equal(b.len, 0);
}

static void a_reset_buffer_works_again(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 1);
    buf_put_u16(&b, 1);
    buf_reset(&b);
    buf_put_u8(&b, 3);
    assert_false(b.failed);
    assert_int_equal(b.len, 1);
}

static void freeing_twice_is_fine(void **state)
{
    struct buf b;

    buf_init(&b, 10);
    buf_put_u8(&b, 1);
    buf_free(&b);
    buf_free(&b);
}

static void integers_are_big_endian(void **state)
{
    static const uint8_t want[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    BUF_AUTO struct buf b;

    buf_init(&b, 100);
    buf_put_u8(&b, 1);
    buf_put_u16(&b, 0x0203);
    buf_put_u32(&b, 0x04050607);
    buf_put_u64(&b, 0x08090a0b0c0d0e0f);
    assert_int_equal(b.len, sizeof(want));
    assert_memory_equal(b.data, want, sizeof(want));
}

static void a_null_string_is_an_empty_one(void **state)
{
    static const uint8_t want[] = {0, 0, 0, 0, 0, 0, 0, 1, 'x'};
    BUF_AUTO struct buf b;

    buf_init(&b, 100);
    buf_put_str(&b, NULL);
    buf_put_str(&b, "x");
    assert_int_equal(b.len, sizeof(want));
    assert_memory_equal(b.data, want, sizeof(want));
}

static void a_length_can_be_patched_later(void **state)
{
    static const uint8_t want[] = {9, 0, 0, 0, 1, 7};
    BUF_AUTO struct buf b;

    buf_init(&b, 100);
    buf_put_u8(&b, 9);
    buf_put_u32(&b, 0);
    buf_put_u8(&b, 7);
    buf_patch_u32(&b, 1, 1);
    assert_memory_equal(b.data, want, sizeof(want));
}

static void consuming_keeps_the_rest(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 100);
    buf_put_raw(&b, "hello", 5);
    buf_consume(&b, 2);
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.data, "llo", 3);
}

static void a_buffer_grows_up_to_exactly_its_bound(void **state)
{
    BUF_AUTO struct buf b;

    buf_init(&b, 100003);
    for (int i = 0; i < 100003; i++)
        buf_put_u8(&b, (uint8_t)i);
    assert_false(b.failed);
    assert_int_equal(b.len, 100003);
    assert_int_equal(b.data[100002], (uint8_t)100002);
    buf_put_u8(&b, 0);
    assert_true(b.failed);
}

static void allocate_too_much(void)
{
    free(xmalloc(SIZE_MAX / 2));
}

static void allocate_an_overflow(void)
{
    free(xcalloc(SIZE_MAX / 2, 3));
}

static void reallocate_too_much(void)
{
    free(xrealloc(NULL, SIZE_MAX / 2));
}

static void out_of_memory_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(allocate_too_much);
}

static void an_overflowing_size_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(allocate_an_overflow);
}

static void growing_out_of_memory_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(reallocate_too_much);
}

static void an_allocation_of_no_bytes_gives_a_pointer(void **state)
{
    FREE_AUTO void *a = xmalloc(0);
    FREE_AUTO void *b = xcalloc(0, 8);
    FREE_AUTO void *c = xrealloc(NULL, 0);

    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
}

static void text_can_be_copied_and_formatted(void **state)
{
    FREE_AUTO char *copy = xstrdup("abc");
    FREE_AUTO char *text = xasprintf("%s-%d", copy, 7);
    FREE_AUTO char *begin = xstrndup("abc", 2);
    FREE_AUTO char *whole = xstrndup("abc", 4);

    assert_string_equal(text, "abc-7");
    assert_string_equal(begin, "ab");
    assert_string_equal(whole, "abc");
}

static void a_freed_pointer_is_null(void **state)
{
    char *text = xstrdup("abc");

    free_ptr(&text);
    assert_null(text);
    free_ptr(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_over_the_bound_fails_and_writes_nothing),
        cmocka_unit_test(after_a_failure_nothing_is_written),
        cmocka_unit_test(bytes_that_do_not_fit_leave_no_length_behind),
        cmocka_unit_test(a_buffer_with_bound_0_accepts_no_byte),
        cmocka_unit_test(a_patch_outside_fails),
        cmocka_unit_test(a_patch_of_an_empty_buffer_fails),
        cmocka_unit_test(consuming_more_than_the_content_empties_the_buffer),
        cmocka_unit_test(a_reset_buffer_works_again),
        cmocka_unit_test(freeing_twice_is_fine),
        cmocka_unit_test(integers_are_big_endian),
        cmocka_unit_test(a_null_string_is_an_empty_one),
        cmocka_unit_test(a_length_can_be_patched_later),
        cmocka_unit_test(consuming_keeps_the_rest),
        cmocka_unit_test(a_buffer_grows_up_to_exactly_its_bound),
        cmocka_unit_test(out_of_memory_ends_the_program_with_one_line),
        cmocka_unit_test(an_overflowing_size_ends_the_program_with_one_line),
        cmocka_unit_test(growing_out_of_memory_ends_the_program_with_one_line),
        cmocka_unit_test(an_allocation_of_no_bytes_gives_a_pointer),
        cmocka_unit_test(text_can_be_copied_and_formatted),
        cmocka_unit_test(a_freed_pointer_is_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The sanitizer would end the program itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
