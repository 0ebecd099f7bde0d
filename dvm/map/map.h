/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapper: which rank goes to which daemon. Pure. */
#ifndef DVM_MAP_MAP_H
#define DVM_MAP_MAP_H

#include "base/err/err.h"
#include "dvm/wire/job.h"

struct map_node { /* a daemon that may be mapped to, ascending by vpid */
    uint32_t vpid;
    uint32_t slots;
    uint32_t used;
};

enum map_result { MAP_OK, MAP_NO_SLOTS, MAP_NEVER };

/* Ranks the spec asks for on these nodes: the sum of its apps; an app without a number asks for
 * every free slot (by slot, node) or ppr per node. */
uint32_t map_ranks(const struct job_spec *s, const struct map_node *nodes, size_t n);
/* Fills rank_node and rank_app (of map_ranks() entries). by slot: fills each node in order; by
 * node: one each in turn; ppr: so many on each. MAP_NO_SLOTS: does not fit the free slots (err says
 * the numbers); MAP_NEVER: not even all slots. Tools and oversubscribed jobs count no slots. */
enum map_result map_job(const struct job_spec *s, const struct map_node *nodes, size_t n,
                        uint32_t *rank_node, uint32_t *rank_app, struct err *err);

#endif
