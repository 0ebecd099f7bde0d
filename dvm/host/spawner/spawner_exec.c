/* SPDX-License-Identifier: BSD-3-Clause */
/* From the fork of a rank to its program.
 *
 * In: the description of the rank in a memory file, its stdin, stdout and stderr, and exec_fd, a
 * socket to the spawner. The child undoes what the spawner has changed for itself (signals, limits,
 * descriptors), binds itself, enters its directory, takes its environment, looks for its program
 * and takes the limits of the submitting shell (limits.c). With SPAWN_START_WAITS it then says
 * READY and waits for one packet, else it executes at once.
 *
 * Out: exec_fd closes with the exec: the program runs. Any failure is one packet with errno and the
 * failed action; then the child exits. The child runs no code of other threads, and allocates only
 * because the spawner has one thread. */
#include "dvm/host/spawner/limits.h"
#include "dvm/host/spawner/spawn_sock.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define EXIT_NOT_RUN 127

/* One packet. */
struct failure {
    int errnum;
    char what[SPAWN_WHAT_MAX];
};

static void fail_exec(int exec_fd, int errnum, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

static void fail_exec(int exec_fd, int errnum, const char *fmt, ...)
{
    struct failure f = {.errnum = errnum};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(f.what, sizeof(f.what), fmt, ap);
    va_end(ap);
    if (write(exec_fd, &f, sizeof(f)) != sizeof(f))
        _exit(EXIT_FAILURE);
    _exit(EXIT_NOT_RUN);
}

enum spawner_word spawner_exec_word(int exec_fd, int *errnum, char **what)
{
    struct failure f;
    ssize_t n;

    do
        n = read(exec_fd, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return SPAWNER_NO_WORD;
    if (n == 1)
        return SPAWNER_READY;
    if (n != sizeof(f))
        return SPAWNER_RUNS;
    f.what[sizeof(f.what) - 1] = '\0';
    *errnum = f.errnum;
    *what = xstrdup(f.what);
    return SPAWNER_FAILED;
}

/* Signal dispositions return to the defaults, wherever they were changed. */
static void reset_signals(const sigset_t *ignored)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int s = 1; s < NSIG; s++) {
        if (sigismember(ignored, s) == 1)
            sigaction(s, &dfl, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* All of the spawner's own descriptors are close-on-exec, and above 2. */
static void take_streams(const int fds[SPAWN_FD_COUNT], int exec_fd)
{
    static const enum spawn_fd from[] = {SPAWN_FD_STDIN, SPAWN_FD_STDOUT, SPAWN_FD_STDERR};

    for (int to = 0; to < 3; to++) {
        if (dup2(fds[from[to]], to) < 0)
            fail_exec(exec_fd, errno, "redirecting stream %d", to);
    }
}

static bool is_limits(const char *entry)
{
    return strncmp(entry, LIMITS_VARIABLE "=", sizeof(LIMITS_VARIABLE)) == 0;
}

static char **environment_of(const struct spawner *sp, uint64_t job, const struct spawn_spec *s)
{
    static const char mark[] = SPAWNER_MARK "=";
    size_t n = 0;
    size_t to = 0;
    char **env;

    while (s->env[n])
        n++;
    env = xcalloc(n + 2, sizeof(*env));
    env[to++] = xasprintf("%s%016" PRIx64 ".%" PRIu64, mark, sp->token, job);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(s->env[i], mark, sizeof(mark) - 1) != 0 && !is_limits(s->env[i]))
            env[to++] = (char *)s->env[i];
    }
    return env;
}

/* Yama may let only ancestors debug a process. This call allows any process of the same user.
 * Without Yama it fails, and is not needed. */
static void prepare_debug(unsigned flags, int exec_fd)
{
    if (flags & SPAWN_START_TRACEABLE)
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if ((flags & SPAWN_START_HELD) && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        fail_exec(exec_fd, errno, "ptrace, to stop at the exec");
}

/* The last step: a low limit of open files or of CPU time must not hit the way to the program. */
static void take_limits(const struct spawn_spec *s, int exec_fd)
{
    struct limits l;
    int why = 0;

    for (size_t i = 0; s->env[i]; i++) {
        if (is_limits(s->env[i]) && limits_decode(s->env[i] + sizeof(LIMITS_VARIABLE), &l))
            why = limits_apply(&l);
    }
    if (why)
        fail_exec(exec_fd, why, "setting the limits of the submitting shell");
}

/* The state is as the program is to find it. All other descriptors are closed: while this child
 * waits, it must hold no end of another rank's socket. */
static void wait_for_go(int exec_fd)
{
    char word = 0;
    ssize_t n;

    spawner_close_but(exec_fd);
    if (write(exec_fd, &word, 1) != 1)
        _exit(EXIT_FAILURE);
    do
        n = read(exec_fd, &word, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(EXIT_FAILURE);
}

static void become_program(const struct spawner *sp, const struct spawner_rank *r,
                           const struct spawn_spec *s, int exec_fd)
{
    char *const *argv = (char *const *)s->argv;
    char what[SPAWN_WHAT_MAX];
    cpu_set_t *mask = NULL;
    char *path;
    int why;

    if (setrlimit(RLIMIT_NOFILE, &sp->nofile) < 0)
        fail_exec(exec_fd, errno, "restoring the limit of open files");
    if (s->cwd[0] && chdir(s->cwd) < 0)
        fail_exec(exec_fd, errno, "chdir %s", s->cwd);
    if (s->mask_len) {
        mask = xmalloc(s->mask_len); /* the message is not aligned */
        memcpy(mask, s->mask, s->mask_len);
        if (sched_setaffinity(0, s->mask_len, mask) < 0)
            fail_exec(exec_fd, errno, "binding to cpus %s", s->cpuset);
    }
    /* The program is looked up by the rank's own PATH, from its own directory. */
    environ = environment_of(sp, r->job, s);
    reset_signals(&sp->ignored);
    prepare_debug(r->flags, exec_fd);
    why = spawner_path_check(argv, &path, what, sizeof(what));
    if (r->flags & SPAWN_START_WAITS) {
        if (why)
            fail_exec(exec_fd, why, "%s", what);
        wait_for_go(exec_fd);
    }
    take_limits(s, exec_fd);
    if (!why)
        execve(path, argv, environ); /* if it fails, spawner_path_exec() finds the reason */
    why = spawner_path_exec(argv, what, sizeof(what));
    fail_exec(exec_fd, why, "%s", what);
}

void spawner_exec(const struct spawner *sp, const struct spawner_rank *r,
                  const int fds[SPAWN_FD_COUNT], int exec_fd)
{
    struct spawn_spec spec;
    struct err err = {0};
    struct cur in;

    setsid();
    take_streams(fds, exec_fd);
    if (spawn_sock_memfd_map(fds[SPAWN_FD_SPEC], &in, &err) < 0 ||
        spawn_msg_spec_decode(&in, &spec, &err) < 0)
        fail_exec(exec_fd, err.code ? err.code : EBADMSG, "%s", err.msg);
    become_program(sp, r, &spec, exec_fd);
    _exit(EXIT_FAILURE);
}
