/* SPDX-License-Identifier: BSD-3-Clause */
/* At the end of a job: kills leftover processes of its ranks. */
#include "base/log/log.h"
#include "dvm/host/spawner/proc_tree.h"
#include "dvm/host/spawner/spawner_private.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define CLEAN_LOOKS 2 /* one walk of /proc can miss a process that is being re-parented */
#define LOOKS_MAX 100

struct spawner_sweep {
    uint64_t job;
    char mark[64];
    pid_t *sids; /* sessions of the job's ranks */
    size_t nsids;
    unsigned looks;
    unsigned clean;
    uint64_t due_ms;
    struct spawner_sweep *prev, *next;
};

static bool is_of_job(const struct spawner_sweep *w, pid_t pid, const struct proc_stat *st)
{
    FREE_AUTO char *mark = proc_tree_environ(pid, SPAWNER_MARK);

    if (mark)
        return strcmp(mark, w->mark) == 0;
    /* Without a readable environment the session decides. The number cannot be another rank's
     * session: that one would have a mark. A program that clears its environment and changes its
     * session stays until the daemon ends. */
    for (size_t i = 0; i < w->nsids; i++) {
        if (st->sid == w->sids[i])
            return true;
    }
    return false;
}

/* Live ranks and the daemon: their descendants are not leftovers. Usually there are no other
 * children. */
static bool is_in_use(pid_t pid, const void *arg)
{
    const struct spawner *sp = arg;
    const struct spawner_rank *r = NULL;

    HASH_FIND(by_pid, sp->by_pid, &pid, sizeof(pid), r);
    return r || pid == sp->daemon;
}

static void look_for_left(const struct spawner *sp, struct spawner_sweep *w)
{
    PROC_TREE_AUTO struct proc_tree t = {0};
    size_t found = 0;

    proc_tree_read(&t, getpid(), is_in_use, sp);
    for (size_t i = 0; i < t.n; i++) {
        struct proc_stat st;

        if (!proc_tree_stat(t.pids[i], &st) || st.state == 'Z' || !is_of_job(w, t.pids[i], &st))
            continue;
        found++;
        kill(t.pids[i], SIGKILL);
    }
    w->looks++;
    w->clean = found ? 0 : w->clean + 1;
    /* An orphan becomes a child of the subreaper, and stays one until it is reaped. If the daemon
     * is the only child, no process has been missed. */
    if (t.n == 0 && HASH_CNT(by_pid, sp->by_pid) == 0)
        w->clean = CLEAN_LOOKS;
}

static void free_sweep(struct spawner *sp, struct spawner_sweep *w)
{
    DL_DELETE(sp->sweeps, w);
    free(w->sids);
    free(w);
}

void spawner_sweep_start(struct spawner *sp, uint64_t job)
{
    struct spawner_sweep *w = xcalloc(1, sizeof(*w));
    struct spawner_rank *r;
    struct spawner_rank *next;

    w->job = job;
    snprintf(w->mark, sizeof(w->mark), "%016" PRIx64 ".%" PRIu64, sp->token, job);
    w->sids = xcalloc(HASH_CNT(by_id, sp->by_id), sizeof(*w->sids));
    HASH_ITER(by_id, sp->by_id, r, next)
    {
        if (r->job != job)
            continue;
        if (r->pid > 0)
            w->sids[w->nsids++] = r->pid;
        spawner_rank_free(sp, r);
    }
    DL_APPEND(sp->sweeps, w);
}

void spawner_sweep_turn(struct spawner *sp, uint64_t now_ms)
{
    struct spawner_sweep *w;
    struct spawner_sweep *next;

    DL_FOREACH_SAFE(sp->sweeps, w, next)
    {
        if (w->due_ms > now_ms)
            continue;
        look_for_left(sp, w);
        w->due_ms = now_ms + SPAWNER_RETRY_MS;
        if (w->clean < CLEAN_LOOKS && w->looks < LOOKS_MAX)
            continue;
        if (w->clean < CLEAN_LOOKS)
            log_warn("processes of an ended job cannot be killed job=%" PRIu64, w->job);
        free_sweep(sp, w);
    }
}

int spawner_sweep_wait(const struct spawner *sp, uint64_t now_ms)
{
    int wait_ms = -1;

    for (const struct spawner_sweep *w = sp->sweeps; w; w = w->next) {
        int ms = w->due_ms > now_ms ? (int)(w->due_ms - now_ms) : 0;

        if (wait_ms < 0 || ms < wait_ms)
            wait_ms = ms;
    }
    return wait_ms;
}
