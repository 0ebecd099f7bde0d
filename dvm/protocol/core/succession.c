/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's process is replaced by another one, and the DVM goes on.
 *
 * In, at the new head: the records of the former one (core_opts). Out: its state, an epoch of its
 * own, and one operation by which all daemons learn of it.
 *
 * In, at a member: the head's new epoch, by that operation or a snapshot. Out, to the new head: all
 * messages for the head that the former one has not acknowledged, in their order; what this daemon
 * knows of its jobs; a question for each client that waits for a job; each request for another size
 * whose answer or end is to come.
 *
 * Invariants: a message that was acknowledged is in the records, unless they come from a keeper
 * that was left behind. So a message is processed by one of the two heads at least, and each report
 * is counted once. Frames of the former head are of an earlier epoch, which is refused.
 *
 * Failures: records that cannot be taken are reported, and a new incarnation begins. Messages of
 * services to the head end with its epoch, as those to any daemon. Output goes again: a detached
 * job of a client at the head goes on, and the new head is its submitter's daemon. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#define LOTS 1024
#define EPOCHS_IN_LOT 64
#define NAMES_IN_LOT 1000

/* --- the new head */

void succession_forget(struct core *c)
{
    members_free(&c->members);
    members_init(&c->members, c->opts.vpid, c->opts.radix);
}

struct head *succession_take(struct core *c, const struct head_opts *o)
{
    struct head_opts heir = *o;
    struct err err = {0};
    struct head *h;

    heir.heritage = c->opts.heritage;
    heir.heritage_len = c->opts.heritage_len;
    h = head_create(&heir, &c->out, &c->members, c->rml, &err);
    if (h)
        return h;
    out_log(&c->out, LOG_LEVEL_WARN, "the records of the former head are of no use: %s", err.msg);
    c->asking.ended = err.code == ECANCELED;
    succession_forget(c);
    return NULL;
}

/* Keepers may lack the last records of a former head. It may have given epochs to itself and to
 * members, and names to jobs and campaigns. These are not given again. */
static struct head_skips draw_skips(const struct core *c)
{
    uint64_t lot = 1 + c->opts.incarnation % LOTS;

    if (!c->opts.keepers)
        return (struct head_skips){0, 0};
    return (struct head_skips){lot * EPOCHS_IN_LOT, lot * NAMES_IN_LOT};
}

void succession_begin(struct core *c)
{
    struct epoch former = members_epoch(&c->members, members_get(&c->members, VPID_HEAD));
    struct head_skips skips = draw_skips(c);
    struct msg op;

    c->clock_ahead = head_clock_ahead(c->head);
    head_succeed(c->head, &skips, &c->self, &op);
    rml_set_epoch(c->rml, c->self.epoch);
    apply_op(c, &op);
    c->heads = *head_heads(c->head);
    client_inherit_all(c);
    head_resume(c->head, former, msg_op(&op));
    client_ask_all(c);
    out_log(&c->out, LOG_LEVEL_INFO, "epoch %llu of the head goes on with the jobs of epoch %llu",
            (unsigned long long)c->self.epoch.ctr, (unsigned long long)former.ctr);
    msg_free(&op);
}

/* --- its members */

static void keep_frame(void *arg, const uint8_t *data, size_t len)
{
    struct succession *s = arg;
    struct buf *b;

    s->frames = xrealloc(s->frames, (s->n + 1) * sizeof(*s->frames));
    b = &s->frames[s->n++];
    *b = (struct buf){0};
    buf_init(b, len);
    buf_put_raw(b, data, len);
}

bool succession_is_near(const struct core *c, const struct msg_member *head)
{
    return !core_is_head(c) && head->vpid == VPID_HEAD && members_live(&c->members, VPID_HEAD) &&
           !members_current(&c->members, VPID_HEAD, head->epoch);
}

void succession_keep(const struct core *c, struct succession *s)
{
    *s = (struct succession){.near = true};
    for (int traffic = 0; traffic < CLASSES; traffic++)
        rml_each_unacked(c->rml, VPID_HEAD, (enum out_class)traffic, keep_frame, s);
}

void succession_drop(struct succession *s)
{
    for (size_t i = 0; i < s->n; i++)
        buf_free(&s->frames[i]);
    free(s->frames);
    *s = (struct succession){0};
}

/* A request for another size is kept until its end, and repeated from there. */
static bool is_for_heir(unsigned type)
{
    return origin_of(type) == ORIGIN_TO_HEAD && type != MSG_RESIZE_ASK;
}

/* The loss of a child was reported to nobody, and it may have come back since. If it has not, it is
 * reported again after its time (neigh_update()). A report that all was repeated was for the former
 * head. */
static bool is_past(const struct core *c, const struct msg *m)
{
    return (m->type == MSG_LOST && m->lost.who.vpid != c->opts.vpid) ||
           (m->type == MSG_REPORT && m->report.all);
}

/* Output of jobs whose client is at the head. If the new head does not have that client, it drops
 * the output. */
static bool is_output(const struct frame *f)
{
    return f->type == MSG_APP && f->traffic == CLASS_BULK;
}

static void send_again(struct core *c, const struct buf *b)
{
    struct cur cur = cur_of(b->data, b->len);
    struct frame f;
    struct msg m;

    if (frame_decode(&cur, &f, NULL) < 0 || !(is_for_heir(f.type) || is_output(&f)) ||
        msg_decode(&cur, f.type, &m, NULL) < 0)
        return;
    if (m.type == MSG_EXITED)
        local_rank_note_orders(c, &m.exited);
    if (!is_past(c, &m))
        core_send(c, VPID_HEAD, (enum out_class)f.traffic, &m);
    msg_free(&m);
}

void succession_leave_former(struct core *c)
{
    const struct member *head = members_get(&c->members, VPID_HEAD);
    struct neighbour *k, *tmp;

    apply_forget_peer(c, VPID_HEAD, REMOVE_SHRINK);
    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        if (k->vpid != VPID_HEAD || !neighbour_is_greeted(k) || k->epoch.ctr >= head->ctr)
            continue; /* it may be a later one, of which the next operation tells */
        if (k->id == c->parent_id)
            c->parent_id = 0;
        neighbours_close(c->neighbours, k, true);
    }
}

void succession_learn(struct core *c, struct succession *s)
{
    if (!s->near)
        return;
    out_log(&c->out, LOG_LEVEL_INFO, "the head has another process: %zu messages go again", s->n);
    for (size_t i = 0; i < s->n; i++)
        send_again(c, &s->frames[i]);
    succession_drop(s);
    local_report_all(c);
    client_ask_all(c);
    local_resize_ask_all(c);
    local_report_end(c);
}
