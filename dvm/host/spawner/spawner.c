/* SPDX-License-Identifier: BSD-3-Clause */
/* The spawner's loop: one thread, one epoll, no handler of signals.
 *
 * In: commands of the daemon (spawn_msg.h) by a socket of packets, signals by a signalfd, and for
 * each rank a socket that reports the result of its exec. Out: reports to the daemon in
 * the order of each rank's events. A report that the socket does not take waits in its rank.
 *
 * Each turn reads its input, then calls the parts that have work due: cleanups, reports, sweeps
 * after ended jobs, the watch over the daemon, and the end. The loop never waits for a disk, for an
 * exec or for the daemon.
 *
 * Invariants: each descendant of the daemon is a descendant of this process, the subreaper,
 * so none is missed. When the daemon ends, or closes the socket, the phases serving, asking
 * (SIGTERM), killing and empty follow (spawner_end.c); the spawner exits with the daemon's code. */
#include "dvm/host/spawner/spawner.h"

#include "base/log/log.h"
#include "dvm/host/spawner/clean_journal.h"
#include "dvm/host/spawner/leftovers.h"
#include "dvm/host/spawner/spawn_sock.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Values of epoll beside the ids of ranks that are on their way to their program. */
#define TAG_SOCK 0
#define TAG_SIGNAL UINT64_MAX
#define EVENTS_MAX 64
#define OLD_KERNEL_FDS 4096 /* descriptors closed one by one without close_range(2) */
#define COMMANDS_MAX 64     /* commands of one turn, so that reaping is not delayed */

static void reap_children(struct spawner *sp)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
            spawner_rank_stopped(sp, pid, status);
            continue;
        }
        if (pid != sp->daemon) {
            if (!spawner_clean_reaped(sp, pid, status))
                spawner_rank_reaped(sp, pid, status);
            continue;
        }
        sp->daemon = 0;
        sp->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (WIFSIGNALED(status))
            log_error("the daemon was ended by a signal signal=%d", WTERMSIG(status));
        spawner_end_start(sp, spawner_now_ms());
    }
}

static void on_signals(struct spawner *sp)
{
    struct signalfd_siginfo si;

    while (read(sp->signal_fd, &si, sizeof(si)) == sizeof(si)) {
        if (si.ssi_signo == SIGCHLD || !sp->daemon)
            continue;
        /* A signal of the terminal's driver: the daemon is in the same group and has received it
         * too. */
        if (si.ssi_signo == SIGINT && si.ssi_code == SI_KERNEL)
            continue;
        kill(sp->daemon, (int)si.ssi_signo);
    }
    reap_children(sp);
}

static void take_command(struct spawner *sp, const struct spawn_cmd *c, int fds[SPAWN_FD_COUNT])
{
    switch (c->kind) {
    case SPAWN_CMD_START:
        spawner_rank_start(sp, c, fds);
        break;
    case SPAWN_CMD_SIGNAL:
        spawner_rank_signal(sp, c->id, (int)c->signum);
        break;
    case SPAWN_CMD_JOB_END:
        spawner_sweep_start(sp, c->job);
        break;
    case SPAWN_CMD_CLEAN_ADD:
        spawner_clean_add(sp, c->id, c->flags, c->path);
        break;
    case SPAWN_CMD_CLEAN_RUN:
        spawner_clean_run(sp, c->id);
        break;
    case SPAWN_CMD_GO:
        spawner_rank_go(sp, c->id);
        break;
    case SPAWN_CMD_PING:
        sp->pinged = true;
        break;
    }
    spawn_sock_close_fds(fds); /* closes descriptors that a start did not take */
}

static void on_sock_gone(struct spawner *sp)
{
    close(sp->sock);
    sp->sock = -1;
    if (sp->phase == SPAWNER_SERVING)
        spawner_end_start(sp, spawner_now_ms());
}

static void on_sock(struct spawner *sp)
{
    for (int i = 0; i < COMMANDS_MAX; i++) {
        uint8_t data[SPAWN_MSG_MAX];
        int fds[SPAWN_FD_COUNT];
        struct spawn_cmd c;
        struct err err = {0};
        struct cur in;
        size_t len = 0;

        switch (spawn_sock_recv(sp->sock, data, &len, fds, &err)) {
        case SPAWN_SOCK_OK:
            break;
        case SPAWN_SOCK_GONE:
            on_sock_gone(sp);
            return;
        default:
            return;
        }
        in = cur_of(data, len);
        if (spawn_msg_cmd_decode(&in, &c, &err) == 0) {
            spawner_watch_heard(sp, c.limit_ms);
            clean_journal_alive(sp->journal, spawner_now_ms(), c.limit_ms / SPAWNER_LOOKS);
            take_command(sp, &c, fds);
            continue;
        }
        log_error("%s", err.msg);
        spawn_sock_close_fds(fds);
    }
}

static void on_event(struct spawner *sp, const struct epoll_event *ev)
{
    if (ev->data.u64 == TAG_SIGNAL)
        on_signals(sp);
    else if (ev->data.u64 != TAG_SOCK)
        spawner_rank_exec_known(sp, ev->data.u64);
    else if (sp->sock >= 0 && (ev->events & ~(uint32_t)EPOLLOUT))
        on_sock(sp);
}

/* The shorter of two waits; -1 is unlimited. */
static int sooner_wait(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int wait_ms(const struct spawner *sp, uint64_t now_ms)
{
    int wait = sooner_wait(spawner_end_wait(sp, now_ms), spawner_clean_wait(sp, now_ms));

    wait = sooner_wait(wait, spawner_watch_wait(sp, now_ms));
    return sooner_wait(wait, spawner_sweep_wait(sp, now_ms));
}

/* The socket is full. If it is closed, the next read reports it. */
static void watch_room(struct spawner *sp, bool wanted)
{
    struct epoll_event ev = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.u64 = TAG_SOCK};

    if (sp->wants_room == wanted)
        return;
    sp->wants_room = wanted;
    epoll_ctl(sp->epoll_fd, EPOLL_CTL_MOD, sp->sock, &ev);
}

static bool answer_ping(struct spawner *sp)
{
    BUF_AUTO struct buf b;
    struct spawn_rep alive = {.kind = SPAWN_REP_ALIVE};

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_rep_encode(&b, &alive);
    sp->pinged = spawn_sock_send(sp->sock, &b, NULL, 0, NULL) != SPAWN_SOCK_OK;
    return !sp->pinged;
}

/* Sends all pending reports; false: the socket is full for now. */
static bool send_reports(struct spawner *sp)
{
    return spawner_rank_report(sp) && spawner_clean_report(sp) && (!sp->pinged || answer_ping(sp));
}

static void take_turn(struct spawner *sp)
{
    struct epoll_event ev[EVENTS_MAX];
    int n = epoll_wait(sp->epoll_fd, ev, EVENTS_MAX, wait_ms(sp, spawner_now_ms()));

    for (int i = 0; i < n; i++)
        on_event(sp, &ev[i]);
    spawner_clean_turn(sp, spawner_now_ms());
    if (sp->sock >= 0)
        watch_room(sp, !send_reports(sp));
    spawner_sweep_turn(sp, spawner_now_ms());
    spawner_watch_turn(sp, spawner_now_ms());
    spawner_end_turn(sp, spawner_now_ms());
}

/* No signal has a handler. SIGPIPE is ignored: it would end the spawner when the log's reader is
 * closed. */
static void set_signals(struct spawner *sp)
{
    struct sigaction sa;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&sp->ignored);
    for (int s = 1; s < NSIG; s++) {
        if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
            sigaddset(&sp->ignored, s);
    }
}

static int watch_fd(const struct spawner *sp, int fd, uint64_t tag)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = tag};

    return epoll_ctl(sp->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

void spawner_close_but(int keep)
{
    /* A pipe that the spawner held open would never end for its reader. */
    if ((keep <= 3 || close_range(3, (unsigned)keep - 1, 0) == 0) &&
        close_range((unsigned)keep + 1, ~0U, 0) == 0)
        return;
    for (int fd = 3; fd < OLD_KERNEL_FDS; fd++) {
        if (fd != keep)
            close(fd);
    }
}

static void raise_nofile(struct spawner *sp)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &sp->nofile) < 0)
        return;
    r = sp->nofile;
    r.rlim_cur = r.rlim_max; /* a rank that hangs in its exec holds a descriptor */
    setrlimit(RLIMIT_NOFILE, &r);
}

void spawner_run(int sock, pid_t daemon, uint64_t token, uint32_t grace_ms, const char *dir)
{
    struct spawner sp = {.sock = sock,
                         .daemon = daemon,
                         .token = token,
                         .grace_ms = grace_ms,
                         .journal = clean_journal_create(dir, token)};
    sigset_t set;

    spawner_close_but(sock);
    fcntl(sock, F_SETFD, FD_CLOEXEC); /* the exec of this program had to keep it open */
    raise_nofile(&sp);
    set_signals(&sp);
    spawner_signals(&set);
    sp.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    sp.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (sp.signal_fd < 0 || sp.epoll_fd < 0 || watch_fd(&sp, sock, TAG_SOCK) < 0 ||
        watch_fd(&sp, sp.signal_fd, TAG_SIGNAL) < 0) {
        log_error("the spawner cannot start errno=%d", errno);
        _exit(EXIT_FAILURE); /* the daemon ends with the spawner */
    }
    leftovers_start(dir);
    while (sp.daemon || sp.phase != SPAWNER_EMPTY)
        take_turn(&sp);
    spawner_clean_all(&sp);
    clean_journal_destroy(sp.journal);
    _exit(sp.exit_code);
}
