/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks in the spawner, from START to the end of their job.
 *
 * In: START with descriptors, SIGNAL, GO; packets of the child on its way to the exec; its stops
 * and its end from waitpid(2). Out: reports READY, STARTED or FAILED, HELD, GOES_ON, EXITED. They
 * are bits in the rank until the socket takes them, sent in this order, so their number is bounded.
 *
 * A pid is signalled only while it is not reaped. The record stays until JOB_END: the sweep after
 * the job needs the sessions of its ranks. A fork that fails is reported as FAILED. */
#include "base/log/log.h"
#include "dvm/host/spawner/spawn_sock.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

static void queue_report(struct spawner *sp, struct spawner_rank *r, enum spawn_rep_kind kind)
{
    if (!r->unsent)
        DL_APPEND(sp->reports, r);
    r->unsent |= 1u << kind;
}

/* Takes `what`. */
static void set_failed(struct spawner *sp, struct spawner_rank *r, int errnum, char *what)
{
    r->failed = true;
    r->errnum = errnum;
    r->what = what;
    queue_report(sp, r, SPAWN_REP_FAILED);
}

/* Another child may hold a copy of the descriptor, so closing it does not remove it from epoll. */
static void close_exec_fd(const struct spawner *sp, struct spawner_rank *r)
{
    epoll_ctl(sp->epoll_fd, EPOLL_CTL_DEL, r->exec_fd, NULL);
    close(r->exec_fd);
    r->exec_fd = -1;
}

static void exec_known(struct spawner *sp, struct spawner_rank *r)
{
    int errnum = ECANCELED;
    char *what = NULL;

    while (r->exec_fd >= 0) {
        switch (spawner_exec_word(r->exec_fd, &errnum, &what)) {
        case SPAWNER_NO_WORD:
            return;
        case SPAWNER_READY:
            queue_report(sp, r, SPAWN_REP_READY);
            continue;
        case SPAWNER_FAILED:
            set_failed(sp, r, errnum, what);
            break;
        case SPAWNER_RUNS:
            if ((r->flags & SPAWN_START_WAITS) && !r->let_go)
                set_failed(sp, r, errnum, xstrdup("ended before its start"));
            else
                queue_report(sp, r, SPAWN_REP_STARTED);
            break;
        }
        log_debug("executed pid=%d", (int)r->pid);
        close_exec_fd(sp, r);
    }
}

static struct spawner_rank *find_rank(struct spawner *sp, uint64_t id)
{
    struct spawner_rank *r = NULL;

    HASH_FIND(by_id, sp->by_id, &id, sizeof(id), r);
    return r;
}

void spawner_rank_exec_known(struct spawner *sp, uint64_t id)
{
    struct spawner_rank *r = find_rank(sp, id);

    if (r)
        exec_known(sp, r);
}

void spawner_rank_go(struct spawner *sp, uint64_t id)
{
    struct spawner_rank *r = find_rank(sp, id);

    if (!r || r->exec_fd < 0 || r->let_go)
        return;
    r->let_go = true;
    if (send(r->exec_fd, "", 1, MSG_NOSIGNAL) < 0)
        log_debug("a rank has ended before its start pid=%d", (int)r->pid);
}

/* In the child. If the spawner has died before the prctl(2), no death signal would come. */
static void run_child(const struct spawner *sp, const struct spawner_rank *r,
                      const int fds[SPAWN_FD_COUNT], int exec_fd, pid_t spawner)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != spawner)
        _exit(EXIT_FAILURE);
    spawner_exec(sp, r, fds, exec_fd);
}

static int fork_rank(struct spawner *sp, struct spawner_rank *r, const int fds[SPAWN_FD_COUNT])
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = r->id};
    pid_t self = getpid();
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
        return -1;
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    if (epoll_ctl(sp->epoll_fd, EPOLL_CTL_ADD, fd[0], &ev) < 0)
        goto error;
    r->pid = fork();
    if (r->pid == 0)
        run_child(sp, r, fds, fd[1], self);
    if (r->pid < 0)
        goto error;
    log_debug("forked pid=%d", (int)r->pid);
    close(fd[1]);
    r->exec_fd = fd[0];
    HASH_ADD(by_pid, sp->by_pid, pid, sizeof(r->pid), r);
    return 0;
error:
    close(fd[0]);
    close(fd[1]);
    return -1;
}

void spawner_rank_start(struct spawner *sp, const struct spawn_cmd *c, int fds[SPAWN_FD_COUNT])
{
    struct spawner_rank *r;

    if (find_rank(sp, c->id)) {
        log_error("the daemon starts a rank twice id=%" PRIu64, c->id);
        spawn_sock_close_fds(fds);
        return;
    }
    r = xcalloc(1, sizeof(*r));
    r->id = c->id;
    r->job = c->job;
    r->flags = c->flags;
    r->hold = c->flags & SPAWN_START_HELD ? SPAWNER_HOLD_TRACED : SPAWNER_HOLD_NONE;
    r->exec_fd = -1;
    HASH_ADD(by_id, sp->by_id, id, sizeof(r->id), r);
    for (size_t i = 0; i < SPAWN_FD_COUNT && !r->failed; i++) {
        if (fds[i] < 0)
            set_failed(sp, r, EMFILE, xstrdup("receiving its pipes"));
    }
    if (!r->failed && fork_rank(sp, r, fds) < 0)
        set_failed(sp, r, errno, xstrdup("fork"));
    spawn_sock_close_fds(fds);
}

void spawner_rank_signal(struct spawner *sp, uint64_t id, int signum)
{
    const struct spawner_rank *r = find_rank(sp, id);

    if (!r || r->pid <= 0 || r->reaped || signum <= 0)
        return;
    /* No such group: the child has not called setsid() yet. It blocks signals until then, so a
     * signal to it is not lost. */
    if (kill(-r->pid, signum) < 0 && errno == ESRCH)
        kill(r->pid, signum);
}

/* The stop is the SIGTRAP of the exec, or a signal from before it, which is passed on. If the rank
 * was killed meanwhile the calls fail, and it is reaped later. */
static void traced_stop(struct spawner_rank *r, int signum)
{
    if (signum != SIGTRAP) {
        ptrace(PTRACE_CONT, r->pid, NULL, (void *)(intptr_t)signum);
        return;
    }
    r->hold = SPAWNER_HOLD_STOPPING;
    ptrace(PTRACE_DETACH, r->pid, NULL, (void *)(intptr_t)SIGSTOP);
}

void spawner_rank_stopped(struct spawner *sp, pid_t pid, int status)
{
    struct spawner_rank *r = NULL;

    HASH_FIND(by_pid, sp->by_pid, &pid, sizeof(pid), r);
    if (!r)
        return;
    if (WIFSTOPPED(status) && r->hold == SPAWNER_HOLD_TRACED) {
        traced_stop(r, WSTOPSIG(status));
    } else if (WIFSTOPPED(status) && r->hold == SPAWNER_HOLD_STOPPING) {
        r->hold = SPAWNER_HOLD_HELD;
        exec_known(sp, r);
        queue_report(sp, r, SPAWN_REP_HELD);
    } else if (WIFCONTINUED(status) && r->hold == SPAWNER_HOLD_HELD) {
        r->hold = SPAWNER_HOLD_NONE;
        queue_report(sp, r, SPAWN_REP_GOES_ON);
    }
}

void spawner_rank_reaped(struct spawner *sp, pid_t pid, int status)
{
    struct spawner_rank *r = NULL;

    HASH_FIND(by_pid, sp->by_pid, &pid, sizeof(pid), r);
    if (!r)
        return;
    HASH_DELETE(by_pid, sp->by_pid, r);
    log_debug("reaped pid=%d", (int)pid);
    r->reaped = true;
    r->status = status;
    exec_known(sp, r);
    if (!r->failed)
        queue_report(sp, r, SPAWN_REP_EXITED);
}

void spawner_rank_free(struct spawner *sp, struct spawner_rank *r)
{
    HASH_DELETE(by_id, sp->by_id, r);
    if (r->pid > 0 && !r->reaped)
        HASH_DELETE(by_pid, sp->by_pid, r);
    if (r->unsent)
        DL_DELETE(sp->reports, r);
    if (r->exec_fd >= 0)
        close_exec_fd(sp, r);
    free(r->what);
    free(r);
}

static enum spawn_sock_result send_report(struct spawner *sp, const struct spawner_rank *r,
                                          enum spawn_rep_kind kind)
{
    BUF_AUTO struct buf b;
    struct spawn_rep rep = {.kind = kind, .id = r->id};

    if (kind == SPAWN_REP_FAILED)
        snprintf(rep.what, sizeof(rep.what), "%s", r->what);
    rep.value = kind == SPAWN_REP_STARTED  ? r->pid
                : kind == SPAWN_REP_FAILED ? r->errnum
                                           : r->status;
    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_rep_encode(&b, &rep);
    return spawn_sock_send(sp->sock, &b, NULL, 0, NULL);
}

/* Each rank holds its own reports, so their number is bounded by that of ranks. */
bool spawner_rank_report(struct spawner *sp)
{
    struct spawner_rank *r;
    struct spawner_rank *next;

    DL_FOREACH_SAFE(sp->reports, r, next)
    {
        for (int kind = SPAWN_REP_READY; kind <= SPAWN_REP_EXITED; kind++) {
            if (!(r->unsent & 1u << kind))
                continue;
            if (send_report(sp, r, (enum spawn_rep_kind)kind) != SPAWN_SOCK_OK)
                return false;
            r->unsent &= ~(1u << kind);
        }
        DL_DELETE(sp->reports, r);
    }
    return true;
}
