/* SPDX-License-Identifier: BSD-3-Clause */
/* Draining: the jobs that a shrink waits for, and how it ends them.
 *
 * In: a shrink that drains, and the jobs. Out: the jobs that keep it from removing its targets; or
 * their end, by drain mode Kill or after the deadline; jobs that are given back. A recoverable job
 * loses its ranks on the targets and goes on.
 *
 * A job keeps a shrink waiting if something of it is left on a target. So does a running job
 * whose submitter is connected to a target: prun would lose it. Jobs that are not sent yet do
 * not: they are held, and mapped anew. If the prun of such a job is at a target, the job is given
 * back before the removal: it ends here, and prun may submit it at another daemon. */
#include "dvm/protocol/head/resize/drain.h"

#include "dvm/protocol/head/resize/campaign_private.h"
#include "dvm/protocol/wire/exit_code.h"

#include <stdlib.h>

static bool home_on_targets(const struct job *j, const struct campaign *c)
{
    struct msg_target home = job_submitter(j);
    const struct campaign_target *t = campaign_table_target(c, home.vpid);

    return t && epoch_eq(home.epoch, t->id.epoch);
}

static bool runs_on_targets(const struct job *j, const struct campaign *c)
{
    const struct job_launch *map = job_map(j);

    if (!job_running(j))
        return false;
    if (home_on_targets(j, c))
        return true;
    for (size_t i = 0; i < map->nnodes; i++) {
        if (job_on_node(j, i) && campaign_table_target(c, map->nodes[i].vpid))
            return true;
    }
    return false;
}

static struct api_job_ref ref_of(const struct job *j, const struct campaign *c)
{
    const struct job_launch *map = job_map(j);
    struct api_job_ref ref = {.job = xstrdup(map->nspace)};

    ref.ranks = xcalloc((size_t)map->nranks + 1, sizeof(*ref.ranks));
    for (uint32_t r = 0; r < map->nranks; r++) {
        if (campaign_table_target(c, map->nodes[map->rank_node[r]].vpid))
            ref.ranks[ref.nranks++] = r;
    }
    return ref;
}

size_t drain_waits(const struct campaigns *cs, const struct campaign *c, struct api_job_ref **out)
{
    const struct job *j;
    size_t n = 0;

    if (out)
        *out = xcalloc(jobs_count(cs->jobs) + 1, sizeof(**out));
    for (j = jobs_first(cs->jobs); j; j = job_next(j)) {
        if (!runs_on_targets(j, c))
            continue;
        if (out)
            (*out)[n] = ref_of(j, c);
        n++;
    }
    return n;
}

/* A recoverable job goes on if its submitter stays, and something of it runs elsewhere. */
static bool outlives_targets(const struct job *j, const struct campaign *c)
{
    const struct job_launch *map = job_map(j);

    if (!job_outlives(j) || home_on_targets(j, c))
        return false;
    for (size_t i = 0; i < map->nnodes; i++) {
        if (job_on_node(j, i) && !campaign_table_target(c, map->nodes[i].vpid))
            return true;
    }
    return false;
}

/* False: it has been done. */
static bool end_ranks_there(struct campaigns *cs, struct job *j, const struct campaign *c)
{
    const struct job_launch *map = job_map(j);
    bool any = false;

    for (size_t i = 0; i < map->nnodes; i++) {
        if (campaign_table_target(c, map->nodes[i].vpid) && job_drain_node(cs->jobs, j, i))
            any = true;
    }
    return any;
}

static void note_ended(struct campaigns *cs, const struct job *j, const struct campaign *c)
{
    struct api_job_ref ref = ref_of(j, c);

    campaign_note_job(cs, c, &ref);
    free(ref.job);
    free(ref.ranks);
}

void drain_end_jobs(struct campaigns *cs, const struct campaign *c)
{
    struct job *j;

    campaign_note_job(cs, c, NULL);
    for (j = jobs_first(cs->jobs); j; j = job_next(j)) {
        if (job_failing(j) || !runs_on_targets(j, c))
            continue;
        if (outlives_targets(j, c)) {
            if (end_ranks_there(cs, j, c))
                note_ended(cs, j, c);
            continue;
        }
        note_ended(cs, j, c);
        job_fail(cs->jobs, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "ended by the shrink %s (drain %s)",
                 c->id, c->req.drain_mode == API_DRAIN_KILL ? "mode Kill" : "deadline");
    }
}

bool drain_give_back(struct campaigns *cs, const struct campaign *c)
{
    struct job *j;
    bool any = false;

    for (j = jobs_first(cs->jobs); j; j = job_next(j)) {
        if (home_on_targets(j, c) && job_give_back(cs->jobs, j))
            any = true;
    }
    return any;
}
