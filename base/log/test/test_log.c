/* SPDX-License-Identifier: BSD-3-Clause */
/* The logger, with standard error redirected to a pipe or a full disk. */
#include "base/log/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT_MAX 65536

struct fixture {
    int saved; /* the real standard error */
    int reader;
    int writer;
    char text[TEXT_MAX];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int ends[2];

    if (!f || pipe(ends) < 0)
        return -1;
    f->saved = dup(STDERR_FILENO);
    f->reader = ends[0];
    f->writer = ends[1];
    dup2(f->writer, STDERR_FILENO);
    log_init("tester", LOG_LEVEL_DEBUG);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    dup2(f->saved, STDERR_FILENO);
    close(f->saved);
    close(f->reader);
    if (f->writer >= 0)
        close(f->writer);
    free(f);
    return 0;
}

static void stderr_to(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND);

    assert_true(fd >= 0);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

static void stderr_to_pipe(const struct fixture *f)
{
    dup2(f->writer, STDERR_FILENO);
}

/* Everything that was logged; standard error is the real one again. */
static const char *logged(struct fixture *f)
{
    size_t len = 0;
    ssize_t n;

    dup2(f->saved, STDERR_FILENO);
    close(f->writer);
    f->writer = -1;
    while ((n = read(f->reader, f->text + len, sizeof(f->text) - 1 - len)) > 0)
        len += (size_t)n;
    return f->text;
}

/* The record without its time. */
static const char *after_time(const char *record)
{
    const char *end = strchr(record, 'Z');

    assert_true(strlen(record) > 25);
    assert_int_equal(record[10], 'T');
    assert_true(end == record + 23 || end == record + 26);
    return end + 2;
}

static void records_lost_to_a_full_disk_are_counted_and_reported_later(void **state)
{
    struct fixture *f = *state;
    unsigned long before = log_lost();
    const char *text;

    stderr_to("/dev/full");
    log_error("lost 1");
    log_error("lost 2");
    stderr_to_pipe(f);
    assert_int_equal(log_lost() - before, 2);
    log_error("kept");
    text = after_time(logged(f));
    assert_non_null(strstr(text, "warn tester: records lost before this one count=2\n"));
    assert_non_null(strstr(text, "error tester: kept\n"));
    assert_null(strstr(text, "lost 1"));
}

static void a_program_without_a_name_for_the_log_is_named_as_it_was_started(void **state)
{
    struct fixture *f = *state;

    log_init(NULL, LOG_LEVEL_INFO);
    log_error("kept");
    assert_string_equal(after_time(logged(f)), "error test_log: kept\n");
}

static void a_loss_of_records_is_reported_once(void **state)
{
    struct fixture *f = *state;
    const char *first;

    stderr_to("/dev/full");
    log_error("lost");
    stderr_to_pipe(f);
    log_error("one");
    log_error("two");
    first = strstr(logged(f), "records lost");
    assert_non_null(first);
    assert_null(strstr(first + 1, "records lost"));
}

static void a_full_pipe_that_does_not_block_loses_records(void **state)
{
    struct fixture *f = *state;
    unsigned long before = log_lost();

    fcntl(f->writer, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 5000; i++)
        log_error("a record of some length, so that the pipe is full soon");
    assert_true(log_lost() > before);
    logged(f);
    stderr_to("/dev/null");
    log_error("tells of the losses, so that no other test sees them");
}

static void a_long_record_is_cut_to_4096_bytes(void **state)
{
    struct fixture *f = *state;
    static char text[10000];
    const char *record;

    memset(text, 'x', sizeof(text) - 1);
    log_error("%s", text);
    record = logged(f);
    assert_int_equal(strlen(record), 4096);
    assert_string_equal(record + 4096 - 5, "x...\n");
}

static void an_escape_is_not_cut_in_two(void **state)
{
    struct fixture *f = *state;
    static char text[10000];
    const char *record;
    size_t len;

    memset(text, 1, sizeof(text) - 1);
    log_error("%s", text);
    record = logged(f);
    len = strlen(record);
    assert_in_range(len, 4090, 4096);
    assert_string_equal(record + len - 8, "\\x01...\n");
}

static void control_characters_are_escaped(void **state)
{
    struct fixture *f = *state;

    log_error("a\nb\rc\033[1md\177");
    assert_string_equal(after_time(logged(f)), "error tester: a\\nb\\x0dc\\x1b[1md\\x7f\n");
}

static void a_terminals_8_bit_controls_are_escaped(void **state)
{
    struct fixture *f = *state;

    log_error("a\x9b"
              "1m\xc2\x9b"
              "1m");
    assert_string_equal(after_time(logged(f)), "error tester: a\\x9b1m\\xc2\\x9b1m\n");
}

static void text_that_is_no_utf8_is_escaped(void **state)
{
    struct fixture *f = *state;

    log_error("%s", "\xff \xc0\xaf \xe2\x82 \xed\xa0\x80 \xf4\x90\x80\x80");
    assert_string_equal(after_time(logged(f)), "error tester: \\xff \\xc0\\xaf \\xe2\\x82 "
                                               "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80\n");
}

static void utf8_passes(void **state)
{
    struct fixture *f = *state;

    log_error("%s", "M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x90\xa7");
    assert_string_equal(after_time(logged(f)),
                        "error tester: M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x90\xa7\n");
}

static void an_unknown_level_is_refused(void **state)
{
    enum log_level level = LOG_LEVEL_WARN;

    assert_int_equal(log_level_parse("loud", &level), -1);
    assert_int_equal(log_level_parse("", &level), -1);
    assert_int_equal(log_level_parse("Error", &level), -1);
    assert_int_equal(level, LOG_LEVEL_WARN);
}

static void every_level_is_known(void **state)
{
    enum log_level level = LOG_LEVEL_DEBUG;

    assert_int_equal(log_level_parse("error", &level), 0);
    assert_int_equal(level, LOG_LEVEL_ERROR);
    assert_int_equal(log_level_parse("warn", &level), 0);
    assert_int_equal(level, LOG_LEVEL_WARN);
    assert_int_equal(log_level_parse("info", &level), 0);
    assert_int_equal(level, LOG_LEVEL_INFO);
    assert_int_equal(log_level_parse("debug", &level), 0);
    assert_int_equal(level, LOG_LEVEL_DEBUG);
}

static void records_above_the_level_are_dropped(void **state)
{
    struct fixture *f = *state;
    const char *text;

    log_init("tester", LOG_LEVEL_WARN);
    log_debug("d");
    log_info("i");
    log_warn("w");
    log_error("e");
    text = logged(f);
    assert_null(strstr(text, "tester: d"));
    assert_null(strstr(text, "tester: i"));
    assert_non_null(strstr(text, "warn tester: w\n"));
    assert_non_null(strstr(text, "error tester: e\n"));
}

static void debug_records_have_microseconds(void **state)
{
    struct fixture *f = *state;
    const char *text;

    log_init("tester", LOG_LEVEL_DEBUG);
    log_debug("d");
    text = logged(f);
    assert_int_equal(strcspn(strchr(text, '.') + 1, "Z"), 6);
}

static void *write_many(void *arg)
{
    for (int i = 0; i < 100; i++)
        log_info("%s", (const char *)arg);
    return NULL;
}

static void records_of_two_threads_do_not_mix(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[2];
    char *line;
    char *rest;
    int lines = 0;

    pthread_create(&threads[0], NULL, write_many, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    pthread_create(&threads[1], NULL, write_many, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    logged(f);
    for (line = strtok_r(f->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *text = after_time(line) + strlen("info tester: ");

        assert_int_equal(strspn(text, "a") + strspn(text, "b"), 32);
        lines++;
    }
    assert_int_equal(lines, 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_lost_to_a_full_disk_are_counted_and_reported_later),
        TEST(a_program_without_a_name_for_the_log_is_named_as_it_was_started),
        TEST(a_loss_of_records_is_reported_once),
        TEST(a_full_pipe_that_does_not_block_loses_records),
        TEST(a_long_record_is_cut_to_4096_bytes),
        TEST(an_escape_is_not_cut_in_two),
        TEST(control_characters_are_escaped),
        TEST(a_terminals_8_bit_controls_are_escaped),
        TEST(text_that_is_no_utf8_is_escaped),
        TEST(utf8_passes),
        TEST(an_unknown_level_is_refused),
        TEST(every_level_is_known),
        TEST(records_above_the_level_are_dropped),
        TEST(debug_records_have_microseconds),
        TEST(records_of_two_threads_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
