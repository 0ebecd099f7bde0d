/* SPDX-License-Identifier: BSD-3-Clause */
/* Joiners that no campaign has asked for, wired in batches.
 *
 * In: members that have reported; the broadcast that adds them, processed by all daemons. Out: one
 * ADD for each batch; an event for each member that is wired.
 *
 * All members that have reported by now are one batch; while it is being wired the next one
 * gathers. Meanwhile the fence is up by their number. A batch waits while the fence defers, and
 * while another operation is on its way. Members count for mapping when all daemons have processed
 * the ADD, not when they are in the tree. If a shrink has named some of them in between, these
 * drain at once.
 *
 * A joiner is left out of a waiting batch if it has departed, has joined again in another epoch,
 * or is claimed by a grow campaign. */
#include "dvm/protocol/head/resize/grow.h"

#include "dvm/protocol/head/resize/campaign_private.h"

#include <stdlib.h>

#define GROW_FENCE_NAME "grow"

struct grow {
    struct campaigns *cs;
    uint64_t op;      /* the ADD that is on its way; OP_NOT_STARTED: it waits; 0: none */
    uint64_t batches; /* so far */
};

struct grow *grow_create(struct campaigns *cs)
{
    struct grow *g = xcalloc(1, sizeof(*g));

    g->cs = cs;
    return g;
}

void grow_destroy(struct grow *g)
{
    free(g);
}

bool grow_running(const struct grow *g)
{
    return g->op != 0;
}

uint64_t grow_batch(const struct grow *g, uint64_t *op)
{
    *op = g->op;
    return g->op ? g->batches : 0;
}

/* True unless a grow campaign claims the joiner and will wire it. */
static bool joins_alone(const struct campaigns *cs, uint32_t vpid)
{
    return members_get(cs->members, vpid)->state == MEMBER_REPORTED && !campaign_claims(cs, vpid);
}

/* All joiners that have reported by now become one batch, if none is being wired. */
void grow_steps(struct grow *g)
{
    struct campaigns *cs = g->cs;
    struct msg op = {.type = MSG_ADD};
    struct msg_add *add = &op.add;

    if (g->op || op_queue_busy(cs->ops) || incarnation_ending(cs->inc) || fence_defers(cs->fence))
        return;
    for (uint32_t v = 1; v < cs->members->n; v++) {
        const struct member *m = members_get(cs->members, v);

        if (m && joins_alone(cs, v))
            add->nmembers++;
    }
    if (add->nmembers == 0)
        return;
    add->members = xcalloc(add->nmembers, sizeof(*add->members));
    add->nmembers = 0;
    for (uint32_t v = 1; v < cs->members->n; v++) {
        const struct member *m = members_get(cs->members, v);

        if (m && joins_alone(cs, v))
            add->members[add->nmembers++] = members_facts(cs->members, v);
    }
    fence_raise(cs->fence, GROW_FENCE_NAME, (uint32_t)add->nmembers);
    g->batches++;
    g->op = OP_NOT_STARTED;
    op_queue_add(cs->ops, &op, false, NULL);
    for (size_t i = 0; i < add->nmembers; i++)
        msg_member_free(&add->members[i]);
    free(add->members);
}

bool grow_op_due(struct grow *g, struct msg_add *m)
{
    struct campaigns *cs = g->cs;
    size_t kept = 0;

    for (size_t i = 0; i < m->nmembers; i++) {
        if (roster_joining(cs->roster, m->members[i].vpid, m->members[i].epoch) &&
            !campaign_claims(cs, m->members[i].vpid))
            m->members[kept++] = m->members[i];
        else
            msg_member_free(&m->members[i]);
    }
    m->nmembers = kept;
    if (kept == 0)
        grow_end_batch(g);
    return kept > 0;
}

void grow_op_started(struct grow *g, uint64_t op)
{
    g->op = op;
}

/* Members that a completed ADD has put into the tree count as wired now. Those named by a shrink
 * in between drain instead. */
void grow_wire_added(struct campaigns *cs)
{
    for (uint32_t v = 1; v < cs->members->n; v++) {
        const struct member *m = members_get(cs->members, v);

        if (!m || m->state != MEMBER_REPORTED || !members_live(cs->members, v))
            continue;
        roster_step(cs->roster, m, campaign_names(cs, v) ? MEMBER_EV_NAME : MEMBER_EV_WIRE);
        event_log_add(cs->events, API_EVENT_DAEMON_WIRED, v, m->ctr, NULL);
    }
    jobs_kick(cs->jobs);
}

void grow_end_batch(struct grow *g)
{
    g->op = 0;
    grow_wire_added(g->cs);
    fence_lower(g->cs->fence, GROW_FENCE_NAME);
}

void grow_succeed(struct grow *g, uint64_t op)
{
    struct campaigns *cs = g->cs;
    uint32_t n = 0;

    for (uint32_t v = 1; v < cs->members->n; v++) {
        const struct member *m = members_get(cs->members, v);

        n += m && m->state == MEMBER_REPORTED && members_live(cs->members, v);
    }
    if (n == 0)
        return;
    fence_raise(cs->fence, GROW_FENCE_NAME, n);
    g->batches++;
    g->op = op;
}

void grow_completed(struct grow *g, uint64_t version)
{
    if (g->op && g->op <= version)
        grow_end_batch(g);
}
