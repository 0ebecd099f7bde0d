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
 * Each time slots become free, all jobs that wait are tried again. The first one is mapped. For the
 * others one answer is computed, whether the first is stuck, so the cost grows with their number,
 * not with its square. */
#include "dvm/protocol/head/jobs/job_private.h"

#include <utlist.h>

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

/* The latest end time of a job that starts now, or has started; UINT64_MAX: not known. */
static uint64_t end_of(const struct jobs *js, const struct job *j)
{
    if (job_deadline(j))
        return job_deadline(j);
    return j->map.spec.timeout_ms ? js->out->now_ms + j->map.spec.timeout_ms : UINT64_MAX;
}

/* The first end time later than `after` of a job that holds slots; UINT64_MAX: none is known. */
static uint64_t next_end(const struct jobs *js, uint64_t after, uint64_t *slots)
{
    uint64_t end = UINT64_MAX;
    const struct job *j;

    *slots = 0;
    DL_FOREACH(js->list, j)
    {
        uint64_t at = end_of(js, j);

        if (at == UINT64_MAX || at <= after || at > end || job_slots_held(j) == 0)
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

    while (slots < (wanted ? wanted : 1) && at != UINT64_MAX) {
        uint64_t more;

        at = next_end(js, at, &more);
        slots += more;
    }
    return at;
}

/* Its wait does not end by the ends of other jobs: it is too large for the DVM at its present size,
 * or fits only after the end of jobs that wait for a job behind it. */
static bool is_stuck(struct jobs *js, const struct job *first)
{
    struct job_stuck *known = &js->stuck;

    if (known->number != first->kept->accepted.number || known->changes != js->changes) {
        known->stuck = !job_map_has_hope(js, first, job_family_mark_waiting(js));
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

void job_queue_mapped(struct jobs *js, const struct job *j)
{
    struct job *first = job_queue_before(js, j);

    if (first)
        first->passed++;
}
