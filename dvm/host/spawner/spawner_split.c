/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits the daemon's program in two: its process becomes the spawner, its child goes on.
 *
 * In: struct spawner_options. Out: in the child a struct spawner_handle (socket, pid, token). In
 * the parent the spawner's program, which gets socket, daemon, token, grace, level of the log
 * and session directory as arguments.
 *
 * Order: descriptors 0 to 2 are filled, so that no socket gets their numbers. The process becomes
 * the subreaper. The spawner's signals are blocked before the fork, so that the spawner misses
 * none. The daemon restores its own mask.
 *
 * Invariants: the spawner keeps the first process's pid and parent. It is the daemon's parent. Each
 * side keeps one end of the socket pair.
 *
 * Failures: before the fork, spawner_split() returns -1. If the exec fails, the spawner exits. When
 * the spawner ends, the daemon gets SIGCONT, which also continues a stopped daemon. The daemon
 * finds its socket closed and ends itself. A daemon whose loop hangs is ended by SIGALRM after
 * SPAWNER_OUTLIVE_S seconds. */
#include "dvm/host/spawner/spawner.h"

#include "base/buf/buf.h"
#include "base/log/log.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

char *spawner_program(struct err *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;
    char *path;

    self[n > 0 ? n : 0] = '\0';
    slash = strrchr(self, '/');
    path = xasprintf("%.*s/" SPAWNER_PROGRAM, slash ? (int)(slash - self) : 0, self);
    if (n > 0 && access(path, X_OK) == 0)
        return path;
    err_sys(err, errno, "the spawner's program %s", path);
    free(path);
    return NULL;
}

/* A descriptor numbered 0 to 2 would become a rank's stream. */
static int fill_std_fds(struct err *err)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
        if (fd < 0)
            return err_sys(err, errno, "opening /dev/null");
    } while (fd <= STDERR_FILENO);
    close(fd);
    return 0;
}

static pid_t spawner_pid;

/* The spawner has ended. The daemon's loop sees it and ends the daemon; SIGALRM does if the loop
 * hangs. */
static void on_continued(int signum)
{
    if (getppid() != spawner_pid)
        alarm(SPAWNER_OUTLIVE_S);
}

static void become_daemon(const struct spawner_handle *h, const sigset_t *mask)
{
    struct sigaction sa = {.sa_handler = on_continued, .sa_flags = SA_RESTART};

    spawner_pid = h->pid;
    sigaction(SIGCONT, &sa, NULL);
    signal(SIGALRM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (getppid() != h->pid) /* the spawner has died before the prctl(2) */
        _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* The process stays the daemon's parent and keeps its blocked signals. */
static void become_spawner(const struct spawner_options *o, int sock, pid_t daemon, uint64_t token)
    __attribute__((noreturn));

static void become_spawner(const struct spawner_options *o, int sock, pid_t daemon, uint64_t token)
{
    char sock_text[16];
    char daemon_text[16];
    char token_text[24];
    char grace_text[16];
    size_t n = 0;
    char **argv;

    while (o->words[n])
        n++;
    argv = xcalloc(n + 8, sizeof(*argv));
    argv[0] = SPAWNER_PROGRAM;
    argv[1] = sock_text;
    argv[2] = daemon_text;
    argv[3] = token_text;
    argv[4] = grace_text;
    argv[5] = (char *)o->level;
    argv[6] = o->dir ? (char *)o->dir : "";
    memcpy(argv + 7, o->words, n * sizeof(*argv));
    snprintf(sock_text, sizeof(sock_text), "%d", sock);
    snprintf(daemon_text, sizeof(daemon_text), "%d", (int)daemon);
    snprintf(token_text, sizeof(token_text), "%016" PRIx64, token);
    snprintf(grace_text, sizeof(grace_text), "%" PRIu32, o->grace_ms);
    fcntl(sock, F_SETFD, 0);
    execv(o->program, argv);
    log_error("executing %s: %s", o->program, strerror(errno));
    _exit(EXIT_FAILURE); /* the daemon ends with the spawner */
}

static int split_process(struct spawner_handle *h, int sv[2], struct err *err)
{
    if (fill_std_fds(err) < 0)
        return -1;
    h->pid = getpid();
    if (getrandom(&h->token, sizeof(h->token), 0) != sizeof(h->token))
        return err_sys(err, errno, "a random token");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return err_sys(err, errno, "becoming the subreaper");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
        return err_sys(err, errno, "creating its socket");
    return 0;
}

int spawner_split(const struct spawner_options *o, struct spawner_handle *out, struct err *err)
{
    sigset_t set;
    sigset_t old;
    int sv[2] = {-1, -1};
    pid_t pid;

    if (split_process(out, sv, err) < 0)
        return err_wrap(err, "splitting off the spawner");
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, the kernel would reap the children */
    spawner_signals(&set);
    sigprocmask(SIG_BLOCK, &set, &old);
    fflush(NULL); /* else both processes would write the buffered output */
    pid = fork();
    if (pid < 0) {
        err_sys(err, errno, "splitting off the spawner: fork");
        sigprocmask(SIG_SETMASK, &old, NULL);
        close(sv[0]);
        close(sv[1]);
        return -1;
    }
    if (pid > 0) {
        close(sv[1]);
        become_spawner(o, sv[0], pid, out->token);
    }
    close(sv[0]);
    out->sock = sv[1];
    become_daemon(out, &old);
    return 0;
}
