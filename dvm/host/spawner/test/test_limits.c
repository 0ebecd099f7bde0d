/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variable that takes limits and umask to the ranks. */
#include "base/buf/buf.h"
#include "dvm/host/spawner/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void malformed_values_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "022",
                                      "022 ",
                                      "022 1:2 1:2 1:2 1:2",
                                      "022 1:2 1:2 1:2 1:2 1:2 1:2",
                                      "1000 1:2 1:2 1:2 1:2 1:2",
                                      "-22 1:2 1:2 1:2 1:2 1:2",
                                      "089 1:2 1:2 1:2 1:2 1:2",
                                      "022 2:1 1:2 1:2 1:2 1:2",
                                      "022 -:1 1:2 1:2 1:2 1:2",
                                      "022 1 1:2 1:2 1:2 1:2",
                                      "022 1:-2 1:2 1:2 1:2 1:2",
                                      "022 1:2 1:2 1:2 1:2 1:2 ",
                                      "022  1:2 1:2 1:2 1:2 1:2",
                                      "022 1:2 1:2 1:2 1:2 1:18446744073709551615",
                                      "022 1:2 1:2 1:2 1:2 1:99999999999999999999",
                                      "022 0x1:2 1:2 1:2 1:2 1:2"};
    struct limits l;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(limits_decode(bad[i], &l));
}

static void what_is_encoded_is_decoded(void **state)
{
    const struct limits l = {.of = {{8u << 20, RLIM_INFINITY},
                                    {0, 0},
                                    {1024, 4096},
                                    {RLIM_INFINITY, RLIM_INFINITY},
                                    {RLIM_INFINITY - 1, RLIM_INFINITY}},
                             .umask = 027};
    FREE_AUTO char *entry = limits_encode(&l);
    struct limits got;

    assert_string_equal(entry, LIMITS_VARIABLE "=027 8388608:- 0:0 1024:4096 -:- "
                                               "18446744073709551614:-");
    assert_true(limits_decode(strchr(entry, '=') + 1, &got));
    assert_memory_equal(got.of, l.of, sizeof(l.of));
    assert_int_equal(got.umask, l.umask);
}

/* In a process of its own: hard limits do not rise again. */
static void no_limit_rises_above_the_hard_one(void **state)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        struct limits l;
        struct rlimit r = {100, 200};

        setrlimit(RLIMIT_NOFILE, &r);
        l = limits_read();
        l.of[2] = (struct rlimit){300, RLIM_INFINITY};
        l.umask = 013;
        FREE_AUTO char *over = limits_over(&l, getpid());

        if (strcmp(over, "nofile 200") != 0 || limits_apply(&l) != 0 ||
            getrlimit(RLIMIT_NOFILE, &r) < 0)
            _exit(1);
        _exit(r.rlim_cur == 200 && r.rlim_max == 200 && umask(0) == 013 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_values_are_refused),
        cmocka_unit_test(what_is_encoded_is_decoded),
        cmocka_unit_test(no_limit_rises_above_the_hard_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
