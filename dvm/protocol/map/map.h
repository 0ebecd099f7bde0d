/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapper: which rank goes to which daemon, and which CPUs are its own. Pure. */
#ifndef DVM_MAP_MAP_H
#define DVM_MAP_MAP_H

#include "base/err/err.h"
#include "dvm/protocol/map/topo.h"
#include "dvm/protocol/wire/job.h"

#define MAP_SHOW_MAX (192u << 10) /* bytes of map_show() */

struct map_node { /* a daemon that may be mapped to, ascending by vpid */
    uint32_t vpid;
    uint32_t slots;
    uint32_t used;
    const char *host;
    const struct topo *topo; /* NULL: it has told none */
    const uint16_t *load;    /* [topo->npus] ranks that have it for their own; NULL: none */
};

enum map_result {
    MAP_OK,
    MAP_NO_SLOTS, /* not now */
    MAP_NEVER,    /* not even if all were idle: too many */
    MAP_HOPELESS, /* no daemon like those that are here can hold what is asked of one */
};

struct map {
    uint32_t nranks;
    uint32_t *rank_node; /* [nranks] index into the nodes given */
    uint32_t *rank_app;  /* [nranks] */
    /* [nranks] hardware threads (indexes in topo->pus) that are the rank's own; NULL: not bound.
     * Itself NULL if no rank is bound. */
    hwloc_bitmap_t *taken;
    enum job_level bind; /* what bound ranks are bound to: the parts of this level they touch */
    char *note;          /* why ranks are not bound that would be; NULL: nothing to say */
};

/* Slots that one rank takes: one, or as many as it has CPUs; tools none. */
uint32_t map_rank_slots(const struct job_spec *s);
/* Ranks are dealt out by slot (each node is filled in turn), by node (one each in turn), ppr (so
 * many on each part of each node) or by object (one on each part in turn until the node's slots are
 * used), and numbered by rank_by. An app without a number gets every free slot, or with ppr all
 * that this gives. Bound ranks get idle CPUs; with bind_to given the job waits for such, without it
 * ranks that find too few stay unbound. Oversubscribed jobs heed neither slots nor idleness; by
 * default they are not bound. On anything but MAP_OK err says why and nothing is left in *out. */
enum map_result map_job(const struct job_spec *s, const struct map_node *nodes, size_t n,
                        struct map *out, struct err *err) __attribute__((warn_unused_result));
void map_free(struct map *m);
/* A table for humans; what is over MAP_SHOW_MAX is counted, not shown. */
char *map_show(const char *nspace, const struct job_spec *s, const struct map_node *nodes,
               const struct map *m);

#endif
