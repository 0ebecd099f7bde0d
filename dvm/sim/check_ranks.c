/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of lost ranks to daemons: each rank once, and before the job's end. */
#include "dvm/sim/check_private.h"

#include <stdlib.h>
#include <string.h>

#define THE_JOB UINT32_MAX /* as a rank: the job's end */

static struct seen_told key_of(const struct check *c, uint32_t vpid, const char *nspace,
                               uint32_t rank)
{
    struct seen_told key;

    memset(&key, 0, sizeof(key));
    key.id.vpid = vpid;
    key.id.rank = rank;
    key.id.life = sim_life(c->sim, vpid);
    memccpy(key.id.nspace, nspace, 0, sizeof(key.id.nspace) - 1);
    return key;
}

static bool was_told(const struct check *c, uint32_t vpid, const char *nspace, uint32_t rank)
{
    struct seen_told key = key_of(c, vpid, nspace, rank);
    struct seen_told *x;

    HASH_FIND(hh, c->told, &key.id, sizeof(key.id), x);
    return x;
}

static void note_rank(struct check *c, uint32_t vpid, const char *nspace, uint32_t rank)
{
    struct seen_told *x = xcalloc(1, sizeof(*x));

    x->id = key_of(c, vpid, nspace, rank).id;
    HASH_ADD(hh, c->told, id, sizeof(x->id), x);
}

void check_ranks_lost(struct check *c, uint32_t vpid, const struct msg_ranks_lost *m)
{
    if (was_told(c, vpid, m->nspace, THE_JOB))
        check_fail(c, "loss-once", "vpid %u is notified of lost ranks of job %s after its end",
                   vpid, m->nspace);
    for (size_t i = 0; i < m->nranks; i++) {
        uint32_t rank = m->ranks[i].rank;

        if (was_told(c, vpid, m->nspace, rank))
            check_fail(c, "loss-once", "vpid %u is notified twice of rank %u of job %s", vpid, rank,
                       m->nspace);
        else
            note_rank(c, vpid, m->nspace, rank);
    }
}

void check_ranks_ended(struct check *c, uint32_t vpid, const char *nspace)
{
    if (!was_told(c, vpid, nspace, THE_JOB))
        note_rank(c, vpid, nspace, THE_JOB);
}

static bool has_ended(const struct check *c, const struct seen_told *x)
{
    struct seen_told key = *x, *end;

    key.id.rank = THE_JOB;
    HASH_FIND(hh, c->told, &key.id, sizeof(key.id), end);
    return end;
}

/* The records may lack the end of a job: the head lets its daemons end it once more, and they have
 * forgotten its losses. Whoever asked for them may hear of the same losses and the end again. */
void check_ranks_again(struct check *c)
{
    struct seen_told *x, *tmp;

    HASH_ITER(hh, c->told, x, tmp)
    {
        if (x->id.rank == THE_JOB || !has_ended(c, x))
            continue;
        HASH_DEL(c->told, x);
        free(x);
    }
    HASH_ITER(hh, c->told, x, tmp)
    {
        if (x->id.rank != THE_JOB)
            continue;
        HASH_DEL(c->told, x);
        free(x);
    }
}

void check_ranks_free(struct check *c)
{
    struct seen_told *x, *tmp;

    HASH_ITER(hh, c->told, x, tmp)
    {
        HASH_DEL(c->told, x);
        free(x);
    }
}
