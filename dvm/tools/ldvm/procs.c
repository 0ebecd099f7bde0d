/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches the daemons of a local DVM by pidfds, and signals them.
 *
 * In: processes that procs_start.c has started or that procs_adopt() takes over, signals of this
 * program, and words of another program at the far end of a socket. Out: procs_next() gives one
 * event at a time: a process has ended, a signal or a word has come, or the time has passed.
 *
 * Invariants: an ended process is reported once and then forgotten. A child of this program is
 * reaped before its report, so its wait status is known. Signals go to pidfds, so a later process
 * with the same number never gets one.
 *
 * Failures and limits: an adopted process that has already ended is skipped. An interrupted wait
 * goes on for the time that is left. The wait status of an adopted process is not known.
 * procs_destroy() ends no process and leaves the caught signals blocked. */
#include "dvm/tools/ldvm/procs.h"

#include "base/buf/buf.h"
#include "dvm/host/spawner/proc_tree.h"
#include "dvm/tools/ldvm/procs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#define DESCENDANTS_MS 10 /* between two walks over the descendants */

struct proc {
    uint32_t vpid;
    pid_t pid;
    int pidfd;
    bool own;
    struct proc *next, *prev;
};

struct procs {
    int epoll;
    int signals;     /* -1: not caught */
    sigset_t caught; /* by it */
    int peer;        /* -1: none */
    int kept;        /* -1: none */
    struct proc *list;
    size_t n;
};

static int watch_fd(struct procs *p, int fd, void *tag, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = tag};

    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
        return err_sys(err, errno, "epoll_ctl");
    return 0;
}

static bool is_ignored(int signum)
{
    struct sigaction now;

    return sigaction(signum, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void procs_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    if (!is_ignored(SIGHUP)) /* nohup */
        sigaddset(set, SIGHUP);
    if (!is_ignored(SIGQUIT))
        sigaddset(set, SIGQUIT);
}

static int catch_them(struct procs *p, struct err *err)
{
    procs_signals(&p->caught);
    sigprocmask(SIG_BLOCK, &p->caught, NULL);
    p->signals = signalfd(-1, &p->caught, SFD_CLOEXEC | SFD_NONBLOCK);
    if (p->signals < 0)
        return err_sys(err, errno, "signalfd");
    return watch_fd(p, p->signals, NULL, err);
}

int procs_catch(struct procs *p, int signum, struct err *err)
{
    sigaddset(&p->caught, signum);
    sigprocmask(SIG_BLOCK, &p->caught, NULL);
    return signalfd(p->signals, &p->caught, 0) < 0 ? err_sys(err, errno, "signalfd") : 0;
}

int procs_watch_peer(struct procs *p, int fd, struct err *err)
{
    p->peer = fd;
    return watch_fd(p, fd, &p->peer, err);
}

struct procs *procs_create(bool catch_signals, struct err *err)
{
    struct procs *p = xcalloc(1, sizeof(*p));

    p->signals = -1;
    p->peer = -1;
    p->kept = -1;
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (p->epoll < 0) {
        err_sys(err, errno, "epoll_create1");
        goto error;
    }
    if (catch_signals && catch_them(p, err) < 0)
        goto error;
    return p;
error:
    procs_destroy(p);
    return NULL;
}

static void forget_proc(struct procs *p, struct proc *x)
{
    DL_DELETE(p->list, x);
    p->n--;
    /* close() alone would leave the entry in place while a forked child still holds a copy. */
    (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, x->pidfd, NULL);
    close(x->pidfd);
    free(x);
}

void procs_destroy(struct procs *p)
{
    if (!p)
        return;
    while (p->list)
        forget_proc(p, p->list);
    if (p->signals >= 0)
        close(p->signals);
    if (p->epoll >= 0)
        close(p->epoll);
    if (p->peer >= 0)
        close(p->peer);
    if (p->kept >= 0)
        close(p->kept);
    free(p);
}

void procs_keep_fd(struct procs *p, int fd)
{
    if (p->kept >= 0)
        close(p->kept);
    p->kept = fd;
}

size_t procs_living(const struct procs *p)
{
    return p->n;
}

static int by_vpid(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

uint32_t *procs_vpids(const struct procs *p)
{
    uint32_t *vpids = xcalloc(p->n + 1, sizeof(*vpids));
    const struct proc *x;
    size_t n = 0;

    DL_FOREACH(p->list, x)
    {
        vpids[n++] = x->vpid;
    }
    qsort(vpids, n, sizeof(*vpids), by_vpid);
    return vpids;
}

int procs_fd(const struct procs *p)
{
    return p->epoll;
}

int procs_add(struct procs *p, uint32_t vpid, pid_t pid, bool own, struct err *err)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct proc *x;

    if (fd < 0 && errno == ESRCH && !own)
        return 0;
    if (fd < 0)
        return err_sys(err, errno, "watching process %d of vpid %u", (int)pid, vpid);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    x = xcalloc(1, sizeof(*x));
    *x = (struct proc){.vpid = vpid, .pid = pid, .pidfd = fd, .own = own};
    DL_APPEND(p->list, x);
    p->n++;
    return watch_fd(p, fd, x, err);
}

int procs_adopt(struct procs *p, const struct ldvm_daemon *d, struct err *err)
{
    return procs_add(p, d->vpid, d->pid, false, err);
}

static void read_end(struct procs *p, struct proc *x, struct procs_event *e)
{
    *e = (struct procs_event){.kind = PROCS_ENDED, .vpid = x->vpid, .own = x->own};
    if (x->own && waitpid(x->pid, &e->wait_status, 0) != x->pid)
        e->own = false;
    forget_proc(p, x);
}

/* Its last word is 0: the far end is closed. */
static void read_peer(struct procs *p, struct procs_event *e)
{
    char word = 0;
    ssize_t n = read(p->peer, &word, 1);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 1)
        word = 0;
    *e = (struct procs_event){.kind = PROCS_PEER, .word = word};
    if (!e->word)
        (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->peer, NULL);
}

int64_t procs_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int left_ms(int64_t until_ms)
{
    int64_t left = until_ms - procs_now_ms();

    return left > 0 ? (int)left : 0;
}

int procs_next(struct procs *p, int timeout_ms, struct procs_event *e, struct err *err)
{
    int64_t until_ms = procs_now_ms() + timeout_ms;
    struct signalfd_siginfo info;
    struct epoll_event ev;
    int n;

    *e = (struct procs_event){.kind = PROCS_TIMEOUT};
    do {
        n = epoll_wait(p->epoll, &ev, 1, timeout_ms < 0 ? -1 : left_ms(until_ms));
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, errno, "epoll_wait");
    if (n == 0)
        return 0;
    if (ev.data.ptr == &p->peer) {
        read_peer(p, e);
    } else if (ev.data.ptr) {
        read_end(p, ev.data.ptr, e);
    } else if (read(p->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        e->kind = PROCS_SIGNAL;
        e->signum = (int)info.ssi_signo;
    }
    return 0;
}

bool procs_all_end(struct procs *p, int timeout_ms, procs_end_fn *tell, void *arg)
{
    int64_t until_ms = procs_now_ms() + timeout_ms;
    struct procs_event e;
    int left;

    while (procs_living(p) && (left = left_ms(until_ms)) > 0) {
        if (procs_next(p, left, &e, NULL) < 0)
            return false;
        if (procs_is_request(&e))
            break;
        if (e.kind == PROCS_ENDED && tell)
            tell(arg, e.vpid);
    }
    return procs_living(p) == 0;
}

size_t procs_requests(const struct procs *p, struct pollfd out[PROCS_REQUESTS])
{
    size_t n = 0;

    if (p->signals >= 0)
        out[n++] = (struct pollfd){.fd = p->signals, .events = POLLIN};
    if (p->peer >= 0)
        out[n++] = (struct pollfd){.fd = p->peer, .events = POLLIN};
    return n;
}

void procs_kill(struct procs *p, int signum)
{
    struct proc *x;

    DL_FOREACH(p->list, x)
    {
        /* By pidfd, so a later process with the same number is never signalled. */
        (void)syscall(SYS_pidfd_send_signal, x->pidfd, signum, NULL, 0);
    }
}

bool procs_kill_descendants(int timeout_ms)
{
    int64_t until_ms = procs_now_ms() + timeout_ms;
    size_t living;

    do {
        PROC_TREE_AUTO struct proc_tree t = {0};
        struct proc_stat st;

        living = 0;
        proc_tree_read(&t, getpid(), NULL, NULL);
        for (size_t i = 0; i < t.n; i++) {
            if (!proc_tree_stat(t.pids[i], &st) || st.state == 'Z')
                continue;
            living++;
            kill(t.pids[i], SIGKILL);
        }
        if (living)
            poll(NULL, 0, DESCENDANTS_MS); /* the kernel ends them, and gives this process more */
    } while (living && procs_now_ms() < until_ms);
    return living == 0;
}

char *procs_event_text(const struct procs_event *e)
{
    int s = e->wait_status;

    if (!e->own)
        return xstrdup("has ended");
    if (WIFSIGNALED(s))
        return xasprintf("was ended by signal %d (%s)", WTERMSIG(s), strsignal(WTERMSIG(s)));
    return xasprintf("ended with exit code %d", WEXITSTATUS(s));
}
