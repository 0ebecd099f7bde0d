/* SPDX-License-Identifier: BSD-3-Clause */
/* Job directories: made once, and found again. */
#include "dvm/host/pmix/sessiondir.h"

#include "base/buf/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int setup(void **state)
{
    char *base = xstrdup("/tmp/sessiondir-XXXXXX");

    *state = base;
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    int rc = rmdir(*state);

    free(*state);
    return rc; /* every test leaves its base empty */
}

static char *path(void **state, const char *below)
{
    return xasprintf("%s/%s", (char *)*state, below);
}

static void touch(void **state, const char *below)
{
    FREE_AUTO char *name = path(state, below);
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fclose(f);
}

static void make(void **state, const char *name)
{
    struct err err = {0};

    if (sessiondir_make(*state, name, geteuid(), getegid(), &err) < 0)
        fail_msg("%s", err.msg);
}

static void remove_dir(void **state, const char *name)
{
    FREE_AUTO char *dir = path(state, name);

    assert_int_equal(rmdir(dir), 0);
}

static void a_missing_base_is_named(void **state)
{
    struct err err = {0};

    assert_int_equal(sessiondir_make("/nonexistent", "x", geteuid(), getegid(), &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_non_null(strstr(err.msg, "/nonexistent/x"));
}

static void a_base_that_is_a_link_is_refused(void **state)
{
    FREE_AUTO char *real = path(state, "real");
    FREE_AUTO char *link = path(state, "link");
    struct err err = {0};

    make(state, "real");
    assert_int_equal(symlink(real, link), 0);
    assert_int_equal(sessiondir_make(link, "x", geteuid(), getegid(), &err), -1);
    unlink(link);
    remove_dir(state, "real");
}

static void a_made_directory_is_accessible_to_its_owner_only(void **state)
{
    FREE_AUTO char *name = path(state, "9.1");
    struct stat st;

    make(state, "9.1");
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    remove_dir(state, "9.1");
}

static void a_directory_that_is_there_is_taken_and_a_link_is_not(void **state)
{
    FREE_AUTO char *link = path(state, "9.2");
    struct err err = {0};

    make(state, "9.1");
    make(state, "9.1");
    assert_int_equal(symlink("9.1", link), 0);
    assert_int_equal(sessiondir_make(*state, "9.2", geteuid(), getegid(), &err), -1);
    assert_int_equal(err.code, EEXIST);
    unlink(link);
    remove_dir(state, "9.1");
}

static void count(const char *found, void *arg)
{
    const char **expected = arg;

    assert_non_null(strstr(found, expected[0]));
    expected[1] = found;
}

static void directories_with_the_names_of_jobs_are_found_again_and_nothing_else(void **state)
{
    static const char *const others[] = {"0123456789abcdef.", "0123456789abcdef.x", "tmp.1",
                                         "0123456789abcdef0.1", "parked"};
    FREE_AUTO char *link = path(state, "0123456789abcdef.8");
    const char *expected[2] = {"/0123456789abcdef.77", NULL};

    for (size_t i = 0; i < 5; i++)
        make(state, others[i]);
    assert_int_equal(symlink("tmp.1", link), 0);
    touch(state, "0123456789abcdef.9");
    sessiondir_leftovers(*state, count, expected);
    assert_null(expected[1]);
    make(state, "0123456789abcdef.77");
    sessiondir_leftovers(*state, count, expected);
    assert_non_null(expected[1]);
    sessiondir_leftovers("/nonexistent", count, expected);
    for (size_t i = 0; i < 5; i++)
        remove_dir(state, others[i]);
    remove_dir(state, "0123456789abcdef.77");
    unlink(link);
    FREE_AUTO char *file = path(state, "0123456789abcdef.9");
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_missing_base_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_base_that_is_a_link_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_made_directory_is_accessible_to_its_owner_only, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_directory_that_is_there_is_taken_and_a_link_is_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            directories_with_the_names_of_jobs_are_found_again_and_nothing_else, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
