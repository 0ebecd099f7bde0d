/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks on this daemon that stop for a debugger. The head is notified when all ranks that are to
 * stop have stopped, and when none is stopped any more. The head orders them to continue. */
#include "dvm/protocol/core/local_private.h"

/* A rank that ends before it has stopped is not waited for. */
static void settle_stop(struct core *c, struct local_job *j, struct local_rank *r)
{
    if (r->stops && local_rank_mark(j, r, MARK_SETTLED))
        local_tell_held(c, j);
}

static void continue_ranks(struct core *c, const struct local_job *j, uint32_t rank)
{
    struct out_act *act = out_add(&c->out, OUT_CONTINUE);

    act->go_on = (struct out_go_on){xstrdup(j->launch->nspace), rank};
}

void local_hold_changed(struct core *c, struct local_job *j, struct local_rank *r, int before)
{
    if (!j->stop.nstop)
        return;
    if (r->state == PROC_READY_FOR_DEBUG && before != r->state) {
        j->stop.nheld++;
        settle_stop(c, j, r);
        if (j->stop.released)
            continue_ranks(c, j, r->rank);
    } else if (before == PROC_READY_FOR_DEBUG && r->state != before) {
        if (--j->stop.nheld == 0 && j->stop.told)
            local_tell_held(c, j);
    }
    if (r->state >= PROC_TERMINATED)
        settle_stop(c, j, r);
}

/* The spawner reports when a rank that stopped at its exec continues. The other ranks wait
 * inside PMIx for an event, which they get now. */
static void let_rank_go(struct core *c, struct local_job *j, struct local_rank *r)
{
    int before = r->state;

    if (before != PROC_READY_FOR_DEBUG || j->launch->spec.stop == JOB_STOP_EXEC)
        return;
    if (local_rank_step(c, j, r, PROC_EV_GO_ON) == 0 &&
        local_rank_step(c, j, r, PROC_EV_REGISTER) == 0)
        local_hold_changed(c, j, r, before);
}

void local_hold_continue(struct core *c, const struct frame *f, struct msg *m)
{
    struct local_job *j = local_find(c, m->go_on.nspace);
    uint32_t rank = m->go_on.rank;
    bool all = rank == JOB_RANK_ALL;

    if (!j || !j->stop.nstop || (!all && rank >= j->launch->nranks))
        return;
    continue_ranks(c, j, rank);
    j->stop.released |= all;
    for (uint32_t i = 0; i < j->nlocal; i++) {
        if (all || rank == j->ranks[i].rank)
            let_rank_go(c, j, &j->ranks[i]);
    }
}

void core_job_continue(struct core *c, const char *nspace, uint32_t rank)
{
    struct msg m = {.type = MSG_CONTINUE_ASK, .continue_ask = {(char *)nspace, rank}};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    core_settle(c);
}
