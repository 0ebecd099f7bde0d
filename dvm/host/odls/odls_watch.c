/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over the spawner: it has to answer while an answer is due. If it does not, it is
 * declared lost, and all processes of its ranks are ended. */
#include "base/log/log.h"
#include "dvm/host/odls/odls_private.h"
#include "dvm/host/spawner/orphans.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define ORPHANS_MS 2000

static bool is_wanted(const struct odls *o)
{
    return o->procs || o->sends || o->ncleaning;
}

void odls_watch_start(struct odls *o)
{
    if (o->watching || o->lost)
        return;
    o->watching = true;
    o->heard = true;
    o->missed = 0;
    loop_timer_arm(o->ping, o->times.silent_ms / 2);
}

void odls_watch_heard(struct odls *o)
{
    o->heard = true;
}

static void count_missed(struct odls *o)
{
    char why[96];

    if (++o->missed == 1) {
        log_warn("the spawner does not answer, it gets SIGCONT pid=%d", (int)o->spawner);
        kill(o->spawner, SIGCONT); /* the spawner may be stopped */
        return;
    }
    snprintf(why, sizeof(why), "it has not answered for %" PRIu64 " ms", o->times.silent_ms);
    /* As process 1 of a pod it cannot be killed from inside. Its ranks are ended below, and the
     * kubelet ends the container when this daemon no longer answers its probe. */
    kill(o->spawner, SIGKILL);
    odls_lose(o, why);
}

void odls_watch_on_due(void *arg)
{
    struct odls *o = arg;

    o->watching = is_wanted(o);
    if (!o->watching)
        return;
    if (o->heard) {
        o->missed = 0;
        o->heard = false;
        odls_send_queue(o, odls_send_new(SPAWN_CMD_PING));
    } else {
        count_missed(o);
    }
    if (!o->lost)
        loop_timer_arm(o->ping, o->times.silent_ms / 2);
}

/* No process of a rank outlives the spawner. The session number of a reaped rank may be in use
 * again, so only the mark identifies what such a rank has left. */
static void end_orphans(struct odls *o)
{
    FREE_AUTO pid_t *sids = xcalloc(HASH_COUNT(o->procs), sizeof(*sids));
    struct odls_proc *p;
    struct odls_proc *next;
    size_t n = 0;
    size_t left;

    HASH_ITER(hh, o->procs, p, next)
    {
        if (p->state == ODLS_RUNNING)
            sids[n++] = p->pid;
    }
    left = orphans_end(o->token, sids, n, ORPHANS_MS);
    if (left)
        log_error("processes of ranks cannot be killed, they are left processes=%zu", left);
}

void odls_lose(struct odls *o, const char *why)
{
    o->lost = true;
    loop_fd_set(o->watch, 0);
    loop_timer_disarm(o->retry);
    loop_timer_disarm(o->ping);
    odls_send_free_all(o);
    end_orphans(o);
    o->up.on_spawner_lost(why, o->arg);
}
