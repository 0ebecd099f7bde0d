/* SPDX-License-Identifier: BSD-3-Clause */
/* The spawner's cleaners: their number, their time limit, and the scopes that wait. The clock is
 * the test's. A child that removes is stopped at its first instruction, so the test decides how
 * long it takes. */
#include "dvm/host/spawner/clean_journal.h"
#include "dvm/host/spawner/remove.h"
#include "dvm/host/spawner/spawn_sock.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SCOPES (SPAWNER_CLEANERS_MAX + 2)

static bool stop_children;

static void on_child(void)
{
    if (stop_children)
        raise(SIGSTOP);
}

struct fix {
    struct spawner sp;
    int daemon; /* the other end of its socket */
    char dir[32];
};

static char *file_of(const struct fix *f, unsigned i)
{
    return xasprintf("%s/f%u", f->dir, i);
}

static bool is_there(const struct fix *f, unsigned i)
{
    FREE_AUTO char *path = file_of(f, i);

    return access(path, F_OK) == 0;
}

/* Scope i + 1 has one file. */
static int setup(void **state)
{
    struct fix *f = xcalloc(1, sizeof(*f));
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
                     0);
    f->sp.journal = clean_journal_create("", 0);
    f->sp.sock = pair[0];
    f->daemon = pair[1];
    snprintf(f->dir, sizeof(f->dir), "/tmp/test_clean.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    for (unsigned i = 0; i < SCOPES; i++) {
        FREE_AUTO char *path = file_of(f, i);

        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        spawner_clean_add(&f->sp, i + 1, 0, path);
    }
    stop_children = true;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;

    stop_children = false;
    spawner_clean_all(&f->sp);
    clean_journal_destroy(f->sp.journal);
    close(f->sp.sock);
    close(f->daemon);
    rmdir(f->dir);
    free(f);
    return 0;
}

/* The status that was reported for a scope; -1: none was reported. */
static int told(const struct fix *f, uint64_t *scope)
{
    uint8_t data[SPAWN_MSG_MAX];
    int fds[SPAWN_FD_COUNT];
    struct spawn_rep r;
    struct cur in;
    size_t len;

    if (spawn_sock_recv(f->daemon, data, &len, fds, NULL) != SPAWN_SOCK_OK)
        return -1;
    in = cur_of(data, len);
    assert_int_equal(spawn_msg_rep_decode(&in, &r, NULL), 0);
    assert_int_equal(r.kind, SPAWN_REP_CLEANED);
    *scope = r.id;
    return r.value;
}

/* Waits for the next child that stops or ends. */
static pid_t next_child(struct fix *f, int *status)
{
    pid_t pid = waitpid(-1, status, WUNTRACED);

    assert_true(pid > 0);
    if (!WIFSTOPPED(*status))
        assert_true(spawner_clean_reaped(&f->sp, pid, *status));
    return pid;
}

static void run_all(struct fix *f, pid_t pids[SPAWNER_CLEANERS_MAX])
{
    int status;

    for (unsigned i = 0; i < SCOPES; i++)
        spawner_clean_run(&f->sp, i + 1);
    for (unsigned i = 0; i < SPAWNER_CLEANERS_MAX; i++) {
        pids[i] = next_child(f, &status);
        assert_true(WIFSTOPPED(status));
    }
}

static void cleanups_beyond_four_wait_for_their_turn(void **state)
{
    struct fix *f = *state;
    pid_t pids[SPAWNER_CLEANERS_MAX];
    uint64_t scope;
    int status;

    run_all(f, pids);
    assert_int_equal(f->sp.ncleaners, SPAWNER_CLEANERS_MAX);
    spawner_clean_turn(&f->sp, spawner_now_ms());
    assert_int_equal(f->sp.ncleaners, SPAWNER_CLEANERS_MAX);
    for (unsigned i = 0; i < SCOPES; i++)
        assert_true(is_there(f, i));

    stop_children = false;
    kill(pids[0], SIGCONT);
    assert_int_equal(next_child(f, &status), pids[0]);
    assert_true(spawner_clean_report(&f->sp));
    assert_int_equal(told(f, &scope), 0);
    assert_false(is_there(f, (unsigned)scope - 1));
    assert_int_equal(told(f, &scope), -1);
    /* The two scopes that waited take the free place one after the other. */
    for (unsigned i = 0; i < 2; i++) {
        spawner_clean_turn(&f->sp, spawner_now_ms());
        assert_int_equal(f->sp.ncleaners, SPAWNER_CLEANERS_MAX);
        next_child(f, &status);
        assert_true(spawner_clean_report(&f->sp));
        assert_int_equal(told(f, &scope), 0);
        assert_false(is_there(f, (unsigned)scope - 1));
    }
    for (unsigned i = 1; i < SPAWNER_CLEANERS_MAX; i++) {
        kill(pids[i], SIGCONT);
        next_child(f, &status);
    }
    for (unsigned i = 0; i < SCOPES; i++)
        assert_false(is_there(f, i));
}

static void a_cleanup_that_takes_too_long_is_ended_and_reported_and_others_go_on(void **state)
{
    struct fix *f = *state;
    pid_t pids[SPAWNER_CLEANERS_MAX];
    uint64_t now_ms = spawner_now_ms();
    uint64_t scope;
    int status;

    run_all(f, pids);
    assert_in_range(spawner_clean_wait(&f->sp, now_ms), 1, SPAWNER_CLEAN_MS + 1000);
    spawner_clean_turn(&f->sp, now_ms + SPAWNER_CLEAN_MS / 2);
    assert_int_equal(waitpid(-1, &status, WNOHANG), 0);

    stop_children = false;
    now_ms = spawner_now_ms() + SPAWNER_CLEAN_MS;
    assert_int_equal(spawner_clean_wait(&f->sp, now_ms), 0);
    spawner_clean_turn(&f->sp, now_ms);
    for (unsigned i = 0; i < SPAWNER_CLEANERS_MAX; i++) {
        next_child(f, &status);
        assert_true(WIFSIGNALED(status));
    }
    spawner_clean_turn(&f->sp, now_ms);
    for (unsigned i = 0; i < 2; i++) {
        next_child(f, &status);
        assert_int_equal(status, 0);
    }
    assert_true(spawner_clean_report(&f->sp));
    for (unsigned i = 0; i < SCOPES; i++) {
        int rc = told(f, &scope);

        assert_int_equal(rc, scope <= SPAWNER_CLEANERS_MAX ? ETIMEDOUT : 0);
        assert_int_equal(is_there(f, (unsigned)scope - 1), rc != 0);
        if (rc != 0) {
            FREE_AUTO char *path = file_of(f, (unsigned)scope - 1);

            unlink(path);
        }
    }
    assert_int_equal(f->sp.nclean, 0);
    assert_int_equal(spawner_clean_wait(&f->sp, now_ms), -1);
}

/* The kernel kills the child when the daemon ends in the middle of a cleanup. */
static void a_cleaner_killed_by_another_process_is_started_again(void **state)
{
    struct fix *f = *state;
    uint64_t scope;
    int status;

    spawner_clean_run(&f->sp, 1);
    kill(next_child(f, &status), SIGKILL);
    next_child(f, &status);
    assert_true(spawner_clean_report(&f->sp));
    assert_int_equal(told(f, &scope), -1);
    stop_children = false;
    spawner_clean_turn(&f->sp, spawner_now_ms());
    next_child(f, &status);
    assert_true(spawner_clean_report(&f->sp));
    assert_int_equal(told(f, &scope), 0);
    assert_int_equal(scope, 1);
    assert_false(is_there(f, 0));
}

static void a_cleanup_in_progress_when_the_daemon_ends_is_completed(void **state)
{
    struct fix *f = *state;
    pid_t pids[SPAWNER_CLEANERS_MAX];
    int status;

    run_all(f, pids);
    for (unsigned i = 0; i < SPAWNER_CLEANERS_MAX; i++) {
        kill(pids[i], SIGKILL);
        next_child(f, &status);
    }
    spawner_clean_all(&f->sp);
    for (unsigned i = 0; i < SCOPES; i++)
        assert_false(is_there(f, i));
    assert_int_equal(f->sp.nclean, 0);
    assert_int_equal(f->sp.ncleaners, 0);
}

static void more_paths_than_the_limit_are_not_kept(void **state)
{
    struct fix *f = *state;

    f->sp.nclean += SPAWNER_CLEAN_MAX;
    spawner_clean_add(&f->sp, 1, 0, "/one/more");
    f->sp.nclean -= SPAWNER_CLEAN_MAX;
    assert_int_equal(f->sp.nclean, SCOPES);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(cleanups_beyond_four_wait_for_their_turn),
        TEST(a_cleanup_that_takes_too_long_is_ended_and_reported_and_others_go_on),
        TEST(a_cleaner_killed_by_another_process_is_started_again),
        TEST(a_cleanup_in_progress_when_the_daemon_ends_is_completed),
        TEST(more_paths_than_the_limit_are_not_kept),
    };

    alarm(60);
    if (pthread_atfork(NULL, NULL, on_child) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
