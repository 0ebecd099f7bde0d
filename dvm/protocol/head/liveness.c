/* SPDX-License-Identifier: BSD-3-Clause */
/* Members that fall silent together are judged together. Each parent judges its own children only,
 * and gets others when these are lost: one after the other, a silent subtree would take as many
 * times the limit as it has daemons that nobody else hears. But each member reports every removal
 * to the head, so whoever has not reported one in time is silent, wherever it hangs. */
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdlib.h>

static void heard(struct liveness *s, uint32_t vpid, uint64_t op)
{
    if (vpid >= s->n) {
        uint32_t n = vpid + vpid / 2 + 1;

        s->heard = xrealloc(s->heard, n * sizeof *s->heard);
        while (s->n < n)
            s->heard[s->n++] = 0;
    }
    if (op > s->heard[vpid])
        s->heard[vpid] = op;
}

void liveness_reported(struct head *l, uint32_t vpid, uint64_t op)
{
    heard(&l->liveness, vpid, op);
}

static void wait_for(struct head *l, uint64_t op)
{
    l->liveness.op = op;
    l->liveness.due_ms = l->out->now_ms + l->opts.silent_ms;
}

/* Who joins now has had what was before it. */
void liveness_applied(struct head *l, const struct msg *op)
{
    struct liveness *s = &l->liveness;

    if (op->type == MSG_ADD) {
        for (size_t i = 0; i < op->nmembers; i++)
            heard(s, op->members[i].vpid, op->op);
    }
    if (op->type != MSG_REMOVE)
        return;
    s->last_op = op->op;
    if (s->due_ms == 0 && !MUTANT(ONE_BY_ONE))
        wait_for(l, op->op);
}

static void next(struct head *l)
{
    struct liveness *s = &l->liveness;

    if (s->last_op > l->complete && s->last_op > s->op)
        wait_for(l, s->last_op);
    else
        s->due_ms = 0;
}

void liveness_completed(struct head *l)
{
    if (l->liveness.due_ms && l->liveness.op <= l->complete)
        next(l);
}

/* A tick that comes late tells of this daemon's own absence, not of others'. */
void liveness_steps(struct head *l)
{
    struct liveness *s = &l->liveness;
    uint64_t now = l->out->now_ms;
    uint64_t op = s->op;

    if (s->due_ms == 0 || s->due_ms > now)
        return;
    if (now - s->due_ms >= l->opts.ack_ms / 2) {
        wait_for(l, op);
        return;
    }
    next(l);
    for (uint32_t v = 1; v < l->members->n; v++) {
        if (members_live(l->members, v) && (v >= s->n || s->heard[v] < op))
            head_lost(l, v, members_epoch(l->members, members_get(l->members, v)),
                      "it has not answered a broadcast in time");
    }
}

uint64_t liveness_next_deadline(const struct head *l)
{
    return l->liveness.due_ms ? l->liveness.due_ms : UINT64_MAX;
}

void liveness_free(struct head *l)
{
    free(l->liveness.heard);
}
