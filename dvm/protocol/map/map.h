/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapper: which rank goes to which daemon, and which CPUs it owns. Pure. */
#ifndef DVM_MAP_MAP_H
#define DVM_MAP_MAP_H

#include "base/err/err.h"
#include "dvm/protocol/map/topo.h"
#include "dvm/protocol/wire/job.h"

#define MAP_SHOW_MAX (192u << 10) /* bytes of map_show() */

struct map_node { /* a daemon that may take ranks; ascending by vpid */
    uint32_t vpid;
    uint32_t slots;
    uint32_t used;
    const char *host;
    const struct topo *topo; /* NULL: it has reported none */
    const uint16_t *load;    /* [topo->npus] number of ranks that own it; NULL: none */
};

enum map_result {
    MAP_OK,
    MAP_NO_SLOTS, /* does not fit now */
    MAP_NEVER,    /* does not fit even if all were idle */
    MAP_HOPELESS, /* no daemon like the present ones can hold its share */
};

struct map {
    uint32_t nranks;
    uint32_t *rank_node; /* [nranks] index into the nodes given */
    uint32_t *rank_app;  /* [nranks] */
    /* [nranks] hardware threads (indexes in topo->pus) that the rank owns; NULL: not bound. The
     * array is NULL if no rank is bound. */
    hwloc_bitmap_t *taken;
    enum job_level bind; /* bound ranks are bound to the parts of this level that they touch */
    char *note; /* why ranks are not bound that would be by default; NULL: no reason to report */
};

/* Slots that one rank takes: one, or as many as its CPUs; none for a tool. */
uint32_t map_rank_slots(const struct job_spec *s);
/* Ranks are distributed by slot (each node is filled in turn), by node (one each in turn), by
 * ppr (so many on each part of each node) or by object (one on each part in turn until the
 * node's slots are used), and numbered by rank_by. An app without a number gets every free slot,
 * or with ppr all that it yields. Bound ranks get idle CPUs. With bind_to the job waits for
 * them; without it, ranks that find too few stay unbound. Oversubscribed jobs ignore slots and
 * idleness, and are not bound by default. On any result but MAP_OK err has the reason and *out
 * is empty. */
enum map_result map_job(const struct job_spec *s, const struct map_node *nodes, size_t n,
                        struct map *out, struct err *err) __attribute__((warn_unused_result));
void map_free(struct map *m);
/* A table for people; lines beyond MAP_SHOW_MAX are counted, not shown. */
char *map_show(const char *nspace, const struct job_spec *s, const struct map_node *nodes,
               const struct map *m);

#endif
