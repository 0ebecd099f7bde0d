/* SPDX-License-Identifier: BSD-3-Clause */
/* Bitmaps that cannot be made longer, and lists of CPUs. */
#include "base/bitmap/bitmap.h"

#include "base/buf/buf.h"
#include "base/buf/test/out_of_memory.h"

/* The sanitizer's allocator has no block of 512 MiB, which the last bits need. */
#define LAST_BIT 4294967290u
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=64:allocator_may_return_null=1";
}

static void set_a_bit(void)
{
    bitmap_set(bitmap_alloc(), LAST_BIT);
}

static void set_a_range(void)
{
    bitmap_set_range(bitmap_alloc(), LAST_BIT, -1);
}

static void clear_a_bit_of_an_infinite_set(void)
{
    hwloc_bitmap_t set = bitmap_alloc();

    bitmap_set_range(set, 0, -1);
    bitmap_clr(set, LAST_BIT);
}

static void a_bitmap_that_cannot_grow_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(set_a_bit);
    assert_one_line_and_the_end(set_a_range);
    assert_one_line_and_the_end(clear_a_bit_of_an_infinite_set);
}

static void refuse_list(const char *text)
{
    hwloc_bitmap_t set = bitmap_alloc();

    bitmap_set(set, 3);
    assert_int_equal(bitmap_list_parse(set, text), -1);
    assert_true(hwloc_bitmap_iszero(set));
    hwloc_bitmap_free(set);
}

static void a_list_with_a_number_that_is_too_great_is_refused(void **state)
{
    refuse_list("1048576");
    refuse_list("0-1048576");
    refuse_list("1,4294967290,2");
    refuse_list("0xfffffff0");
    refuse_list("99999999999999999999999999");
}

static void a_text_that_is_no_list_is_refused(void **state)
{
    refuse_list("x");
    refuse_list("1,x");
}

static void a_list_is_read_and_written(void **state)
{
    static const char *const lists[] = {"", "0", "0-3,8", "511-513", "5-", "1048575"};
    hwloc_bitmap_t set = bitmap_alloc();

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        FREE_AUTO char *text = NULL;

        assert_int_equal(bitmap_list_parse(set, lists[i]), 0);
        text = bitmap_list_text(set);
        assert_string_equal(text, lists[i]);
    }
    hwloc_bitmap_free(set);
}

static void operations_do_what_those_of_hwloc_do(void **state)
{
    hwloc_bitmap_t a = bitmap_alloc(), b = bitmap_alloc(), c;
    FREE_AUTO char *text = NULL;

    bitmap_set_range(a, 1, 600);
    bitmap_set(b, 700);
    bitmap_or(b, b, a);
    bitmap_clr(b, 2);
    c = bitmap_dup(b);
    bitmap_and(c, c, a);
    assert_false(hwloc_bitmap_isequal(b, c));
    text = bitmap_list_text(c);
    assert_string_equal(text, "1,3-600");
    bitmap_copy(c, b);
    assert_true(hwloc_bitmap_isequal(b, c));
    hwloc_bitmap_free(a);
    hwloc_bitmap_free(b);
    hwloc_bitmap_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bitmap_that_cannot_grow_ends_the_program_with_one_line),
        cmocka_unit_test(a_list_with_a_number_that_is_too_great_is_refused),
        cmocka_unit_test(a_text_that_is_no_list_is_refused),
        cmocka_unit_test(a_list_is_read_and_written),
        cmocka_unit_test(operations_do_what_those_of_hwloc_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
