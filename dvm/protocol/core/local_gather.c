/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks here as participants of collectives: on which daemons they are, and whether they can
 * still contribute.
 *
 * In: the end of a rank's process, and the report that the PMIx server takes nothing more of it
 * (core_rank_left()). Out: answers to questions of the collectives (dvm/protocol/gather), which
 * contribute for ranks that have left.
 *
 * Order: the PMIx server may report a rank's last contribution after the end of its process. So a
 * daemon contributes for a rank only after core_rank_left(), which comes behind that report.
 *
 * Failures: a rank that has ended before its PMIx_Init was never there for the ranks that wait for
 * it, as in their MPI_Init. Their collective is lost, and the job ends as if that rank had called
 * PMIx_Abort, unless the job is recoverable. */
#include "dvm/protocol/core/local_private.h"

/* The epoch does not matter: a collective with ranks of an ended epoch is lost in any case. */
static bool has_rank(const struct job_launch *l, uint32_t rank, uint32_t vpid)
{
    if (rank == GATHER_RANK_ALL)
        return job_launch_node(l, vpid) >= 0;
    return rank < l->nranks && l->nodes[l->rank_node[rank]].vpid == vpid;
}

enum gather_part local_gather_part_of(void *core, const char *nspace, uint32_t rank, uint32_t vpid)
{
    const struct local_job *j = local_find_any(core, nspace);

    if (!j)
        return GATHER_JOB_UNKNOWN;
    return has_rank(j->launch, rank, vpid) ? GATHER_TAKES_PART : GATHER_OUTSIDE;
}

static bool is_absent(const struct local_rank *r)
{
    return r->ends != RANK_RUNS && !(r->marks & 1u << MARK_REGISTERED);
}

static unsigned state_of(const struct local_rank *r)
{
    return (r->ends == RANK_LEFT ? GATHER_RANKS_LEFT : GATHER_RANKS_LIVE) |
           (is_absent(r) ? GATHER_RANKS_ABSENT : 0);
}

static void end_without(struct core *c, struct local_job *j, const struct local_rank *r)
{
    if (j->former || j->absent || j->launch->spec.flags & JOB_RECOVERABLE)
        return;
    j->absent = true;
    local_abort(c, j->launch->nspace, r->rank, 1,
                "it has ended before PMIx_Init, and other ranks wait for it");
}

unsigned local_gather_awaited(void *core, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(core, nspace);
    unsigned all = 0;

    for (uint32_t i = 0; j && i < j->nlocal; i++) {
        const struct local_rank *r = &j->ranks[i];

        if (rank != GATHER_RANK_ALL && r->rank != rank)
            continue;
        all |= state_of(r);
        if (is_absent(r))
            end_without(core, j, r);
        if (!j->nended) /* the others are as this one */
            break;
    }
    return all;
}

void core_rank_ended(struct core *c, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(c, nspace);
    struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    if (!r || r->ends != RANK_RUNS)
        return;
    r->ends = RANK_ENDED;
    j->nended++;
}

void core_rank_left(struct core *c, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(c, nspace);
    struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    if (!r)
        return;
    core_rank_ended(c, nspace, rank);
    r->ends = RANK_LEFT;
    gather_rank_left(c->gather, nspace);
    core_settle(c);
}

bool core_has_left(const struct core *c, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(c, nspace);
    const struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    return r ? r->ends == RANK_LEFT : !j && local_has_ended(c, nspace);
}
