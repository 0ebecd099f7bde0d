/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a spawner's cleanups, and what is done with it after the spawner was killed. A child
 * of the test stands for the spawner. */
#include "dvm/host/spawner/clean_journal.h"
#include "dvm/host/spawner/leftovers.h"
#include "dvm/host/spawner/remove.h"
#include "dvm/host/spawner/spawner_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fix {
    char session[32];
    char files[32];
};

static char *path_of(const struct fix *f, const char *name)
{
    return xasprintf("%s/%s", f->files, name);
}

static void make_file(const struct fix *f, const char *name)
{
    FREE_AUTO char *path = path_of(f, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static bool is_there(const struct fix *f, const char *name)
{
    FREE_AUTO char *path = path_of(f, name);

    return access(path, F_OK) == 0;
}

static int setup(void **state)
{
    struct fix *f = xcalloc(1, sizeof(*f));
    FREE_AUTO char *dir = NULL;

    snprintf(f->session, sizeof(f->session), "/tmp/test_left.XXXXXX");
    snprintf(f->files, sizeof(f->files), "/tmp/test_left.XXXXXX");
    assert_non_null(mkdtemp(f->session));
    assert_non_null(mkdtemp(f->files));
    dir = path_of(f, "d");
    assert_int_equal(mkdir(dir, 0700), 0);
    make_file(f, "f");
    make_file(f, "g");
    make_file(f, "d/f");
    make_file(f, "d/g");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    const struct remove_rules rules = {0};

    remove_path(f->session, REMOVE_DIR | REMOVE_RECURSIVE, &rules);
    remove_path(f->files, REMOVE_DIR | REMOVE_RECURSIVE, &rules);
    free(f);
    return 0;
}

static void register_path(struct spawner *sp, const struct fix *f, uint64_t scope, unsigned flags,
                          const char *name)
{
    FREE_AUTO char *path = path_of(f, name);

    spawner_clean_add(sp, scope, flags, path);
}

/* The work of a spawner before it is killed. */
typedef void work_fn(struct spawner *sp, const struct fix *f);

static void keep_all(struct spawner *sp, const struct fix *f)
{
    register_path(sp, f, 1, 0, "f");
    register_path(sp, f, 2, REMOVE_DIR | REMOVE_RECURSIVE, "d");
    register_path(sp, f, 2, REMOVE_IGNORE, "d/g");
}

/* Returns the pid of a spawner that has done this and does not end. */
static pid_t start_spawner(const struct fix *f, work_fn *work)
{
    int up[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(up), 0);
    pid = fork();
    if (pid == 0) {
        struct spawner sp = {.sock = -1, .journal = clean_journal_create(f->session, 0xabc)};

        work(&sp, f);
        close(up[1]); /* the test goes on */
        for (;;)
            pause();
    }
    close(up[1]);
    assert_int_equal(read(up[0], &byte, 1), 0);
    close(up[0]);
    return pid;
}

static void kill_spawner(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void run_leftovers(const struct fix *f)
{
    pid_t pid = leftovers_start(f->session);
    int status = 0;

    if (pid)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The file of the spawner; NULL: there is none. At most one is expected. */
static char *journal_of(const struct fix *f)
{
    DIR *d = opendir(f->session);
    const struct dirent *e;
    char *found = NULL;

    while ((e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        assert_null(found);
        found = xasprintf("%s/%s", f->session, e->d_name);
    }
    closedir(d);
    return found;
}

static void paths_of_a_killed_spawner_are_removed_by_its_rules(void **state)
{
    const struct fix *f = *state;
    FREE_AUTO char *journal = NULL;

    kill_spawner(start_spawner(f, keep_all));
    assert_true(is_there(f, "f"));
    run_leftovers(f);
    assert_false(is_there(f, "f"));
    assert_true(is_there(f, "g"));
    assert_false(is_there(f, "d/f"));
    assert_true(is_there(f, "d/g"));
    journal = journal_of(f);
    assert_null(journal);
}

static void the_file_of_a_living_spawner_is_left_alone(void **state)
{
    const struct fix *f = *state;
    pid_t pid = start_spawner(f, keep_all);
    FREE_AUTO char *journal = NULL;

    run_leftovers(f);
    journal = journal_of(f);
    assert_true(is_there(f, "f"));
    assert_non_null(journal);
    kill_spawner(pid);
    run_leftovers(f);
    assert_false(is_there(f, "f"));
}

static void keep_and_forget(struct spawner *sp, const struct fix *f)
{
    keep_all(sp, f);
    spawner_clean_forget(sp, 1);
}

static void a_scope_that_is_done_is_not_removed_again(void **state)
{
    const struct fix *f = *state;

    kill_spawner(start_spawner(f, keep_and_forget));
    run_leftovers(f);
    assert_true(is_there(f, "f"));
    assert_false(is_there(f, "d/f"));
}

static void end_in_order(struct spawner *sp, const struct fix *f)
{
    register_path(sp, f, 1, 0, "f");
    spawner_clean_all(sp);
    clean_journal_destroy(sp->journal);
}

static void an_orderly_end_leaves_no_file(void **state)
{
    const struct fix *f = *state;
    FREE_AUTO char *journal = NULL;

    kill_spawner(start_spawner(f, end_in_order));
    journal = journal_of(f);
    assert_null(journal);
    assert_false(is_there(f, "f"));
}

/* The time of the file is that of the spawner's end. */
static void age_journal(const struct fix *f)
{
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    FREE_AUTO char *journal = journal_of(f);

    assert_int_equal(utimensat(AT_FDCWD, journal, old, 0), 0);
}

static void entries_that_were_changed_after_the_end_stay(void **state)
{
    const struct fix *f = *state;

    kill_spawner(start_spawner(f, keep_all));
    age_journal(f);
    run_leftovers(f);
    assert_true(is_there(f, "f"));
    assert_true(is_there(f, "d/f"));
}

static void append_bytes(const struct fix *f, const void *bytes, size_t len)
{
    FREE_AUTO char *journal = journal_of(f);
    int fd = open(journal, O_WRONLY | O_APPEND | O_CLOEXEC);
    struct stat st;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    assert_int_equal(futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim}), 0);
    close(fd);
}

static void records_before_a_damaged_one_count(void **state)
{
    const struct fix *f = *state;

    kill_spawner(start_spawner(f, keep_all));
    append_bytes(f, "\0\0\1\0\4abc", 8);
    run_leftovers(f);
    assert_false(is_there(f, "f"));
    assert_false(is_there(f, "d/f"));
}

static void append_path(const struct fix *f, unsigned flags, const char *name)
{
    FREE_AUTO char *path = path_of(f, name);
    struct spawn_cmd c = {.kind = SPAWN_CMD_CLEAN_ADD, .id = 9, .flags = flags};
    BUF_AUTO struct buf msg;
    BUF_AUTO struct buf b;

    snprintf(c.path, sizeof(c.path), "%s", path);
    buf_init(&msg, SPAWN_MSG_MAX);
    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_cmd_encode(&msg, &c);
    buf_put_bytes(&b, msg.data, msg.len);
    append_bytes(f, b.data, b.len);
}

static void flags_of_a_daemon_and_impossible_paths_are_refused(void **state)
{
    const struct fix *f = *state;

    kill_spawner(start_spawner(f, keep_all));
    append_path(f, REMOVE_OURS, "g");
    append_path(f, REMOVE_JOBS | REMOVE_DIR, "d");
    append_path(f, 0, "d/../g");
    append_path(f, 1u << 30, "g");
    run_leftovers(f);
    assert_false(is_there(f, "f"));
    assert_true(is_there(f, "g"));
    assert_true(is_there(f, "d/g"));
}

static void a_file_that_others_may_write_is_not_obeyed(void **state)
{
    const struct fix *f = *state;
    FREE_AUTO char *journal = NULL;

    kill_spawner(start_spawner(f, keep_all));
    journal = journal_of(f);
    assert_int_equal(chmod(journal, 0620), 0);
    run_leftovers(f);
    assert_true(is_there(f, "f"));
}

static void a_link_of_that_name_is_not_followed(void **state)
{
    const struct fix *f = *state;
    FREE_AUTO char *away = path_of(f, "journal");
    FREE_AUTO char *journal = NULL;

    kill_spawner(start_spawner(f, keep_all));
    journal = journal_of(f);
    assert_int_equal(rename(journal, away), 0);
    assert_int_equal(symlink(away, journal), 0);
    run_leftovers(f);
    assert_true(is_there(f, "f"));
}

static void keep_thousands(struct spawner *sp, const struct fix *f)
{
    register_path(sp, f, 1, 0, "f");
    for (uint64_t i = 2; i < 5000; i++) {
        register_path(sp, f, i, 0, "g");
        spawner_clean_forget(sp, i);
    }
    register_path(sp, f, 5000, 0, "d/f");
}

static void the_file_stays_small_and_keeps_every_path(void **state)
{
    const struct fix *f = *state;
    pid_t pid = start_spawner(f, keep_thousands);
    FREE_AUTO char *journal = journal_of(f);
    struct stat st;

    assert_int_equal(stat(journal, &st), 0);
    assert_in_range(st.st_size, 1, 200000);
    kill_spawner(pid);
    run_leftovers(f);
    assert_false(is_there(f, "f"));
    assert_false(is_there(f, "d/f"));
    assert_true(is_there(f, "g"));
}

/* No new file can be opened from the first path on. */
static void keep_thousands_without_descriptors(struct spawner *sp, const struct fix *f)
{
    const struct rlimit none = {0, 0};

    register_path(sp, f, 1, 0, "f");
    setrlimit(RLIMIT_NOFILE, &none);
    keep_thousands(sp, f);
}

static void a_file_that_cannot_be_renewed_keeps_every_path(void **state)
{
    const struct fix *f = *state;

    kill_spawner(start_spawner(f, keep_thousands_without_descriptors));
    run_leftovers(f);
    assert_false(is_there(f, "f"));
    assert_false(is_there(f, "d/f"));
    assert_true(is_there(f, "g"));
}

static void without_a_file_paths_are_removed_by_the_spawner_alone(void **state)
{
    const struct fix *f = *state;
    struct spawner sp = {.sock = -1, .journal = clean_journal_create("/nonexistent", 1)};

    register_path(&sp, f, 1, 0, "f");
    spawner_clean_all(&sp);
    clean_journal_destroy(sp.journal);
    assert_false(is_there(f, "f"));
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(flags_of_a_daemon_and_impossible_paths_are_refused),
        TEST(a_file_that_others_may_write_is_not_obeyed),
        TEST(a_link_of_that_name_is_not_followed),
        TEST(the_file_of_a_living_spawner_is_left_alone),
        TEST(a_scope_that_is_done_is_not_removed_again),
        TEST(entries_that_were_changed_after_the_end_stay),
        TEST(records_before_a_damaged_one_count),
        TEST(paths_of_a_killed_spawner_are_removed_by_its_rules),
        TEST(an_orderly_end_leaves_no_file),
        TEST(the_file_stays_small_and_keeps_every_path),
        TEST(a_file_that_cannot_be_renewed_keeps_every_path),
        TEST(without_a_file_paths_are_removed_by_the_spawner_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
