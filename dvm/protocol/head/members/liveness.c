/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness: the decision which members are declared lost.
 *
 * In: losses that daemons report; removals that the head has applied; each member's report of a
 * removal; the time. Out: one urgent removal for all members that are lost now.
 *
 * A parent watches its own children only, and gets other children when these are lost. A silent
 * subtree would therefore be found layer by layer, each layer after the full limit. But every
 * member reports every removal to the head. So the head waits for the reports of one removal at a
 * time. After silent_ms it declares all members lost, together, that have not reported it, wherever
 * they are in the tree.
 *
 * States: idle; waiting for the reports of removal `op` until `due_ms`. When all daemons have
 * processed it the head waits for the last later removal, or is idle.
 *
 * A check that comes much later than its time shows that the head itself was stopped. Then the
 * wait begins anew, and no member is declared lost. */
#include "dvm/protocol/head/members/liveness.h"

#include "base/log/log.h"

#include <stdlib.h>

struct liveness {
    struct liveness_opts opts;
    struct out *out;
    struct members *members;
    struct op_queue *ops;
    uint64_t op;     /* the removal whose reports are waited for, */
    uint64_t due_ms; /* and by when; 0: idle */
    uint64_t last_op;
    uint64_t *reported; /* [n] by vpid: the last removal that it reported */
    uint32_t n;
};

struct liveness *liveness_create(const struct liveness_opts *o, struct out *out,
                                 struct members *members, struct op_queue *ops)
{
    struct liveness *v = xcalloc(1, sizeof(*v));

    v->opts = *o;
    v->out = out;
    v->members = members;
    v->ops = ops;
    return v;
}

void liveness_destroy(struct liveness *v)
{
    if (!v)
        return;
    free(v->reported);
    free(v);
}

void liveness_lost(struct liveness *v, uint32_t vpid, struct epoch epoch, const char *why)
{
    struct msg_target t = {vpid, epoch};
    struct msg m = {
        .type = MSG_REMOVE,
        .remove = {.why = REMOVE_LOST, .ntargets = 1, .targets = &t, .text = (char *)why}};

    if (vpid == VPID_HEAD || !members_current(v->members, vpid, epoch))
        return;
    if (op_queue_join_loss(v->ops, &t))
        return;
    out_log(v->out, LOG_LEVEL_WARN, "vpid %u (epoch %llu) is lost: %s", vpid,
            (unsigned long long)epoch.ctr, why);
    op_queue_add(v->ops, &m, true, NULL);
}

void liveness_reported(struct liveness *v, uint32_t vpid, uint64_t op)
{
    if (vpid >= v->n) {
        uint32_t n = vpid + vpid / 2 + 1;

        v->reported = xrealloc(v->reported, n * sizeof(*v->reported));
        while (v->n < n)
            v->reported[v->n++] = 0;
    }
    if (op > v->reported[vpid])
        v->reported[vpid] = op;
}

static void wait_for_reports(struct liveness *v, uint64_t op)
{
    v->op = op;
    v->due_ms = v->out->now_ms + v->opts.silent_ms;
}

/* A member that is added now has all earlier removals in its table. */
void liveness_applied(struct liveness *v, const struct msg *op)
{
    if (op->type == MSG_ADD) {
        for (size_t i = 0; i < op->add.nmembers; i++)
            liveness_reported(v, op->add.members[i].vpid, op->add.op);
    }
    if (op->type != MSG_REMOVE)
        return;
    v->last_op = op->remove.op;
    if (v->due_ms == 0)
        wait_for_reports(v, op->remove.op);
}

static void wait_for_next(struct liveness *v)
{
    if (v->last_op > op_queue_completed(v->ops) && v->last_op > v->op)
        wait_for_reports(v, v->last_op);
    else
        v->due_ms = 0;
}

void liveness_completed(struct liveness *v)
{
    if (v->due_ms && v->op <= op_queue_completed(v->ops))
        wait_for_next(v);
}

void liveness_succeed(struct liveness *v, uint64_t op)
{
    v->last_op = op;
    wait_for_reports(v, op);
}

void liveness_steps(struct liveness *v)
{
    uint64_t now = v->out->now_ms;
    uint64_t op = v->op;

    if (v->due_ms == 0 || v->due_ms > now)
        return;
    if (now - v->due_ms >= v->opts.late_ms) {
        wait_for_reports(v, op);
        return;
    }
    wait_for_next(v);
    for (uint32_t i = 1; i < v->members->n; i++) {
        if (members_live(v->members, i) && (i >= v->n || v->reported[i] < op))
            liveness_lost(v, i, members_epoch(v->members, members_get(v->members, i)),
                          "it has not answered a broadcast in time");
    }
}

uint64_t liveness_next_deadline(const struct liveness *v)
{
    return v->due_ms ? v->due_ms : UINT64_MAX;
}
