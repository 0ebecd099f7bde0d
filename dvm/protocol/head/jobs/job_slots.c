/* SPDX-License-Identifier: BSD-3-Clause */
/* The account of a job's ranks with their members: slots and hardware threads. */
#include "dvm/protocol/head/jobs/job_private.h"

uint64_t job_slots_wanted(const struct job *j)
{
    const struct job_spec *s = &j->map.spec;
    uint64_t slots = 0;

    for (size_t a = 0; a < s->napps; a++)
        slots += (uint64_t)s->apps[a].nprocs * map_rank_slots(s);
    return slots;
}

void job_slots_take(struct jobs *js, struct job *j, uint32_t rank)
{
    const struct job_node *n = &j->map.nodes[j->map.rank_node[rank]];

    if (j->map.spec.flags & JOB_TOOL)
        return;
    j->ranks[rank].has_slots = true;
    slots_take(js->slots, n->vpid, incarnation_epoch(js->inc, n->epoch),
               map_rank_slots(&j->map.spec), j->ranks[rank].taken);
}

/* Gives back exactly the slots and threads that it took. */
void job_slots_give(struct jobs *js, struct job *j, uint32_t rank)
{
    const struct job_node *n = &j->map.nodes[j->map.rank_node[rank]];

    if (j->ranks[rank].has_slots)
        slots_give(js->slots, n->vpid, incarnation_epoch(js->inc, n->epoch),
                   map_rank_slots(&j->map.spec), j->ranks[rank].taken);
    j->ranks[rank].has_slots = false;
    js->kick = true;
}

uint64_t job_slots_held(const struct job *j)
{
    uint64_t n = 0;

    for (uint32_t r = 0; j->mapped && r < j->map.nranks; r++)
        n += j->ranks[r].has_slots ? map_rank_slots(&j->map.spec) : 0;
    return n;
}
