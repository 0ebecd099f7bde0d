/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that writes the head's records: a volume that hangs holds no call and is given up, the
 * order stays, and the end has a bound. Here writev() waits for the test, and may fail; the bound
 * passes when the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/loop/test/clock.h"
#include "dvm/host/records/records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MIB (1u << 20)

static char dir[] = "/tmp/behind-XXXXXX";
static char path[64];
static struct loop *loop;
static struct records *records;
static unsigned failures; /* that were reported */
static struct err failure;

/* The volume. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned begun, allowed; /* writes; those that may go on */
static unsigned failing;        /* the number of the one that fails; 0: none */
static unsigned on_loop;        /* by the thread of the test */

ssize_t writev(int fd, const struct iovec *iovec, int count)
{
    bool fails;

    pthread_mutex_lock(&lock);
    begun++;
    fails = begun == failing;
    on_loop += gettid() == getpid();
    pthread_cond_broadcast(&changed);
    for (unsigned own = begun; own > allowed;)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (!fails)
        return syscall(SYS_writev, fd, iovec, count);
    errno = EDQUOT;
    return -1;
}

static bool bound_passes;
static uint64_t bound_ms; /* how long the end may wait */

static uint64_t milliseconds_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / 1000000;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict abstime)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    bound_ms = milliseconds_of(abstime) - milliseconds_of(&now);
    return bound_passes ? ETIMEDOUT : pthread_cond_wait(cond, mutex);
}

static void allow_writes(unsigned n)
{
    pthread_mutex_lock(&lock);
    allowed = n;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* All writes before have been done then. */
static void wait_for_write(unsigned n)
{
    pthread_mutex_lock(&lock);
    while (begun < n)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void on_failed(const struct err *why, void *arg)
{
    failures++;
    failure = *why;
}

/* --- helpers */

static int put_bytes(const char *text, struct err *err)
{
    return records_put(records, text, strlen(text), err);
}

static void put_text(const char *text)
{
    struct err err = {0};

    if (put_bytes(text, &err) < 0)
        fail_msg("%s", err.msg);
}

static void close_records(void)
{
    records_close(records);
    records = NULL;
}

static void assert_content(const char *want)
{
    BUF_AUTO struct buf all = {0};
    struct err err = {0};
    struct records *r = records_open(path, &all, &err);

    if (!r)
        fail_msg("%s", err.msg);
    assert_int_equal(all.len, strlen(want));
    assert_memory_equal(all.data ? (const char *)all.data : "", want, all.len);
    records_close(r);
}

static void assert_removed(void)
{
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(errno, ENOENT);
}

static void run_until_failure(void)
{
    while (!failures)
        clock_turn(loop);
}

static void *release_volume(void *arg)
{
    wait_for_write(1);
    allow_writes(UINT32_MAX);
    return NULL;
}

/* --- a volume that hangs */

static void no_call_waits_for_a_volume_that_hangs(void **state)
{
    struct err err = {0};

    put_text("one");
    wait_for_write(1);
    assert_int_equal(records_compact(records, "all", 3, &err), 0);
    assert_int_equal(records_replace(records, "new", 3, &err), 0);
    put_text("er");
    assert_true(records_there(records));
    allow_writes(UINT32_MAX);
    close_records();
    assert_content("newer");
}

static void a_volume_that_is_too_far_behind_is_given_up_and_removed_when_it_answers(void **state)
{
    FREE_AUTO char *part = xcalloc(1, MIB);
    struct err err = {0};
    unsigned n = 0;

    while (n < 32 && records_put(records, part, MIB, &err) == 0) {
        if (n++ == 0)
            wait_for_write(1);
    }
    assert_int_equal(n, RECORDS_BEHIND_BYTES / MIB + 1);
    assert_non_null(strstr(err.msg, "it is given up"));
    assert_non_null(strstr(err.msg, path));
    assert_false(records_there(records));
    assert_int_equal(put_bytes("more", &err), 0); /* nothing is written any more */
    clock_run_for(loop, 3ul * RECORDS_SILENT_MS);
    assert_int_equal(failures, 0); /* the call has returned the failure */
    assert_int_equal(access(path, F_OK), 0);
    allow_writes(UINT32_MAX);
    close_records();
    assert_int_equal(begun, 1); /* what had not begun is dropped */
    assert_removed();
}

static void a_snapshot_is_not_counted_as_bytes_that_wait(void **state)
{
    FREE_AUTO char *part = xcalloc(1, RECORDS_BEHIND_BYTES + 1);
    struct err err = {0};

    assert_int_equal(records_compact(records, part, RECORDS_BEHIND_BYTES + 1, &err), 0);
    put_text("one");
    put_text("two");
    assert_true(records_there(records));
}

static void a_volume_that_has_not_answered_in_time_is_given_up_once(void **state)
{
    struct err err = {0};

    put_text("one");
    wait_for_write(1);
    clock_run_for(loop, RECORDS_SILENT_MS - 1);
    assert_true(records_there(records));
    clock_run_for(loop, RECORDS_SILENT_MS + 1);
    assert_int_equal(failures, 1);
    assert_false(records_there(records));
    assert_false(records_full(records));
    assert_non_null(strstr(failure.msg, "no answer for 10000 ms"));
    assert_int_equal(put_bytes("two", &err), 0);
    clock_run_for(loop, 5ul * RECORDS_SILENT_MS);
    allow_writes(UINT32_MAX);
    close_records();
    assert_int_equal(failures, 1);
    assert_removed();
}

static void a_write_that_fails_after_the_volume_was_given_up_is_not_reported(void **state)
{
    failing = 1;
    put_text("one");
    wait_for_write(1);
    clock_run_for(loop, 2ul * RECORDS_SILENT_MS);
    assert_int_equal(failures, 1);
    allow_writes(UINT32_MAX);
    close_records();
    assert_int_equal(failures, 1);
    assert_removed();
}

static void bytes_that_were_written_do_not_wait(void **state)
{
    FREE_AUTO char *part = xcalloc(1, MIB);
    struct err err = {0};

    allow_writes(UINT32_MAX);
    for (unsigned n = 1; n <= RECORDS_BEHIND_BYTES / MIB + 4; n++) {
        assert_int_equal(records_put(records, part, MIB, &err), 0);
        wait_for_write(n);
    }
    assert_true(records_there(records));
}

static void a_volume_that_is_slow_but_answers_is_kept(void **state)
{
    for (unsigned n = 0; n < 6; n++)
        put_text("x");
    for (unsigned n = 1; n <= 6; n++) {
        wait_for_write(n);
        clock_run_for(loop, RECORDS_SILENT_MS - 1);
        allow_writes(n);
    }
    close_records();
    assert_int_equal(failures, 0);
    assert_content("xxxxxx");
}

static void a_volume_that_nothing_waits_for_is_not_given_up(void **state)
{
    struct err err = {0};

    failing = 2;
    allow_writes(UINT32_MAX);
    put_text("one");
    assert_int_equal(records_compact(records, "all", 3, &err), 0);
    run_until_failure(); /* nothing waits from now on */
    clock_run_for(loop, 5ul * RECORDS_SILENT_MS);
    assert_true(records_there(records));
    put_text("two");
    close_records();
    assert_int_equal(failures, 1);
    assert_content("onetwo");
}

/* --- a write that fails */

static void a_group_that_cannot_be_written_is_reported_and_the_file_is_removed(void **state)
{
    struct err err = {0};

    failing = 2;
    allow_writes(UINT32_MAX);
    put_text("one");
    put_text("two");
    put_text("three"); /* follows a gap */
    run_until_failure();
    assert_false(records_there(records));
    assert_non_null(strstr(failure.msg, "which is removed"));
    assert_non_null(strstr(failure.msg, strerror(EDQUOT)));
    assert_int_equal(put_bytes("four", &err), 0);
    close_records();
    assert_int_equal(failures, 1);
    assert_int_equal(begun, 2);
    assert_removed();
}

static void a_snapshot_after_a_group_that_was_not_written_makes_no_file(void **state)
{
    struct err err = {0};

    failing = 1;
    put_text("one");
    wait_for_write(1);
    assert_int_equal(records_compact(records, "all", 3, &err), 0);
    allow_writes(UINT32_MAX);
    run_until_failure();
    close_records();
    assert_removed();
}

static void a_snapshot_that_cannot_be_written_is_reported_and_the_groups_stay(void **state)
{
    struct err err = {0};

    failing = 2;
    allow_writes(UINT32_MAX);
    put_text("one");
    assert_int_equal(records_compact(records, "all", 3, &err), 0);
    put_text("two");
    run_until_failure();
    assert_true(records_there(records));
    assert_non_null(strstr(failure.msg, strerror(EDQUOT)));
    put_text("three");
    close_records();
    assert_int_equal(failures, 1);
    assert_content("onetwothree");
}

static void
a_first_snapshot_that_cannot_be_written_is_reported_and_the_file_is_removed(void **state)
{
    struct err err = {0};

    failing = 1;
    allow_writes(UINT32_MAX);
    assert_int_equal(records_replace(records, "all", 3, &err), 0);
    run_until_failure();
    assert_false(records_there(records));
    close_records();
    assert_removed();
}

static void a_failure_is_reported_at_the_end_too(void **state)
{
    failing = 1;
    put_text("one");
    allow_writes(UINT32_MAX);
    close_records();
    assert_int_equal(failures, 1);
    assert_removed();
}

/* --- the end */

static void the_removal_is_not_overtaken_by_a_write(void **state)
{
    struct err err = {0};

    put_text("one");
    wait_for_write(1);
    put_text("two");
    assert_int_equal(records_compact(records, "all", 3, &err), 0);
    records_remove(records);
    assert_int_equal(put_bytes("three", &err), 0);
    assert_int_equal(records_compact(records, "all", 3, &err), 0);
    assert_false(records_there(records));
    allow_writes(UINT32_MAX);
    close_records();
    assert_int_equal(begun, 1);
    assert_int_equal(failures, 0);
    assert_removed();
}

static void the_end_waits_for_what_is_not_written_yet(void **state)
{
    pthread_t other;

    put_text("one");
    put_text("two");
    put_text("three");
    assert_int_equal(pthread_create(&other, NULL, release_volume, NULL), 0);
    close_records();
    pthread_join(other, NULL);
    assert_content("onetwothree");
}

/* Runs close_records() and gives the text that was logged. */
static void close_and_read_log(char *text, size_t size)
{
    int before = dup(STDERR_FILENO), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    ssize_t n;

    assert_true(before >= 0 && file >= 0);
    dup2(file, STDERR_FILENO);
    close_records();
    dup2(before, STDERR_FILENO);
    n = pread(file, text, size - 1, 0);
    close(before);
    close(file);
    text[n > 0 ? n : 0] = '\0';
}

static void the_end_does_not_wait_long_for_a_volume_that_hangs_and_says_so_in_one_line(void **state)
{
    BUF_AUTO struct buf all = {0};
    struct records *r = NULL;
    char text[1024];

    put_text("one");
    put_text("two");
    wait_for_write(1);
    bound_passes = true;
    close_and_read_log(text, sizeof(text));
    assert_in_range(bound_ms, 1, RECORDS_END_MS);
    assert_non_null(strstr(text, "no answer for 2000 ms, writes left: 2\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    allow_writes(UINT32_MAX); /* the thread ends, closes the file and frees its memory */
    while (!r) {
        buf_free(&all);
        r = records_open(path, &all, NULL);
    }
    records_close(r);
}

/* --- */

static int make_dir(void **state)
{
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/records", dir);
    loop = loop_create(NULL);
    return loop ? 0 : -1;
}

/* A volume that hangs: no write may go on. */
static int open_volume(void **state)
{
    BUF_AUTO struct buf all = {0};

    begun = allowed = failing = failures = on_loop = 0;
    bound_passes = false;
    records = records_open(path, &all, NULL);
    return records ? records_write_behind(records, loop, on_failed, NULL, NULL) : -1;
}

static int close_volume(void **state)
{
    allow_writes(UINT32_MAX);
    close_records();
    (void)unlink(path);
    return on_loop ? -1 : 0; /* a write by the loop's thread */
}

static int remove_dir(void **state)
{
    loop_destroy(loop);
    return rmdir(dir);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_volume, close_volume)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_call_waits_for_a_volume_that_hangs),
        TEST(a_volume_that_is_too_far_behind_is_given_up_and_removed_when_it_answers),
        TEST(a_snapshot_is_not_counted_as_bytes_that_wait),
        TEST(a_volume_that_has_not_answered_in_time_is_given_up_once),
        TEST(a_write_that_fails_after_the_volume_was_given_up_is_not_reported),
        TEST(bytes_that_were_written_do_not_wait),
        TEST(a_volume_that_is_slow_but_answers_is_kept),
        TEST(a_volume_that_nothing_waits_for_is_not_given_up),
        TEST(a_group_that_cannot_be_written_is_reported_and_the_file_is_removed),
        TEST(a_snapshot_after_a_group_that_was_not_written_makes_no_file),
        TEST(a_snapshot_that_cannot_be_written_is_reported_and_the_groups_stay),
        TEST(a_first_snapshot_that_cannot_be_written_is_reported_and_the_file_is_removed),
        TEST(a_failure_is_reported_at_the_end_too),
        TEST(the_removal_is_not_overtaken_by_a_write),
        TEST(the_end_waits_for_what_is_not_written_yet),
        TEST(the_end_does_not_wait_long_for_a_volume_that_hangs_and_says_so_in_one_line),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
