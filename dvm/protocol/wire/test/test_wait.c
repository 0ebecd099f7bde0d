/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of texts that say what a job waits for. */
#include "base/bitmap/bitmap.h"
#include "base/buf/buf.h"
#include "dvm/protocol/wire/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_text(hwloc_bitmap_t ranks, const char *expected)
{
    FREE_AUTO char *text = wait_ranks(ranks);

    assert_string_equal(text, expected);
}

static void ranks_are_a_list_that_is_cut_between_two_of_them(void **state)
{
    hwloc_bitmap_t ranks = bitmap_alloc();
    FREE_AUTO char *text = NULL;

    bitmap_set(ranks, 3);
    assert_text(ranks, "rank 3");
    bitmap_set_range(ranks, 5, 7);
    assert_text(ranks, "ranks 3,5-7");
    for (unsigned r = 1000; r < 2000; r += 2)
        bitmap_set(ranks, r);
    text = wait_ranks(ranks);
    assert_int_equal(strncmp(text, "ranks 3,5-7,1000,1002,", 22), 0);
    assert_true(strlen(text) < 80);
    assert_string_equal(strrchr(text, ','), ", ...");
    hwloc_bitmap_free(ranks);
}

static void collectives_have_their_names(void **state)
{
    assert_string_equal(wait_collective('f'), "fence");
    assert_string_equal(wait_collective('c'), "connect");
    assert_string_equal(wait_collective('d'), "disconnect");
    assert_string_equal(wait_collective('g'), "group");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_a_list_that_is_cut_between_two_of_them),
        cmocka_unit_test(collectives_have_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
