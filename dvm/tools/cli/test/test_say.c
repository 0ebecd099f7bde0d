/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what reaches the user's terminal. */
#include "dvm/tools/cli/say.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void a_text_of_several_lines_keeps_these(void **state)
{
    static const char text[] = "one\x1b\n\ntwo\r\nend";
    FREE_AUTO char *shown = cli_lines(text, sizeof(text) - 1);
    FREE_AUTO char *all = cli_lines("\n\x1b\n", 3);

    assert_string_equal(shown, "one\\x1b\n\ntwo\\x0d\nend");
    assert_string_equal(all, "\n\\x1b\n");
}

static void a_message_is_one_line_whatever_is_in_it(void **state)
{
    char got[128] = "";
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    cli_say(ends[1], "prun", "job %s: %s", "1.1", "no \x1b[31mred\nprun: forged\n");
    cli_say(ends[1], "prun", "%s", "");
    close(ends[1]);
    assert_true(read(ends[0], got, sizeof(got) - 1) > 0);
    close(ends[0]);
    assert_string_equal(got, "prun: job 1.1: no \\x1b[31mred\\nprun: forged\nprun: \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_of_several_lines_keeps_these),
        cmocka_unit_test(a_message_is_one_line_whatever_is_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
