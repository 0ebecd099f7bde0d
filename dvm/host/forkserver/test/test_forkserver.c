/* SPDX-License-Identifier: BSD-3-Clause */
/* Each forked process is a daemon of its own; what cannot be forked is refused first. */
#include "dvm/host/forkserver/forkserver.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FAILED 99

static char base[64];

static int setup(void **state)
{
    snprintf(base, sizeof(base), "/tmp/forkserver-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static void make_session(uint32_t vpid)
{
    FREE_AUTO char *dir = xasprintf("%s/%u", base, vpid);

    assert_int_equal(mkdir(dir, 0700), 0);
}

static void remove_session(uint32_t vpid)
{
    FREE_AUTO char *dir = xasprintf("%s/%u", base, vpid);
    FREE_AUTO char *log = xasprintf("%s/%u/" FORKSERVER_LOG, base, vpid);

    unlink(log);
    rmdir(dir);
}

static int teardown(void **state)
{
    for (uint32_t vpid = 7; vpid <= 12; vpid++)
        remove_session(vpid);
    return rmdir(base);
}

/* A member: its words, as seen through /proc, and what its streams are. */
static void show_member(char **argv, uint32_t vpid)
{
    char in[64] = "";

    if (readlink("/proc/self/fd/0", in, sizeof(in) - 1) < 0)
        _exit(FAILED);
    printf("vpid %u words %s %s %s leads %d in %s\n", vpid, argv[2], argv[4], argv[6],
           getsid(0) == getpid(), in);
    fflush(stdout);
    fprintf(stderr, "and errors\n");
    _exit((int)vpid);
}

struct words {
    char vpid[16], session[80], host[32];
    char *argv[8];
};

static void fill_words(struct words *w, uint32_t first)
{
    *w =
        (struct words){.argv = {(char *)"prted", (char *)"--vpid", w->vpid, (char *)"--session-dir",
                                w->session, (char *)"--host-name", w->host}};
    snprintf(w->vpid, sizeof(w->vpid), "%u", first);
    snprintf(w->session, sizeof(w->session), "%s/%u", base, first);
    snprintf(w->host, sizeof(w->host), "node%u", first);
}

/* Runs a server in a process of its own; it ends after its members. Returns its exit code, and
 * what it has printed. */
static int run_server(uint32_t first, uint32_t last, char *printed, size_t size)
{
    struct words w;
    int ends[2];
    int status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    fill_words(&w, first);
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        uint32_t vpid = 0;
        int rc;

        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        rc = forkserver_run(w.argv, first, last, &vpid, NULL);
        if (rc == 0)
            show_member(w.argv, vpid);
        for (int sum = rc < 0 ? FAILED : 0;; sum += WEXITSTATUS(status)) {
            if (wait(&status) < 0)
                _exit(sum);
        }
    }
    close(ends[1]);
    while ((got = read(ends[0], printed + n, size - 1 - n)) > 0)
        n += (size_t)got;
    printed[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void each_member_has_its_arguments_session_and_log(void **state)
{
    char printed[256];
    char *at = printed;

    for (uint32_t vpid = 7; vpid <= 9; vpid++)
        make_session(vpid);
    assert_int_equal(run_server(7, 9, printed, sizeof(printed)), 7 + 8 + 9);
    for (uint32_t vpid = 7; vpid <= 9; vpid++) {
        assert_int_equal(strtoul(at, &at, 10), vpid);
        assert_true(strtol(at, &at, 10) > 0);
        assert_int_equal(*at++, '\n');
    }
    for (uint32_t vpid = 7; vpid <= 9; vpid++) {
        FREE_AUTO char *log = xasprintf("%s/%u/" FORKSERVER_LOG, base, vpid);
        FREE_AUTO char *expected =
            xasprintf("vpid %u words %u %s/%u node%u leads 1 in /dev/null\nand errors\n", vpid,
                      vpid, base, vpid, vpid);
        char text[512] = "";
        FILE *f = fopen(log, "re");

        assert_non_null(f);
        assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
        fclose(f);
        assert_string_equal(text, expected);
    }
}

static void numbers_of_several_digits_are_replaced_as_a_whole(void **state)
{
    char printed[256];

    for (uint32_t vpid = 10; vpid <= 11; vpid++)
        make_session(vpid);
    assert_int_equal(run_server(10, 11, printed, sizeof(printed)), 10 + 11);
}

static void a_member_without_a_session_directory_fails_and_others_go_on(void **state)
{
    char printed[256];

    make_session(7);
    make_session(9);
    assert_int_equal(run_server(7, 9, printed, sizeof(printed)), 7 + FAILED + 9);
}

static void assert_refused(uint32_t first, uint32_t last, char **argv, const char *why)
{
    struct err err = {0};
    uint32_t vpid;

    assert_int_equal(forkserver_run(argv, first, last, &vpid, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void ranges_and_options_that_do_not_fit_are_refused(void **state)
{
    struct words w;

    fill_words(&w, 9);
    assert_refused(9, 10, w.argv, "numbers of one length");
    assert_refused(9, 8, w.argv, "in order");
    assert_refused(8, 8, w.argv, "--vpid");
    snprintf(w.host, sizeof(w.host), "node19");
    assert_refused(9, 9, w.argv, "--host-name");
    fill_words(&w, 9);
    snprintf(w.session, sizeof(w.session), "/9/");
    assert_refused(9, 9, w.argv, "--session-dir");
    fill_words(&w, 9);
    w.argv[5] = NULL;
    assert_refused(9, 9, w.argv, "--host-name");
}

static void a_server_starts_numbers_of_one_length(void **state)
{
    assert_int_equal(forkserver_last(1, 1), 1);
    assert_int_equal(forkserver_last(1, 64), 9);
    assert_int_equal(forkserver_last(10, 64), 64);
    assert_int_equal(forkserver_last(99, 1048575), 99);
    assert_int_equal(forkserver_last(100000, 1048575), 999999);
    assert_int_equal(forkserver_last(1000000, 1048575), 1048575);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ranges_and_options_that_do_not_fit_are_refused),
        TEST(a_member_without_a_session_directory_fails_and_others_go_on),
        TEST(each_member_has_its_arguments_session_and_log),
        TEST(numbers_of_several_digits_are_replaced_as_a_whole),
        TEST(a_server_starts_numbers_of_one_length),
    };

    return cmocka_run_group_tests_name("forkserver", tests, NULL, NULL);
}
