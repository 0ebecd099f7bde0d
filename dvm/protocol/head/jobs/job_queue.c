/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that wait for slots: first come, first served, with backfill.
 *
 * In: a job that is about to be mapped; the known end times of other jobs. Out: the first job that
 * waits before it, and whether the job may pass.
 *
 * A job with a --timeout may start before an earlier one if it ends before that one could start,
 * by all known end times. A job is passed at most JOB_QUEUE_PASSES_MAX times, since most end
 * times are not known. (EASY backfill: D. Lifka, "The ANL/IBM SP scheduling system", JSSPP
 * 1995.)
 *
 * A rank that spawns a job waits for its start, and holds its own slots. So a job waits for ever
 * if it fits only when the ancestors of waiting jobs have ended. A job that was accepted before a
 * shrink may be too large now; it waits until the DVM has grown. Any job may pass such a job.
 *
 * A spawned job whose family would wait for itself, or for families that wait for it, is not
 * queued (job_queue_in_circle()). Circles are closed by a new spawned job, by a shrink, or by a
 * grow that fails and ends the jobs that need it (grow_atomic.c).
 *
 * Each time slots become free, all jobs that wait are tried again. The first one is mapped. For the
 * others one answer is computed, whether the first is stuck, so the cost grows with their number,
 * not with its square. */
#include "dvm/protocol/head/jobs/job_private.h"

#include <utlist.h>

#define LOOKS_MAX 4096 /* at jobs that wait, for one new job; beyond that it waits too */

struct job *job_queue_before(const struct jobs *js, const struct job *j)
{
    struct job *k;

    DL_FOREACH(js->list, k)
    {
        if (k == j)
            return NULL;
        if (k->queued)
            return k;
    }
    return NULL;
}

/* The latest end time of a job that starts now, or has started; UINT64_MAX: not known. A job whose
 * time limit has passed is about to end. */
static uint64_t end_of(const struct jobs *js, const struct job *j)
{
    uint64_t now = js->out->now_ms;

    if (job_deadline(j) || j->timed_out)
        return job_deadline(j) > now ? job_deadline(j) : now;
    return j->map.spec.timeout_ms ? now + j->map.spec.timeout_ms : UINT64_MAX;
}

/* The first end time, not before `from`, of a job that holds slots; UINT64_MAX: none is known. */
static uint64_t next_end(const struct jobs *js, uint64_t from, uint64_t *slots)
{
    uint64_t end = UINT64_MAX;
    const struct job *j;

    *slots = 0;
    DL_FOREACH(js->list, j)
    {
        uint64_t at = end_of(js, j);

        if (at == UINT64_MAX || at < from || at > end || job_slots_held(j) == 0)
            continue;
        *slots = job_slots_held(j) + (at == end ? *slots : 0);
        end = at;
    }
    return end;
}

/* The time at which enough slots are free for the job, by the known end times; UINT64_MAX: not
 * known. */
static uint64_t slots_free_at(const struct jobs *js, const struct job *first)
{
    uint64_t wanted = job_slots_wanted(first);
    uint64_t slots = slots_free(js->slots);
    uint64_t at = js->out->now_ms;
    uint64_t from = at;

    while (slots < (wanted ? wanted : 1) && at != UINT64_MAX) {
        uint64_t more;

        at = next_end(js, from, &more);
        slots += more;
        from = at + 1;
    }
    return at;
}

/* Its wait does not end by the ends of other jobs: it is too large for the DVM at its present size,
 * or fits only after the end of jobs that wait for a job behind it. */
static bool is_stuck(struct jobs *js, const struct job *first)
{
    struct job_stuck *known = &js->stuck;

    if (known->number != first->kept->accepted.number || known->changes != js->changes) {
        known->stuck = !job_map_has_hope(js, first, job_family_mark_waiting(js, false),
                                         size_bound_now(js->bound));
        known->number = first->kept->accepted.number;
        known->changes = js->changes;
    }
    return known->stuck;
}

bool job_queue_may_pass(struct jobs *js, const struct job *first, const struct job *j)
{
    if (is_stuck(js, first))
        return true;
    return j->map.spec.timeout_ms && first->passed < JOB_QUEUE_PASSES_MAX &&
           end_of(js, j) <= slots_free_at(js, first);
}

/* One more of the spawned jobs that wait is known to start, since it fits when all jobs have ended
 * that wait for none. False: there is no other one, or too many have been looked at. */
static bool find_starting(struct jobs *js, const struct job *j, uint64_t mark, uint32_t bound,
                          unsigned *looks)
{
    bool found = false;
    struct job *k;

    DL_FOREACH(js->list, k)
    {
        if (k == j || k->starts || !job_family_waits(js, k))
            continue;
        if (++*looks > LOOKS_MAX)
            return false;
        k->starts = job_map_has_hope(js, k, mark, bound);
        found = found || k->starts;
    }
    return found && *looks <= LOOKS_MAX;
}

bool job_queue_in_circle(struct jobs *js, const struct job *j, uint32_t bound)
{
    unsigned looks = 0;
    uint64_t mark;
    struct job *k;

    if (!job_family_mark(js, j))
        return false;
    DL_FOREACH(js->list, k)
    {
        k->starts = false;
    }
    do {
        mark = job_family_mark_waiting(js, true);
        if (job_map_has_hope(js, j, mark, bound))
            return false;
    } while (find_starting(js, j, mark, bound, &looks));
    return looks <= LOOKS_MAX;
}

void job_queue_mapped(struct jobs *js, const struct job *j)
{
    struct job *first = job_queue_before(js, j);

    if (first)
        first->passed++;
}
