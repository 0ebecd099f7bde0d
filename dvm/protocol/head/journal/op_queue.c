/* SPDX-License-Identifier: BSD-3-Clause */
/* Membership operations on their way to a broadcast.
 *
 * In: operations (add members, remove members, end the DVM) from members and campaigns; the version
 * that all daemons are known to have processed. Out: the next operation that may start, with its
 * number.
 *
 * States of an operation: waiting, started (numbered), complete. Numbers have no gaps. At most one
 * normal operation is started and not complete. A removal of lost daemons is urgent: it starts at
 * once, since the operation before it may be waiting for the acknowledgement of a lost daemon.
 * Several losses that wait become one removal.
 *
 * An owner (a campaign) may take its operation back until it starts. Later the operation runs to
 * its end, even without its owner. The queue is bounded by its users: one operation for a
 * campaign, one for a batch of joiners, one for all losses, one for the end. */
#include "dvm/protocol/head/journal/op_queue.h"

#include <stdlib.h>
#include <utlist.h>

struct pending_op {
    struct op op;
    struct pending_op *next, *prev;
};

struct op_queue {
    struct journal *journal;
    struct pending_op *waiting;
    /* the fold of the records OP_STARTED and COMPLETED */
    uint64_t last, complete;
    uint64_t normal; /* the last normal operation that was started */
    bool busy;       /* it is not complete */
};

static int fold_record(void *state, const struct record *r, struct err *err)
{
    struct op_queue *q = state;
    uint64_t number = r->type == RECORD_OP_STARTED ? msg_op(&r->op.msg) : 0;

    if (number && number != q->last + 1)
        return err_set(err, "operation %llu after %llu", (unsigned long long)number,
                       (unsigned long long)q->last);
    if (number) {
        q->last = number;
        q->busy |= !r->op.urgent;
        q->normal = r->op.urgent ? q->normal : number;
    } else if (r->type == RECORD_MEMBERS) {
        q->last = r->members.version;
    } else if (r->type == RECORD_COMPLETED) {
        q->complete = r->completed.version;
        q->busy = q->busy && q->normal > q->complete;
    }
    return 0;
}

static void save_state(const void *state, struct buf *b)
{
    const struct op_queue *q = state;

    buf_put_u64(b, q->last);
    buf_put_u64(b, q->complete);
    buf_put_u64(b, q->normal);
    buf_put_u8(b, q->busy);
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct op_queue *q = state;

    q->last = cur_u64(c);
    q->complete = cur_u64(c);
    q->normal = cur_u64(c);
    q->busy = msg_get_flag(c);
    return 0;
}

struct op_queue *op_queue_create(struct journal *j)
{
    struct op_queue *q = xcalloc(1, sizeof(*q));
    struct journal_part part = {q, fold_record, save_state, load_state};

    q->journal = j;
    journal_add_part(j, &part);
    return q;
}

static void drop_pending(struct op_queue *q, struct pending_op *p)
{
    DL_DELETE(q->waiting, p);
    msg_free(&p->op.msg);
    free(p);
}

void op_queue_destroy(struct op_queue *q)
{
    if (!q)
        return;
    while (q->waiting)
        drop_pending(q, q->waiting);
    free(q);
}

/* The message's lists are copied by way of its own codec. */
void op_queue_add(struct op_queue *q, const struct msg *m, bool urgent, const void *owner)
{
    struct pending_op *p = xcalloc(1, sizeof(*p));
    BUF_AUTO struct buf b = {0};
    struct cur cur;

    buf_init(&b, MSG_DATA_MAX);
    msg_encode(&b, m);
    cur = cur_of(b.data, b.len);
    p->op.urgent = urgent;
    p->op.owner = owner;
    if (msg_decode(&cur, m->type, &p->op.msg, NULL) < 0) {
        free(p);
        return;
    }
    DL_APPEND(q->waiting, p);
}

bool op_queue_join_loss(struct op_queue *q, const struct msg_target *t)
{
    struct pending_op *p;

    DL_FOREACH(q->waiting, p)
    {
        struct msg_remove *m = &p->op.msg.remove;

        if (p->op.msg.type != MSG_REMOVE || m->why != REMOVE_LOST)
            continue;
        for (size_t i = 0; i < m->ntargets; i++) {
            if (m->targets[i].vpid == t->vpid)
                return true;
        }
        m->targets = xrealloc(m->targets, (m->ntargets + 1) * sizeof(*m->targets));
        m->targets[m->ntargets++] = *t;
        return true;
    }
    return false;
}

void op_queue_drop(struct op_queue *q, const void *owner)
{
    struct pending_op *p, *tmp;

    DL_FOREACH_SAFE(q->waiting, p, tmp)
    {
        if (p->op.owner == owner)
            drop_pending(q, p);
    }
}

bool op_queue_take(struct op_queue *q, bool urgent, struct op *op)
{
    struct pending_op *p;

    DL_FOREACH(q->waiting, p)
    {
        if (p->op.urgent || (!urgent && !q->busy))
            break;
    }
    if (!p)
        return false;
    DL_DELETE(q->waiting, p);
    *op = p->op;
    free(p);
    return true;
}

uint64_t op_queue_start(struct op_queue *q, struct op *op)
{
    struct record r = {.type = RECORD_OP_STARTED, .op = {.urgent = op->urgent}};

    msg_set_op(&op->msg, q->last + 1);
    r.op.msg = op->msg;
    journal_note(q->journal, &r);
    return q->last;
}

bool op_queue_complete(struct op_queue *q, uint64_t version)
{
    struct record r = {.type = RECORD_COMPLETED, .completed.version = version};

    if (version <= q->complete)
        return false;
    journal_note(q->journal, &r);
    return true;
}

uint64_t op_queue_completed(const struct op_queue *q)
{
    return q->complete;
}

bool op_queue_busy(const struct op_queue *q)
{
    return q->busy;
}
