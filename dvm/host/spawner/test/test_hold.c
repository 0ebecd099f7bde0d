/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that stop at their exec: seen in /proc, debugged by a process that is not their parent,
 * continued, ended. */
#include "dvm/host/spawner/test/command.h"

#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cmocka.h>

/* A held rank: its pid, and the reading end of its output. */
static pid_t start_held(int sock, const struct start *s, int *out)
{
    pid_t pid;

    *out = start(sock, s);
    pid = expect(sock, SPAWN_REP_STARTED, s->id).value;
    expect(sock, SPAWN_REP_HELD, s->id);
    return pid;
}

static char state_of(pid_t pid)
{
    struct proc_stat st;

    CHECK(proc_tree_stat(pid, &st));
    return st.state;
}

static bool cond_stopped(const void *arg)
{
    return state_of(*(const pid_t *)arg) == 'T';
}

static bool runs_program(pid_t pid, const char *name)
{
    FREE_AUTO char *link = xasprintf("/proc/%d/exe", (int)pid);
    char to[256] = "";

    CHECK(readlink(link, to, sizeof(to) - 1) > 0);
    return strcmp(strrchr(to, '/') + 1, name) == 0;
}

/* By a process that is no ancestor of it, which detaches and leaves it stopped. */
static void debug_it(pid_t pid)
{
    struct user_regs_struct regs = {0};
    int status;

    CHECK(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0);
    CHECK(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0);
    CHECK(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
    CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0 && regs.rip != 0);
    CHECK(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
    CHECK(eventually(cond_stopped, &pid)); /* on its way back from the exec */
}

static int body_held(int sock, void *arg)
{
    int in[2]; /* it still runs after its first instructions */
    struct start s = {.id = 777,
                      .job = 7,
                      .argv = (const char *const[]){"cat", NULL},
                      .input = &in[0],
                      .flags = SPAWN_START_HELD | SPAWN_START_TRACEABLE};
    char text[16];
    int out;
    pid_t pid;

    CHECK(pipe2(in, O_CLOEXEC) == 0);
    pid = start_held(sock, &s, &out);
    CHECK(state_of(pid) == 'T');
    CHECK(runs_program(pid, "cat")); /* after the exec, not before it */
    debug_it(pid);
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = s.id, .signum = SIGCONT},
             NULL, 0);
    expect(sock, SPAWN_REP_GOES_ON, s.id);
    CHECK(write(in[1], "x", 1) == 1 && close(in[1]) == 0);
    read_all(out, text, sizeof(text));
    CHECK(strcmp(text, "x") == 0);
    CHECK(expect(sock, SPAWN_REP_EXITED, s.id).value == 0);
    return 0;
}

static void a_rank_stopped_after_its_exec_can_be_debugged_and_continued(void **state)
{
    assert_int_equal(under_spawner(body_held, NULL), 0);
}

/* As in a pod with the restricted security level. */
static void holding_a_rank_takes_no_privilege(void **state)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (getuid() == 0)
            CHECK(setgroups(0, NULL) == 0 && setresgid(12345, 12345, 12345) == 0 &&
                  setresuid(12345, 12345, 12345) == 0);
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        prctl(PR_SET_DUMPABLE, 1); /* as after the exec that a container begins with */
        _exit(under_spawner(body_held, NULL) & 0xff);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int body_held_missing(int sock, void *arg)
{
    struct start s = {.id = 1,
                      .argv = (const char *const[]){"/x/no such program", NULL},
                      .flags = SPAWN_START_HELD};

    close(start(sock, &s));
    CHECK(expect(sock, SPAWN_REP_FAILED, 1).value == ENOENT);
    return 0;
}

static void a_missing_program_fails_also_if_it_is_to_be_held(void **state)
{
    assert_int_equal(under_spawner(body_held_missing, NULL), 0);
}

static int body_held_ended(int sock, void *arg)
{
    struct start s = {.argv = (const char *const[]){"cat", NULL}, .flags = SPAWN_START_HELD};
    struct spawn_rep r;
    int out;

    for (s.id = 1; s.id <= 2; s.id++) {
        start_held(sock, &s, &out);
        close(out);
    }
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = 1, .signum = SIGKILL}, NULL,
             0);
    CHECK(expect(sock, SPAWN_REP_EXITED, 1).value == SIGKILL);
    /* As at the end of a job. */
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = 2, .signum = SIGTERM}, NULL,
             0);
    send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = 2, .signum = SIGCONT}, NULL,
             0);
    r = next_report(sock);
    if (r.kind == SPAWN_REP_GOES_ON)
        r = next_report(sock);
    CHECK(r.kind == SPAWN_REP_EXITED && r.id == 2 && r.value == SIGTERM);
    return 0;
}

static void a_held_rank_is_ended_like_any_other(void **state)
{
    assert_int_equal(under_spawner(body_held_ended, NULL), 0);
}

/* At any point on its way to the exec. */
static int body_held_signalled(int sock, void *arg)
{
    struct start s = {.argv = (const char *const[]){"cat", NULL}, .flags = SPAWN_START_HELD};

    for (s.id = 1; s.id <= 20; s.id++) {
        struct spawn_rep r;

        close(start(sock, &s));
        send_cmd(sock, &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = s.id, .signum = SIGTERM},
                 NULL, 0);
        do {
            r = next_report(sock);
            if (r.kind == SPAWN_REP_HELD)
                send_cmd(
                    sock,
                    &(struct spawn_cmd){.kind = SPAWN_CMD_SIGNAL, .id = s.id, .signum = SIGCONT},
                    NULL, 0);
        } while (r.kind != SPAWN_REP_EXITED);
        CHECK(r.value == SIGTERM);
    }
    return 0;
}

static void a_signal_before_the_exec_of_a_rank_to_be_held_is_not_lost(void **state)
{
    assert_int_equal(under_spawner(body_held_signalled, NULL), 0);
}

static int body_held_killed(int sock, void *arg)
{
    pid_t *pid = arg;
    struct start s = {
        .id = 1, .argv = (const char *const[]){"cat", NULL}, .flags = SPAWN_START_HELD};
    int out;

    *pid = start_held(sock, &s, &out);
    raise(SIGKILL);
    return 0;
}

static void sigkill_of_the_daemon_leaves_no_held_rank(void **state)
{
    pid_t *pid = shared_alloc(sizeof(*pid));
    struct proc_stat st;

    assert_int_equal(under_spawner(body_held_killed, pid), 128 + SIGKILL);
    assert_true(*pid > 0);
    assert_false(proc_tree_stat(*pid, &st));
    munmap(pid, sizeof(*pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_stopped_after_its_exec_can_be_debugged_and_continued),
        cmocka_unit_test(holding_a_rank_takes_no_privilege),
        cmocka_unit_test(a_missing_program_fails_also_if_it_is_to_be_held),
        cmocka_unit_test(a_held_rank_is_ended_like_any_other),
        cmocka_unit_test(a_signal_before_the_exec_of_a_rank_to_be_held_is_not_lost),
        cmocka_unit_test(sigkill_of_the_daemon_leaves_no_held_rank),
    };

    return cmocka_run_group_tests_name("spawner_hold", tests, NULL, NULL);
}
