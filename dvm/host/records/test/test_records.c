/* SPDX-License-Identifier: BSD-3-Clause */
/* The file with the head's records: whole groups come back, damage is cut off, one head has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/host/records/records.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/records-XXXXXX";
#define TMP_BYTES 80

static char path[64];

static struct records *open_file(struct buf *all)
{
    struct err err = {0};
    struct records *r = records_open(path, all, &err);

    if (!r)
        fail_msg("%s", err.msg);
    return r;
}

static void put(struct records *r, const char *text)
{
    struct err err = {0};

    if (records_put(r, text, strlen(text), &err) < 0)
        fail_msg("%s", err.msg);
}

static void assert_content(const char *want)
{
    BUF_AUTO struct buf all = {0};
    struct records *r = open_file(&all);

    assert_int_equal(all.len, strlen(want));
    assert_memory_equal(all.data ? (const char *)all.data : "", want, all.len);
    records_close(r);
}

static void fill_file(const char *first, const char *second)
{
    BUF_AUTO struct buf all = {0};
    struct records *r = open_file(&all);
    struct err err = {0};

    assert_int_equal(records_begin(r, &err), 0);
    put(r, first);
    put(r, second);
    records_close(r);
}

static off_t size_of_file(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void groups_come_back_in_their_order(void **state)
{
    fill_file("one", "two");
    assert_content("onetwo");
}

static void a_group_that_was_cut_is_not_there(void **state)
{
    fill_file("one", "two");
    for (off_t len = size_of_file() - 1; len > 11; len--) {
        assert_int_equal(truncate(path, len), 0);
        assert_content("one");
        assert_int_equal(size_of_file(), 11); /* and it is gone from the file */
        fill_file("one", "two");
    }
}

static void a_group_with_a_wrong_byte_ends_the_records(void **state)
{
    BUF_AUTO struct buf all = {0};
    struct records *r;
    FILE *f;

    fill_file("one", "two");
    f = fopen(path, "r+");
    assert_non_null(f);
    fseek(f, -1, SEEK_END);
    fputc('x', f);
    fclose(f);
    r = open_file(&all);
    assert_int_equal(all.len, 3);
    put(r, "three"); /* it follows the last good one */
    records_close(r);
    assert_content("onethree");
}

static void one_head_has_the_file(void **state)
{
    BUF_AUTO struct buf all = {0};
    BUF_AUTO struct buf none = {0};
    struct records *r = open_file(&all);
    struct err err = {0};

    assert_null(records_open(path, &none, &err));
    assert_non_null(strstr(err.msg, "another head has it"));
    records_close(r);
    assert_content((const char[]){0});
}

static void a_snapshot_replaces_all_and_keeps_the_lock(void **state)
{
    BUF_AUTO struct buf all = {0};
    BUF_AUTO struct buf none = {0};
    struct records *r = open_file(&all);
    struct err err = {0};

    put(r, "old");
    assert_int_equal(records_compact(r, "new", 3, &err), 0);
    put(r, "er");
    assert_null(records_open(path, &none, &err));
    records_close(r);
    assert_content("newer");
}

static void a_write_that_fails_removes_the_file(void **state)
{
    BUF_AUTO struct buf all = {0};
    struct records *r = open_file(&all);
    struct rlimit no = {16, 16}, before;
    struct err err = {0};

    signal(SIGXFSZ, SIG_IGN);
    put(r, "one");
    assert_true(records_there(r));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    no.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &no), 0);
    errno = EEXIST; /* of an earlier failure; a write that is cut sets none */
    assert_int_equal(records_put(r, "0123456789", 10, &err), -1);
    assert_non_null(strstr(err.msg, strerror(ENOSPC)));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(err.msg, "which is removed"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(records_put(r, "more", 4, &err), 0); /* nothing is written any more */
    assert_false(records_there(r));
    assert_false(records_full(r));
    records_close(r);
}

/* A directory stands where a snapshot is written. */
static void block_snapshots(char tmp[TMP_BYTES])
{
    snprintf(tmp, TMP_BYTES, "%s.tmp", path);
    assert_int_equal(mkdir(tmp, 0700), 0);
}

static void a_snapshot_that_cannot_be_written_leaves_the_groups(void **state)
{
    BUF_AUTO struct buf all = {0};
    struct records *r = open_file(&all);
    struct err err = {0};
    char tmp[TMP_BYTES];

    block_snapshots(tmp);
    put(r, "one");
    assert_int_equal(records_compact(r, "all", 3, &err), -1);
    assert_non_null(strstr(err.msg, tmp));
    assert_true(records_there(r));
    put(r, "two");
    records_close(r);
    assert_int_equal(rmdir(tmp), 0);
    assert_content("onetwo");
}

static void a_first_snapshot_that_cannot_be_written_removes_the_file(void **state)
{
    BUF_AUTO struct buf all = {0};
    struct records *r = open_file(&all);
    struct err err = {0};
    char tmp[TMP_BYTES];

    block_snapshots(tmp);
    put(r, "older");
    assert_int_equal(records_replace(r, "all", 3, &err), -1);
    assert_non_null(strstr(err.msg, tmp));
    assert_false(records_there(r));
    assert_int_equal(access(path, F_OK), -1);
    records_close(r);
    assert_int_equal(rmdir(tmp), 0);
}

static int make_dir(void **state)
{
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/records", dir);
    return 0;
}

static int remove_file(void **state)
{
    (void)unlink(path);
    return 0;
}

static int remove_dir(void **state)
{
    return rmdir(dir);
}

#define TEST(f) cmocka_unit_test_teardown(f, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_come_back_in_their_order),
        TEST(a_group_that_was_cut_is_not_there),
        TEST(a_group_with_a_wrong_byte_ends_the_records),
        TEST(one_head_has_the_file),
        TEST(a_snapshot_replaces_all_and_keeps_the_lock),
        TEST(a_write_that_fails_removes_the_file),
        TEST(a_snapshot_that_cannot_be_written_leaves_the_groups),
        TEST(a_first_snapshot_that_cannot_be_written_removes_the_file),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
