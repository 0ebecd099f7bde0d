/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the DVM of `prte run` and ends it with prte.
 *
 *   prte run ──socket── guard ── head, supervisor, fork server, members ── ranks
 *      └── prun
 *
 * In: words on the socket (enum ldvm_word), and the socket's end: only prte holds the far end, so
 * it closes when prte ends in any way, SIGKILL included. Out: GUARD_READY, and GUARD_DONE when
 * nothing of the DVM is left.
 *
 * The guard does what `prte start --foreground` does (start.c), and the socket stands for the
 * user. It is the subreaper of all processes of the DVM: none of them, and no descendant of a rank,
 * leaves its reach.
 *
 * A signal to the group of prte, or to its descendants, must not hit the guard. So it has a session
 * of its own, is not among the descendants of prte, and has another name and another command line.
 *
 * Failures: the guard reports them on prte's standard error. If the guard itself is killed, prte
 * ends the DVM (run.c). */
#include "dvm/tools/ldvm/guard.h"

#include "dvm/tools/cli/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "dvm-guard"
#define SWEEP_MS 2000

/* The words of a command line follow each other in memory, and ps shows what is there. */
static void rename_process(char *const *args)
{
    char *begin = program_invocation_name;
    const char *end;

    program_invocation_short_name = "prte"; /* for messages */
    program_invocation_name = "prte";
    while (*args)
        args++;
    end = args[-1] + strlen(args[-1]);
    if (end > begin) {
        memset(begin, 0, (size_t)(end - begin));
        snprintf(begin, (size_t)(end - begin), NAME);
    }
    prctl(PR_SET_NAME, NAME);
}

/* A message could block: a program that does not read may hold the other end of standard error. */
static bool is_gone(int sock)
{
    char word;

    return recv(sock, &word, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static int serve_prte(const struct ldvm_start_opts *o, int sock, struct err *err)
{
    const char ready = GUARD_READY;
    char *log = NULL;
    struct procs *p;
    int rc;

    if (access(o->dir, F_OK) == 0)
        return err_code(err, EEXIST, "%s exists", o->dir);
    p = ldvm_start(o, true, &log, err);
    if (!p) {
        if (!is_gone(sock))
            fputs(log, stderr);
        free(log);
        rmdir(o->dir);
        return -1;
    }
    free(log);
    (void)!write(o->peer, &ready, 1); /* if prte has ended, the socket's end says so */
    rc = ldvm_attend(p, o->dir, err);
    (void)procs_kill_descendants(SWEEP_MS);
    return rc;
}

static void run_guard(struct ldvm_start_opts o, int sock, char *const *args)
    __attribute__((noreturn));

static void run_guard(struct ldvm_start_opts o, int sock, char *const *args)
{
    const char done = GUARD_DONE;
    struct err err = {0};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    rename_process(args);
    dup2(null_fd, STDIN_FILENO);
    dup2(null_fd, STDOUT_FILENO);
    signal(SIGPIPE, SIG_IGN); /* messages for a reader that has ended */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        err_sys(&err, errno, "becoming the subreaper");
    o.peer =
        fcntl(sock, F_DUPFD_CLOEXEC, 3); /* it stays open after the end of the DVM's processes */
    if ((err.code || serve_prte(&o, sock, &err) < 0) && !is_gone(sock))
        cli_fail("prte", EXIT_FAILURE, &err);
    (void)!write(sock, &done, 1);
    _exit(EXIT_SUCCESS);
}

/* The guard is a grandchild, whose parent ends at once. */
int guard_start(const struct ldvm_start_opts *o, char *const *args, struct err *err)
{
    int ends[2];
    int status = 0;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(err, errno, "a socket to the guard");
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        pid = fork();
        if (pid == 0)
            run_guard(*o, ends[1], args);
        _exit(pid < 0 ? errno : 0);
    }
    close(ends[1]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && status == 0)
        return ends[0];
    err_sys(err,
            pid < 0             ? errno
            : WIFEXITED(status) ? WEXITSTATUS(status)
                                : ECHILD,
            "starting the guard");
    close(ends[0]);
    return -1;
}
