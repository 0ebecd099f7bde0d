/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over the daemon: while ranks run, its commands have to come.
 *
 * In: each command, which names a limit of time. The daemon sends one at least twice in a third of
 * that time (odls_watch.c). The spawner looks after each third. After two thirds in a row without
 * a command the daemon hangs: it is killed, and the ranks are ended as after any end of the daemon.
 *
 * Time in which the spawner was stopped too is not counted: commands that came meanwhile are read
 * first, and one third without a command has no effect. */
#include "base/log/log.h"
#include "dvm/host/spawner/spawner_private.h"

#include <inttypes.h>

#define SILENT_LOOKS 2

static bool is_watching(const struct spawner *sp)
{
    return sp->phase == SPAWNER_SERVING && sp->daemon && sp->limit_ms >= SPAWNER_LOOKS &&
           HASH_CNT(by_pid, sp->by_pid) > 0;
}

void spawner_watch_heard(struct spawner *sp, uint32_t limit_ms)
{
    sp->heard = true;
    sp->limit_ms = limit_ms;
}

static void end_daemon(struct spawner *sp, uint64_t now_ms)
{
    log_error("the daemon has sent nothing for %" PRIu32 " ms, it is killed pid=%d",
              sp->limit_ms / SPAWNER_LOOKS * SILENT_LOOKS, (int)sp->daemon);
    kill(sp->daemon, SIGKILL);
    spawner_end_start(sp, now_ms); /* also if the kernel cannot end it */
}

void spawner_watch_turn(struct spawner *sp, uint64_t now_ms)
{
    if (!is_watching(sp)) {
        sp->look_due_ms = 0;
        return;
    }
    if (sp->look_due_ms && now_ms < sp->look_due_ms)
        return;
    sp->silent_looks = sp->heard || !sp->look_due_ms ? 0 : sp->silent_looks + 1;
    sp->heard = false;
    sp->look_due_ms = now_ms + sp->limit_ms / SPAWNER_LOOKS;
    if (sp->silent_looks == SILENT_LOOKS)
        end_daemon(sp, now_ms);
}

int spawner_watch_wait(const struct spawner *sp, uint64_t now_ms)
{
    if (!is_watching(sp) || !sp->look_due_ms)
        return -1;
    return sp->look_due_ms > now_ms ? (int)(sp->look_due_ms - now_ms) : 0;
}
