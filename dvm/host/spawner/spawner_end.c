/* SPDX-License-Identifier: BSD-3-Clause */
/* The end, once the daemon has ended or has closed its socket: every descendant gets SIGTERM and,
 * after a grace, SIGKILL. */
#include "base/log/log.h"
#include "dvm/host/spawner/proc_tree.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_daemon(pid_t pid, const void *arg)
{
    const struct spawner *sp = arg;

    return pid == sp->daemon;
}

/* Signals all descendants except the daemon, while it runs, and its own children. Returns how many
 * there are. */
static size_t signal_all(const struct spawner *sp, int signum)
{
    PROC_TREE_AUTO struct proc_tree t = {0};
    size_t n = 0;

    proc_tree_read(&t, getpid(), is_daemon, sp);
    for (size_t i = 0; i < t.n; i++) {
        struct proc_stat st;

        if (!proc_tree_stat(t.pids[i], &st) || st.state == 'Z')
            continue;
        n++;
        kill(t.pids[i], signum);
    }
    return n;
}

/* After the daemon is reaped, waitpid(2) shows whether a child is left. */
static bool is_alone(const struct spawner *sp)
{
    PROC_TREE_AUTO struct proc_tree t = {0};

    if (!sp->daemon)
        return waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) < 0 &&
               errno == ECHILD;
    proc_tree_read(&t, getpid(), is_daemon, sp);
    return t.n == 0;
}

void spawner_end_start(struct spawner *sp, uint64_t now_ms)
{
    bool first = sp->phase == SPAWNER_SERVING;
    size_t n;

    sp->phase = SPAWNER_ASKING;
    sp->phase_due_ms = now_ms + sp->grace_ms;
    n = signal_all(sp, SIGTERM);
    signal_all(sp, SIGCONT);
    if (n && first)
        log_warn("the daemon %s, its processes are ended processes=%zu",
                 sp->daemon ? "has closed its socket" : "has ended", n);
}

void spawner_end_turn(struct spawner *sp, uint64_t now_ms)
{
    if (sp->phase == SPAWNER_SERVING || sp->phase == SPAWNER_EMPTY)
        return;
    if (is_alone(sp)) {
        sp->phase = SPAWNER_EMPTY;
        return;
    }
    if (sp->phase == SPAWNER_ASKING && now_ms >= sp->phase_due_ms) {
        sp->phase = SPAWNER_KILLING;
        sp->phase_due_ms = now_ms + SPAWNER_GIVE_UP_MS;
    }
    if (sp->phase != SPAWNER_KILLING)
        return;
    if (now_ms >= sp->phase_due_ms) {
        log_error("processes cannot be killed, they are left processes=%zu",
                  signal_all(sp, SIGKILL));
        sp->phase = SPAWNER_EMPTY;
        return;
    }
    signal_all(sp, SIGKILL);
}

int spawner_end_wait(const struct spawner *sp, uint64_t now_ms)
{
    if (sp->phase == SPAWNER_ASKING)
        return sp->phase_due_ms > now_ms ? (int)(sp->phase_due_ms - now_ms) : 0;
    return sp->phase == SPAWNER_KILLING ? SPAWNER_RETRY_MS : -1;
}
