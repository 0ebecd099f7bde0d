/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the causes for which jobs with ranks here wait and that the core knows: a step of the
 * daemon that lasts, or ranks here that have not called a collective in which other daemons wait.
 */
#include "dvm/protocol/core/local_private.h"

#include "base/bitmap/bitmap.h"
#include "dvm/protocol/gather/signature.h"
#include "dvm/protocol/wire/wait.h"

#include <stdlib.h>
#include <string.h>

struct waits {
    const struct core *core;
    void (*on)(void *arg, const struct core_wait *w);
    void *arg;
};

static const char *kind_of(const struct gather_look *g)
{
    return wait_collective(*(const char *)g->sig);
}

static void tell_job(const struct waits *w, const struct gather_look *g, const struct local_job *j,
                     const char *text)
{
    struct core_wait x = {
        .kind = *(const char *)g->sig, .id = g->id, .nspace = j->launch->nspace, .text = text};

    w->on(w->arg, &x);
}

static void add_ranks(const struct local_job *j, uint32_t rank, hwloc_bitmap_t set)
{
    for (uint32_t i = 0; i < j->nlocal; i++) {
        if ((rank == GATHER_RANK_ALL || rank == j->ranks[i].rank) && j->ranks[i].ends != RANK_LEFT)
            bitmap_set(set, j->ranks[i].rank);
    }
}

/* Of the job's ranks here that the signature names. */
static void tell_awaited(const struct waits *w, const struct gather_look *g,
                         const struct local_job *j)
{
    hwloc_bitmap_t set = bitmap_alloc();
    struct signature_name name;
    FREE_AUTO char *ranks = NULL;
    FREE_AUTO char *text = NULL;

    for (size_t at = 0; signature_next(g->sig, g->siglen, &at, &name);) {
        if (strcmp(name.nspace, j->launch->nspace) == 0)
            add_ranks(j, name.rank, set);
    }
    ranks = wait_ranks(set);
    text = xasprintf("%s: other daemons wait for %s", kind_of(g), ranks);
    if (!hwloc_bitmap_iszero(set))
        tell_job(w, g, j, text);
    hwloc_bitmap_free(set);
}

/* The first named job that has no ranks here; NULL: there is none. */
static const char *find_other(const struct waits *w, const struct gather_look *g)
{
    struct signature_name name;

    for (size_t at = 0; signature_next(g->sig, g->siglen, &at, &name);) {
        if (name.rank != GATHER_RANK_NONE && !local_find_any(w->core, name.nspace))
            return name.nspace;
    }
    return NULL;
}

static void on_collective(void *arg, const struct gather_look *g)
{
    const struct waits *w = arg;
    const char *other = g->begun ? find_other(w, g) : NULL;
    const struct local_job *before = NULL;
    struct signature_name name;

    for (size_t at = 0; signature_next(g->sig, g->siglen, &at, &name);) {
        const struct local_job *j = local_find_any(w->core, name.nspace);
        FREE_AUTO char *text = other ? xasprintf("%s: waits for job %s", kind_of(g), other) : NULL;

        if (!j || j == before) /* names of one job follow each other */
            continue;
        before = j;
        if (text)
            tell_job(w, g, j, text);
        else if (!g->begun)
            tell_awaited(w, g, j);
    }
}

static bool is_running(const struct local_rank *r)
{
    return r->ends == RANK_RUNS && r->marks & 1u << MARK_ATTEMPTED &&
           !(r->marks & 1u << MARK_FAILED);
}

/* Those that were told to end and have not. */
static char *ending_text(const struct local_job *j)
{
    hwloc_bitmap_t set = bitmap_alloc();
    FREE_AUTO char *ranks = NULL;

    for (uint32_t i = 0; i < j->nlocal; i++) {
        if (is_running(&j->ranks[i]))
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

size_t core_waits(const struct core *c, void (*on)(void *arg, const struct core_wait *w), void *arg)
{
    struct waits w = {c, on, arg};
    const struct local_job *j, *tmp;

    HASH_ITER(hh, c->jobs, j, tmp)
    {
        FREE_AUTO char *text = step_text(c, j);
        struct core_wait x = {
            .kind = 's', .id = (uint64_t)j->state, .nspace = j->launch->nspace, .text = text};

        if (text)
            on(arg, &x);
    }
    gather_each(c->gather, on_collective, &w);
    return HASH_COUNT(c->jobs);
}
