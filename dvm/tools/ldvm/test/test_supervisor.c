/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the supervisor of a local DVM's head; shell scripts stand for prted. */
#include "base/buf/buf.h"
#include "dvm/tools/ldvm/procs.h"
#include "dvm/tools/ldvm/supervisor.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    char base[64];
    struct ldvm l;
    struct procs *p;
    char *says; /* a FIFO: a head writes a line when it has started */
    char *gate; /* a FIFO: a head ends with the exit code that it reads there */
    FILE *from;
    int to;
};

static void write_text(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void write_session(struct world *w, const char *name, const char *text)
{
    FREE_AUTO char *path = ldvm_path(w->l.dir, 0, name);

    write_text(path, text, 0600);
}

static void make_dvm(struct world *w)
{
    int lock = ldvm_lock(w->l.dir, NULL);
    FREE_AUTO char *script =
        xasprintf("#!/bin/sh\necho \"$@\" > %s\nread code < %s\nexit $code\n", w->says, w->gate);

    assert_true(lock >= 0);
    assert_int_equal(ldvm_make(&w->l, NULL), 0);
    close(lock);
    write_text(w->l.prted, script, 0700);
    assert_int_equal(mkfifo(w->says, 0600), 0);
    assert_int_equal(mkfifo(w->gate, 0600), 0);
    w->from = fdopen(open(w->says, O_RDWR | O_CLOEXEC), "r"); /* no end between two heads */
    w->to = open(w->gate, O_RDWR | O_CLOEXEC);
    assert_non_null(w->from);
    assert_true(w->to >= 0);
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));

    snprintf(w->base, sizeof(w->base), "/tmp/ldvm-test-XXXXXX");
    assert_non_null(mkdtemp(w->base));
    w->l = (struct ldvm){.dir = xasprintf("%s/d", w->base),
                         .cluster = xstrdup("local/d"),
                         .prted = xasprintf("%s/prted", w->base),
                         .radix = 4,
                         .faults = {2500, 7000, 15000}};
    w->says = xasprintf("%s/says", w->base);
    w->gate = xasprintf("%s/gate", w->base);
    w->p = procs_create(false, NULL);
    make_dvm(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    pid_t head = ldvm_pid(w->l.dir, 0); /* it may not have opened its gate yet */

    procs_kill(w->p, SIGKILL);
    if (head)
        kill(head, SIGKILL);
    fclose(w->from);
    close(w->to);
    procs_destroy(w->p);
    assert_int_equal(ldvm_remove(w->l.dir, NULL), 0);
    unlink(w->l.prted);
    unlink(w->says);
    unlink(w->gate);
    rmdir(w->base);
    ldvm_free(&w->l);
    free(w->says);
    free(w->gate);
    free(w);
    return 0;
}

/* The command line of a head that has started. */
static char *next_head(struct world *w)
{
    char *line = xcalloc(1, 4096);

    assert_non_null(fgets(line, 4096, w->from));
    return line;
}

/* A head at chosen ports, with records, and its supervisor. */
static pid_t start_supervised(struct world *w)
{
    const struct ldvm_ports ports = {11, 22, 33};
    pid_t pid;

    assert_int_equal(procs_start(w->p, &w->l, 0, 5, &ports, NULL), 0);
    write_session(w, "ports.json", "{\"control\": 11, \"join\": 22, \"plain\": 33}");
    write_session(w, "records", "x");
    pid = supervisor_start(&w->l, 5, NULL);
    assert_true(pid > 0);
    assert_int_equal(ldvm_supervisor(w->l.dir), pid);
    return pid;
}

static void end_head(struct world *w, const char *code)
{
    assert_int_equal(write(w->to, code, strlen(code)), (ssize_t)strlen(code));
}

static void await_supervisor(struct world *w, pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(ldvm_supervisor(w->l.dir), 0);
}

static char *read_log(struct world *w)
{
    FREE_AUTO char *path = ldvm_path(w->l.dir, 0, "prted.log");
    char *text = xcalloc(1, 8192);
    FILE *f = fopen(path, "re");

    assert_non_null(f);
    assert_true(fread(text, 1, 8191, f) > 0);
    fclose(f);
    return text;
}

/* --- how often */

static void too_many_restarts_in_a_row_are_refused(void **state)
{
    struct restarts r = {0};

    for (unsigned i = 0; i < SUPERVISOR_RESTARTS_MAX; i++)
        assert_true(supervisor_pause_ms(&r, 100, 7) >= 0);
    assert_int_equal(supervisor_pause_ms(&r, 100, 7), -1);
    assert_int_equal(supervisor_pause_ms(&r, SUPERVISOR_STEADY_MS - 1, 7), -1);
}

static void a_head_that_has_lived_long_is_started_at_once_again(void **state)
{
    struct restarts r = {0};

    for (unsigned i = 0; i < SUPERVISOR_RESTARTS_MAX; i++)
        (void)supervisor_pause_ms(&r, 100, 7);
    assert_int_equal(supervisor_pause_ms(&r, SUPERVISOR_STEADY_MS, 7), 0);
    assert_true(supervisor_pause_ms(&r, 100, 7) > 0);
}

static void pauses_grow(void **state)
{
    struct restarts r = {0};
    int last = supervisor_pause_ms(&r, 100, 0);

    assert_int_equal(last, 0);
    for (unsigned i = 1; i < SUPERVISOR_RESTARTS_MAX; i++) {
        int pause = supervisor_pause_ms(&r, 100, 0);

        assert_true(pause > last);
        last = pause;
    }
}

/* --- the process */

static void a_head_without_records_is_not_started_again(void **state)
{
    struct world *w = *state;
    pid_t pid = start_supervised(w);
    FREE_AUTO char *first = next_head(w);
    FREE_AUTO char *records = ldvm_path(w->l.dir, 0, "records");

    unlink(records); /* as a head does in its orderly end */
    end_head(w, "0\n");
    await_supervisor(w, pid);
}

static void a_killed_head_is_started_again_with_its_arguments_and_ports(void **state)
{
    struct world *w = *state;
    pid_t pid = start_supervised(w);
    FREE_AUTO char *first = next_head(w);
    FREE_AUTO char *second = NULL;
    pid_t head = ldvm_pid(w->l.dir, 0);

    procs_kill(w->p, SIGKILL);
    second = next_head(w);
    assert_string_equal(second, first);
    assert_non_null(
        strstr(second, "--control-port 11 --keep-records --join-port 22 --plain-port 33"));
    kill(pid, SIGTERM);
    await_supervisor(w, pid); /* it has written the second one down */
    assert_int_not_equal(ldvm_pid(w->l.dir, 0), 0);
    assert_int_not_equal(ldvm_pid(w->l.dir, 0), head);
    end_head(w, "0\n");
}

static void after_its_signal_the_supervisor_starts_no_head(void **state)
{
    struct world *w = *state;
    pid_t pid = start_supervised(w);
    FREE_AUTO char *first = next_head(w);
    struct procs_event e;

    kill(pid, SIGTERM);
    await_supervisor(w, pid);
    end_head(w, "1\n");
    assert_int_equal(procs_next(w->p, -1, &e, NULL), 0);
    assert_int_equal(ldvm_pid(w->l.dir, 0), 0);
}

static void a_directory_with_a_supervisor_is_in_use(void **state)
{
    struct world *w = *state;
    pid_t pid = start_supervised(w);
    FREE_AUTO char *first = next_head(w);
    FREE_AUTO char *file = ldvm_path(w->l.dir, 0, "pid");
    struct err err = {0};

    unlink(file); /* no daemon is found */
    assert_int_equal(ldvm_make(&w->l, &err), -1);
    assert_non_null(strstr(err.msg, "runs in"));
    kill(pid, SIGTERM);
    await_supervisor(w, pid);
    end_head(w, "0\n");
}

static void a_head_that_ends_again_and_again_is_given_up(void **state)
{
    struct world *w = *state;
    pid_t pid = start_supervised(w);
    FREE_AUTO char *log = NULL;

    for (unsigned i = 0; i <= SUPERVISOR_RESTARTS_MAX; i++) {
        FREE_AUTO char *line = next_head(w);

        end_head(w, "3\n");
    }
    await_supervisor(w, pid);
    log = read_log(w);
    assert_non_null(
        strstr(log, "the head ended with exit code 3; it is not started again after 6"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_restarts_in_a_row_are_refused),
        cmocka_unit_test(a_head_that_has_lived_long_is_started_at_once_again),
        cmocka_unit_test(pauses_grow),
        T(a_head_without_records_is_not_started_again),
        T(a_killed_head_is_started_again_with_its_arguments_and_ports),
        T(after_its_signal_the_supervisor_starts_no_head),
        T(a_directory_with_a_supervisor_is_in_use),
        T(a_head_that_ends_again_and_again_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
