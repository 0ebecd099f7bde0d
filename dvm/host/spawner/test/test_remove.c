/* SPDX-License-Identifier: BSD-3-Clause */
/* Which entries a removal deletes, and which it never touches. */
#include "dvm/host/spawner/remove.h"

#include "base/buf/buf.h"

#include <grp.h>
#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TREE (REMOVE_DIR | REMOVE_RECURSIVE)
#define SOMEBODY 12345

static char base[64];

/* Not by fork(), which copies the sanitizer's memory map. */
static int run(const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    posix_spawn_file_actions_t actions;
    int status = -1;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, base);
    if (posix_spawn(&pid, "/bin/sh", &actions, NULL, (char *const *)argv, environ) == 0)
        waitpid(pid, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

static void sh(const char *script)
{
    assert_int_equal(run(script), 0);
}

static int setup(void **state)
{
    snprintf(base, sizeof(base), "/tmp/test_remove.XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    return run("chmod -R u+rwx $PWD; rm -rf $PWD");
}

static bool exists(const char *name)
{
    FREE_AUTO char *path = xasprintf("%s/%s", base, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static void clean(const char *name, unsigned flags)
{
    FREE_AUTO char *path = xasprintf("%s/%s", base, name);
    struct remove_rules rules = {0};

    assert_true(remove_path(path, flags, &rules));
}

/* In a child, as another user. */
static void clean_as_somebody(const char *name, unsigned flags)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setresgid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 ||
            setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0)
            _exit(1);
        clean(name, flags);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void a_link_in_a_tree_is_removed_and_not_followed(void **state)
{
    sh("mkdir -p tree/sub out/sub && touch out/file out/sub/file && ln -s ../out tree/rel && "
       "ln -s $PWD/out tree/sub/abs && ln -s ../out/file tree/file");
    clean("tree", TREE);
    assert_false(exists("tree"));
    assert_true(exists("out/file") && exists("out/sub/file"));
}

static void a_link_named_as_a_directory_stays_with_its_target(void **state)
{
    sh("mkdir out && touch out/file && ln -s out link");
    clean("link", TREE);
    assert_true(exists("link") && exists("out/file"));
}

static void a_link_named_as_a_file_is_removed_and_its_target_stays(void **state)
{
    sh("touch out && ln -s out link");
    clean("link", 0);
    assert_false(exists("link"));
    assert_true(exists("out"));
}

static void no_link_on_the_way_to_a_named_path_is_followed(void **state)
{
    sh("mkdir -p out/dir && touch out/file out/dir/file && ln -s out link");
    clean("link/file", 0);
    clean("link/dir", TREE);
    assert_true(exists("out/file") && exists("out/dir/file"));
}

static void a_link_of_root_on_the_way_is_followed_for_other_users(void **state)
{
    if (geteuid() != 0)
        skip();
    sh("mkdir -p real && touch real/file real/other && ln -s real roots && ln -s real theirs && "
       "chown -h 12345:12345 theirs real real/file real/other && chmod 755 .");
    clean_as_somebody("theirs/file", 0);
    assert_true(exists("real/file"));
    clean_as_somebody("roots/other", 0);
    assert_false(exists("real/other"));
}

static void a_directory_named_as_a_file_stays_and_a_file_named_as_a_directory(void **state)
{
    sh("mkdir dir && touch file");
    clean("dir", 0);
    clean("file", TREE);
    assert_true(exists("dir") && exists("file"));
}

static void files_of_other_users_or_groups_stay(void **state)
{
    if (geteuid() != 0)
        skip();
    sh("mkdir -p tree/theirs tree/ours && touch tree/u tree/g tree/both tree/theirs/ours "
       "tree/ours/f && chown 12345 tree/u && chown :12345 tree/g && chown 12345:12345 tree/theirs "
       "&& touch lone && chown 12345 lone");
    clean("tree", TREE);
    clean("lone", 0);
    assert_true(exists("tree/u") && exists("tree/g") && exists("tree/theirs/ours"));
    assert_true(exists("lone"));
    assert_false(exists("tree/both") || exists("tree/ours"));
}

static void a_session_directory_is_removed_with_any_contents(void **state)
{
    sh("mkdir -p tree/a/b && touch tree/a/b/f && chmod 500 tree/a/b && chmod 0 tree/a");
    if (geteuid() == 0)
        sh("chown -R 12345 tree/a");
    clean("tree", TREE | REMOVE_OURS);
    assert_false(exists("tree"));
}

static void without_recursion_subdirectories_stay(void **state)
{
    sh("mkdir -p tree/empty tree/full && touch tree/f tree/full/f");
    clean("tree", REMOVE_DIR);
    assert_false(exists("tree/f"));
    assert_true(exists("tree/empty") && exists("tree/full/f"));
}

static void only_empty_directories_go_where_that_is_asked(void **state)
{
    sh("mkdir -p tree/a/b tree/c && touch tree/c/f");
    clean("tree", TREE | REMOVE_ONLY_EMPTY);
    assert_false(exists("tree/a"));
    assert_true(exists("tree/c/f"));
}

static void the_top_directory_stays_where_that_is_asked(void **state)
{
    sh("mkdir -p tree/a && touch tree/f tree/a/f");
    clean("tree", TREE | REMOVE_LEAVE_TOPDIR);
    assert_true(exists("tree"));
    assert_false(exists("tree/a") || exists("tree/f"));
}

static void an_ignored_path_stays_with_all_below_it(void **state)
{
    FREE_AUTO char *file = NULL;
    FREE_AUTO char *dir = NULL;
    FREE_AUTO char *tree = NULL;

    sh("mkdir -p tree/a/keep/x tree/b && touch tree/a/f tree/a/keep/x/f tree/b/f tree/b/g");
    file = xasprintf("%s/tree/b/f", base);
    dir = xasprintf("%s/tree/a/keep", base);
    tree = xasprintf("%s/tree", base);
    const char *const ignores[] = {file, dir};
    struct remove_rules rules = {.ignores = ignores, .nignores = 2};
    assert_true(remove_path(tree, TREE, &rules));
    assert_true(exists("tree/a/keep/x/f") && exists("tree/b/f"));
    assert_false(exists("tree/a/f") || exists("tree/b/g"));
}

static void another_file_system_is_not_entered(void **state)
{
    FREE_AUTO char *point = xasprintf("%s/tree/mnt", base);

    sh("mkdir -p tree/mnt && touch tree/f");
    if (mount("none", point, "tmpfs", 0, NULL) < 0)
        skip();
    sh("touch tree/mnt/f");
    clean("tree", TREE);
    assert_true(exists("tree/mnt/f"));
    assert_false(exists("tree/f"));
    assert_int_equal(umount(point), 0);
}

static void a_directory_from_elsewhere_that_is_mounted_in_the_tree_is_not_entered(void **state)
{
    FREE_AUTO char *from = xasprintf("%s/out", base);
    FREE_AUTO char *point = xasprintf("%s/tree/mnt", base);

    sh("mkdir -p tree/mnt out/sub && touch tree/f out/f out/sub/f");
    if (mount(from, point, NULL, MS_BIND, NULL) < 0)
        skip();
    clean("tree", TREE);
    assert_int_equal(umount(point), 0);
    assert_true(exists("out/f") && exists("out/sub/f"));
    assert_false(exists("tree/f"));
}

static void a_mount_point_can_be_named_itself(void **state)
{
    FREE_AUTO char *from = xasprintf("%s/out", base);
    FREE_AUTO char *point = xasprintf("%s/mnt", base);

    sh("mkdir -p mnt out/sub && touch out/f out/sub/f");
    if (mount(from, point, NULL, MS_BIND, NULL) < 0)
        skip();
    clean("mnt", TREE);
    assert_int_equal(umount(point), 0);
    assert_false(exists("out/f") || exists("out/sub"));
}

static void directories_of_daemons_stay_with_all_below_them(void **state)
{
    sh("mkdir -p tree/d/0/sub tree/d/tls && touch tree/f tree/d/0/prted.sock tree/d/0/sub/f "
       "tree/d/tls/key && ln -s 0/prted.sock tree/d/prted.sock");
    clean("tree", TREE);
    clean("tree/d", TREE);
    clean("tree/d/tls", TREE);
    clean("tree/d/0", TREE);
    clean("tree/d/0/prted.sock", 0);
    assert_true(exists("tree/d/prted.sock") && exists("tree/d/tls/key"));
    assert_true(exists("tree/d/0/prted.sock") && exists("tree/d/0/sub/f"));
    assert_false(exists("tree/f"));
    clean("tree", TREE | REMOVE_OURS);
    assert_false(exists("tree"));
}

static void a_budget_is_kept_and_the_next_call_goes_on(void **state)
{
    FREE_AUTO char *tree = xasprintf("%s/tree", base);
    struct remove_rules rules = {.budget = 10};
    int calls = 1;

    sh("mkdir -p tree/a tree/b && for i in 1 2 3 4 5 6 7 8 9 10 11 12; do touch tree/a/$i "
       "tree/b/$i; done");
    while (calls < 28 && !remove_path(tree, TREE, &rules))
        calls++;
    assert_false(exists("tree"));
    assert_in_range(calls, 3, 27);
}

static void entries_below_the_depth_limit_stay(void **state)
{
    sh("d=tree; for i in $(seq 140); do d=$d/d; done; mkdir -p $d && touch tree/f");
    clean("tree", TREE);
    assert_true(exists("tree/d"));
    assert_false(exists("tree/f"));
}

static void a_missing_path_is_no_error(void **state)
{
    clean("nothing", 0);
    clean("nothing/below", TREE);
}

static void only_entries_with_a_job_s_name_are_removed_from_a_directory_of_jobs(void **state)
{
    sh("mkdir -p d/0123456789abcdef.77/0 d/0123456789abcdef. d/0123456789abcdef.x d/tmp.1 "
       "d/0123456789abcdef0.1 out && touch d/0123456789abcdef.9 d/0123456789abcdef.77/0/f out/f && "
       "ln -s ../out d/0123456789abcdef.8 && chmod 750 d && chmod 500 d/0123456789abcdef.77");
    clean("d", TREE | REMOVE_OURS | REMOVE_JOBS);
    assert_false(exists("d/0123456789abcdef.77"));
    assert_true(exists("d/0123456789abcdef.") && exists("d/0123456789abcdef.x"));
    assert_true(exists("d/0123456789abcdef0.1") && exists("d/tmp.1"));
    assert_true(exists("d/0123456789abcdef.9") && exists("d/0123456789abcdef.8"));
    assert_true(exists("out/f"));
    sh("[ $(stat -c %a d) = 750 ]");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_link_in_a_tree_is_removed_and_not_followed),
        TEST(a_link_named_as_a_directory_stays_with_its_target),
        TEST(a_link_named_as_a_file_is_removed_and_its_target_stays),
        TEST(no_link_on_the_way_to_a_named_path_is_followed),
        TEST(a_link_of_root_on_the_way_is_followed_for_other_users),
        TEST(a_directory_named_as_a_file_stays_and_a_file_named_as_a_directory),
        TEST(files_of_other_users_or_groups_stay),
        TEST(a_session_directory_is_removed_with_any_contents),
        TEST(without_recursion_subdirectories_stay),
        TEST(only_empty_directories_go_where_that_is_asked),
        TEST(the_top_directory_stays_where_that_is_asked),
        TEST(an_ignored_path_stays_with_all_below_it),
        TEST(another_file_system_is_not_entered),
        TEST(a_directory_from_elsewhere_that_is_mounted_in_the_tree_is_not_entered),
        TEST(a_mount_point_can_be_named_itself),
        TEST(directories_of_daemons_stay_with_all_below_them),
        TEST(a_budget_is_kept_and_the_next_call_goes_on),
        TEST(entries_below_the_depth_limit_stay),
        TEST(only_entries_with_a_job_s_name_are_removed_from_a_directory_of_jobs),
        TEST(a_missing_path_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
