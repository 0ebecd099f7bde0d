/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of text that is made harmless for a terminal. */
#include "base/text/printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_shown(const char *text, const char *as)
{
    char shown[256] = "";
    size_t len = 0;

    assert_true(printable_copy(shown, &len, sizeof(shown) - 1, text));
    assert_string_equal(shown, as);
}

static void control_characters_are_shown_by_their_bytes(void **state)
{
    assert_shown("a\x1b[31mb\a\x7f", "a\\x1b[31mb\\x07\\x7f");
    assert_shown("a\nb\r\tc", "a\\nb\\x0d\\x09c");
    assert_shown("\xc2\x9b"
                 "31m\xc2\x80",
                 "\\xc2\\x9b31m\\xc2\\x80");
}

static void
characters_that_change_the_direction_or_end_a_line_are_shown_by_their_bytes(void **state)
{
    assert_shown("\u202egnp.exe", "\\xe2\\x80\\xaegnp.exe");
    assert_shown("\u202a\u2066\u2069", "\\xe2\\x80\\xaa\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
    assert_shown("\u200e\u200f\u061c", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c");
    assert_shown("\u2028", "\\xe2\\x80\\xa8");
}

static void bytes_that_are_no_utf8_are_shown_as_bytes(void **state)
{
    assert_shown("\xff\x80", "\\xff\\x80");
    assert_shown("a\xc3", "a\\xc3");
    assert_shown("\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80");
    assert_shown("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
}

static void other_text_stays(void **state)
{
    assert_shown("", "");
    assert_shown("gr\u00fc\u00df\u2713 \U0001f600 %s \\x1b",
                 "gr\u00fc\u00df\u2713 \U0001f600 %s \\x1b");
}

static void a_copy_ends_before_a_character_that_has_no_room(void **state)
{
    char out[8] = "";
    size_t len = 0;

    assert_false(printable_copy(out, &len, 6, "ab\x1b\x1b"));
    assert_int_equal(len, 6);
    assert_memory_equal(out, "ab\\x1b", 6);
    len = 0;
    assert_false(printable_copy(out, &len, 2, "a\u00fcb"));
    assert_int_equal(len, 1);
}

static void json_stays_json(void **state)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    printable_json("{\n\t\"a\": \"\\u001b\x7f\xc2\x9b\u202e\u00fc\xff\"}", f);
    fclose(f);
    assert_string_equal(text, "{\n\t\"a\": \"\\u001b\\u007f\\u009b\\u202e\u00fc\\ufffd\"}");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_shown_by_their_bytes),
        cmocka_unit_test(
            characters_that_change_the_direction_or_end_a_line_are_shown_by_their_bytes),
        cmocka_unit_test(bytes_that_are_no_utf8_are_shown_as_bytes),
        cmocka_unit_test(other_text_stays),
        cmocka_unit_test(a_copy_ends_before_a_character_that_has_no_room),
        cmocka_unit_test(json_stays_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
