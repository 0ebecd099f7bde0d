/* SPDX-License-Identifier: BSD-3-Clause */
/* What jobs with ranks here wait for, as far as this daemon's core knows it: a step of the daemon
 * that lasts, or ranks here that have not called a collective in which other daemons wait. */
#include "dvm/protocol/core/local_private.h"

#include "base/bitmap/bitmap.h"
#include "dvm/protocol/wire/wait.h"

#include <stdlib.h>
#include <string.h>

struct waits {
    const struct core *core;
    void (*on)(void *arg, const char *nspace, const char *text);
    void *arg;
    /* Names of one collective follow each other. */
    char kind;
    const struct local_job *job; /* NULL: no rank yet */
    hwloc_bitmap_t ranks;
};

static void tell_awaited(struct waits *w)
{
    FREE_AUTO char *ranks = w->job ? wait_ranks(w->ranks) : NULL;
    FREE_AUTO char *text = NULL;

    if (!w->job)
        return;
    text = xasprintf("%s: other daemons wait for %s", wait_collective(w->kind), ranks);
    w->on(w->arg, w->job->launch->nspace, text);
    w->job = NULL;
    hwloc_bitmap_zero(w->ranks);
}

static void on_awaited(void *arg, char kind, const char *nspace, uint32_t rank)
{
    struct waits *w = arg;
    const struct local_job *j = local_find_any(w->core, nspace);

    if (j != w->job || kind != w->kind)
        tell_awaited(w);
    w->kind = kind;
    for (uint32_t i = 0; j && i < j->nlocal; i++) {
        if ((rank != GATHER_RANK_ALL && rank != j->ranks[i].rank) || j->ranks[i].ends == RANK_LEFT)
            continue;
        w->job = j;
        bitmap_set(w->ranks, j->ranks[i].rank);
    }
}

/* Those that were told to end and have not. */
static char *ending_text(const struct local_job *j)
{
    hwloc_bitmap_t set = bitmap_alloc();
    FREE_AUTO char *ranks = NULL;

    for (uint32_t i = 0; i < j->nlocal; i++) {
        if (j->ranks[i].ends == RANK_RUNS)
            bitmap_set(set, j->ranks[i].rank);
    }
    if (!hwloc_bitmap_iszero(set))
        ranks = wait_ranks(set);
    hwloc_bitmap_free(set);
    return ranks ? xasprintf("%s: told to end, and not ended yet", ranks) : NULL;
}

/* NULL: the job waits for nothing here, or others tell it. */
static char *step_text(const struct core *c, const struct local_job *j)
{
    switch (j->state) {
    case RANKS_FILES:
        return xasprintf("vpid %u does not have all of its files yet", c->members.self);
    case RANKS_CHECKING:
        return xasprintf("vpid %u checks whether its ranks can start", c->members.self);
    case RANKS_ENDING:
        return ending_text(j);
    case RANKS_CLEANING:
        return xasprintf("vpid %u removes what its ranks have left", c->members.self);
    case RANKS_FLUSHING:
        return xasprintf("output of vpid %u has not been read by its submitter yet",
                         c->members.self);
    default:
        return NULL;
    }
}

size_t core_waits(const struct core *c, void (*on)(void *arg, const char *nspace, const char *text),
                  void *arg)
{
    struct waits w = {.core = c, .on = on, .arg = arg, .ranks = bitmap_alloc()};
    const struct local_job *j, *tmp;

    HASH_ITER(hh, c->jobs, j, tmp)
    {
        FREE_AUTO char *text = step_text(c, j);

        if (text)
            on(arg, j->launch->nspace, text);
    }
    gather_awaited(c->gather, on_awaited, &w);
    tell_awaited(&w);
    hwloc_bitmap_free(w.ranks);
    return HASH_COUNT(c->jobs);
}
