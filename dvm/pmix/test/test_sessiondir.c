/* SPDX-License-Identifier: BSD-3-Clause */
/* Job directories: made once, removed whole, and nothing outside is touched. */
#include "dvm/pmix/sessiondir.h"

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
    struct err err = {0};

    if (sessiondir_remove(*state, name, &err) < 0)
        fail_msg("%s", err.msg);
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

static void a_made_directory_is_its_owner_s_alone(void **state)
{
    FREE_AUTO char *name = path(state, "9.1");
    struct stat st;

    make(state, "9.1");
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    remove_dir(state, "9.1");
}

static void what_a_former_life_left_is_replaced(void **state)
{
    FREE_AUTO char *old = path(state, "9.1/old");

    make(state, "9.1");
    touch(state, "9.1/old");
    make(state, "9.1");
    assert_int_equal(access(old, F_OK), -1);
    remove_dir(state, "9.1");
}

static void links_are_removed_and_not_followed(void **state)
{
    FREE_AUTO char *outside = path(state, "outside");
    FREE_AUTO char *kept = path(state, "outside/kept");
    FREE_AUTO char *link = path(state, "9.1/link");

    make(state, "outside");
    touch(state, "outside/kept");
    make(state, "9.1");
    assert_int_equal(symlink(outside, link), 0);
    remove_dir(state, "9.1");
    assert_int_equal(access(kept, F_OK), 0);
    remove_dir(state, "outside");
}

static void a_link_in_place_of_the_directory_is_removed_alone(void **state)
{
    FREE_AUTO char *outside = path(state, "outside");
    FREE_AUTO char *kept = path(state, "outside/kept");
    FREE_AUTO char *link = path(state, "9.1");

    make(state, "outside");
    touch(state, "outside/kept");
    assert_int_equal(symlink(outside, link), 0);
    remove_dir(state, "9.1");
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(access(link, F_OK), -1);
    remove_dir(state, "outside");
}

static void removing_what_is_not_there_is_fine(void **state)
{
    struct err err = {0};

    remove_dir(state, "never");
    assert_int_equal(sessiondir_remove("/nonexistent", "x", &err), 0);
}

static void a_tree_that_is_too_deep_is_left_and_told(void **state)
{
    FREE_AUTO char *name = xstrdup("9.1");
    struct err err = {0};

    make(state, "9.1");
    for (int i = 0; i < SESSIONDIR_DEPTH_MAX + 8; i++) {
        char *deeper = xasprintf("%s/d", name);

        free(name);
        name = deeper;
        FREE_AUTO char *full = path(state, name);
        assert_int_equal(mkdir(full, 0700), 0);
    }
    assert_int_equal(sessiondir_remove(*state, "9.1", &err), -1);
    assert_int_equal(err.code, ELOOP);
    for (char *end; (end = strrchr(name, '/')); *end = '\0') {
        FREE_AUTO char *full = path(state, name);
        rmdir(full);
    }
    remove_dir(state, "9.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_missing_base_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_base_that_is_a_link_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_removed_and_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_in_place_of_the_directory_is_removed_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_tree_that_is_too_deep_is_left_and_told, setup, teardown),
        cmocka_unit_test_setup_teardown(removing_what_is_not_there_is_fine, setup, teardown),
        cmocka_unit_test_setup_teardown(a_made_directory_is_its_owner_s_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_former_life_left_is_replaced, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
