/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that wait for slots: first come first served, and backfill. A job whose end is known, by its
 * --timeout, may start before an earlier one if it ends before that could start by all that is
 * known; but nobody is passed more often than JOB_QUEUE_PASSES_MAX. (EASY backfill: D. Lifka, "The
 * ANL/IBM SP scheduling system", JSSPP 1995; here with the limit, since most ends are not known.)
 */
#include "dvm/protocol/head/head_private.h"

#include <stdlib.h>
#include <utlist.h>

struct job *job_queue_before(const struct head *l, const struct job *j)
{
    struct job *k;

    DL_FOREACH(l->jobs, k)
    {
        if (k == j)
            return NULL;
        if (k->queued)
            return k;
    }
    return NULL;
}

static uint64_t free_slots(const struct head *l)
{
    uint64_t n = 0;

    for (uint32_t v = 1; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);

        if (m && m->state == MEMBER_WIRED && members_slots(l->members, m) > m->slots_used)
            n += members_slots(l->members, m) - m->slots_used;
    }
    return n;
}

static uint64_t held_slots(const struct job *j)
{
    uint64_t n = 0;

    for (uint32_t r = 0; j->mapped && r < j->map.nranks; r++)
        n += j->rank_slot[r] ? map_rank_slots(&j->map.spec) : 0;
    return n;
}

/* When the job is over at the latest if it starts now, or has started; UINT64_MAX: not known. */
static uint64_t end_of(const struct head *l, const struct job *j)
{
    if (j->deadline_ms)
        return j->deadline_ms;
    return j->map.spec.timeout_ms ? l->out->now_ms + j->map.spec.timeout_ms : UINT64_MAX;
}

/* The end after `after` that comes first, of a job that holds slots; UINT64_MAX: none is known. */
static uint64_t next_end(const struct head *l, uint64_t after, uint64_t *slots)
{
    uint64_t end = UINT64_MAX;
    const struct job *j;

    *slots = 0;
    DL_FOREACH(l->jobs, j)
    {
        uint64_t at = end_of(l, j);

        if (at == UINT64_MAX || at <= after || at > end || held_slots(j) == 0)
            continue;
        *slots = held_slots(j) + (at == end ? *slots : 0);
        end = at;
    }
    return end;
}

/* When there will be enough slots for the job by the ends that are known; UINT64_MAX: nobody knows.
 */
static uint64_t reservation(const struct head *l, const struct job *first)
{
    uint64_t wanted = job_slots_wanted(first);
    uint64_t slots = free_slots(l);
    uint64_t at = l->out->now_ms;

    while (slots < (wanted ? wanted : 1) && at != UINT64_MAX) {
        uint64_t more;

        at = next_end(l, at, &more);
        slots += more;
    }
    return at;
}

bool job_queue_may_pass(const struct head *l, const struct job *first, const struct job *j)
{
    return j->map.spec.timeout_ms && first->passed < JOB_QUEUE_PASSES_MAX &&
           end_of(l, j) <= reservation(l, first);
}

void job_queue_mapped(struct head *l, const struct job *j)
{
    struct job *first = job_queue_before(l, j);

    if (first)
        first->passed++;
}
