/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of dvm/protocol/map: a map while it is made. */
#ifndef DVM_MAP_MAP_PRIVATE_H
#define DVM_MAP_MAP_PRIVATE_H

#include "dvm/protocol/map/map.h"

#define WHY_MAX 256
#define NO_LIMIT (UINT32_MAX / 2)

enum bind_mode { BIND_OFF, BIND_IF_ROOM, BIND_MUST };

struct bin {       /* one node */
    uint32_t left; /* ranks that its slots can still take */
    enum bind_mode bind;
    uint16_t *load; /* a copy, made when first needed */
};

struct spot { /* a place for a rank, in the order of mapping */
    uint32_t node, part;
    uint32_t app;
    hwloc_bitmap_t taken;
};

struct work {
    const struct job_spec *spec;
    const struct map_node *nodes;
    size_t n;
    bool idle;            /* as if there were no other job */
    enum job_level level; /* of the parts to which ranks are distributed */
    enum job_level unit;  /* unit of `pe`: cores or hardware threads */
    enum job_level bind;  /* object that it is bound to */
    enum bind_mode mode;  /* of nodes that own their CPUs */
    uint32_t pe;
    uint32_t want;
    bool greedy; /* fewer than `want` are acceptable */
    struct bin *bins;
    struct spot *spots;
    uint32_t nspots;
    char why[WHY_MAX]; /* the first reason, beside slots, that kept a rank from a place */
    const char *note;
    uint32_t note_node;
};

/* bind.c: decisions about binding before the distribution; idle CPUs for one rank; the ranks
 * that are bound if there is room. */
void bind_plan(struct work *w);
void bind_node(struct work *w, uint32_t node);
hwloc_bitmap_t bind_take(struct work *w, uint32_t node, uint32_t part);
void bind_give(struct work *w, const struct spot *s);
void bind_rest(struct work *w);
/* rank.c: numbers the places; order[rank] is the place's index. */
void rank_order(const struct work *w, uint32_t *order);
void map_work_why(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
