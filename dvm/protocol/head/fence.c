/* SPDX-License-Identifier: BSD-3-Clause */
/* The launch fence: the sum of named holds; and the queue of membership operations. */
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void fence_raise(struct head *l, const char *name, uint32_t count)
{
    struct fence_share *h = xcalloc(1, sizeof *h);

    h->name = xstrdup(name);
    h->count = count;
    DL_APPEND(l->fence_shares, h);
    l->fence += count;
}

void fence_lower(struct head *l, const char *name)
{
    struct fence_share *h;

    DL_FOREACH(l->fence_shares, h)
    {
        if (strcmp(h->name, name) == 0)
            break;
    }
    if (!h || MUTANT(FORGET_HOLD))
        return;
    l->fence -= MUTANT(DECREMENT_TWICE) ? 2 * h->count : h->count;
    DL_DELETE(l->fence_shares, h);
    free(h->name);
    free(h);
    if (MUTANT(LOWER_ALL) && l->fence_shares)
        fence_lower(l, l->fence_shares->name);
    if (l->fence == 0)
        job_release_parked(l);
}

bool fence_defers(const struct head *l)
{
    const struct job *j;

    if (MUTANT(NO_DEFERRAL))
        return false;
    DL_FOREACH(l->jobs, j)
    {
        if (j->parked_ms && l->out->now_ms - j->parked_ms >= HEAD_PARKED_MAX_MS)
            return true;
    }
    return false;
}

/* The message's lists are copied by way of its own codec. */
void op_queue(struct head *l, const struct msg *m, bool urgent, struct campaign *c)
{
    struct pending_op *p = xcalloc(1, sizeof *p);
    struct buf b BUF_AUTO = {0};
    struct cur cur;

    buf_init(&b, MSG_DATA_MAX);
    msg_encode(&b, m);
    cur = cur_of(b.data, b.len);
    p->urgent = urgent;
    p->campaign = c;
    if (msg_decode(&cur, m->type, &p->msg, NULL) < 0) {
        free(p);
        return;
    }
    DL_APPEND(l->ops, p);
}

void op_drop(struct head *l, const struct campaign *c)
{
    struct pending_op *p, *tmp;

    DL_FOREACH_SAFE(l->ops, p, tmp)
    {
        if (p->campaign != c)
            continue;
        DL_DELETE(l->ops, p);
        msg_free(&p->msg);
        free(p);
    }
}

/* A joiner may have gone, or come again in another life, or a grow campaign may have claimed it,
 * while its batch waited. */
static bool drop_stale_joiners(struct head *l, struct msg *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->nmembers; i++) {
        if (head_joining(l, m->members[i].vpid, m->members[i].epoch) &&
            !grow_atomic_claims(l, m->members[i].vpid))
            m->members[kept++] = m->members[i];
        else
            msg_member_free(&m->members[i]);
    }
    m->nmembers = kept;
    return kept > 0;
}

/* One normal operation at a time; news of losses overtake, or the one before could wait for the
 * dead. */
bool head_next_op(struct head *l, struct msg *op)
{
    struct pending_op *p;

    DL_FOREACH(l->ops, p)
    {
        if (p->urgent || !l->normal_running)
            break;
    }
    if (!p)
        return false;
    DL_DELETE(l->ops, p);
    if (p->msg.type == MSG_ADD && !p->campaign && !drop_stale_joiners(l, &p->msg)) {
        msg_free(&p->msg);
        free(p);
        grow_completed(l);
        return head_next_op(l, op);
    }
    *op = p->msg;
    op->op = ++l->last_op;
    if (!p->urgent) {
        l->normal_running = true;
        l->normal_op = op->op;
    }
    if (op->type == MSG_ADD && !p->campaign)
        l->grow_op = op->op;
    if (op->type == MSG_SHUTDOWN)
        l->end_op = op->op;
    if (p->campaign)
        campaign_op_started(l, p->campaign, op->op);
    free(p);
    return true;
}

bool head_completed(struct head *l, uint64_t version)
{
    if (version <= l->complete)
        return false;
    l->complete = version;
    liveness_completed(l);
    if (l->normal_running && l->normal_op <= version)
        l->normal_running = false;
    if (l->grow_op && l->grow_op <= version)
        grow_completed(l);
    if (l->end_op && l->end_op <= version)
        l->ended = true;
    campaign_steps(l);
    return true;
}
