/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping by slot, by node and ppr. */
#include "dvm/map/map.h"

#include <stdlib.h>

static bool host_allowed(const struct job_spec *s, uint32_t vpid)
{
    for (size_t i = 0; i < s->nhosts; i++) {
        if (s->hosts[i] == vpid)
            return true;
    }
    return s->nhosts == 0;
}

static bool counts_slots(const struct job_spec *s)
{
    return !(s->flags & (JOB_TOOL | JOB_OVERSUBSCRIBE));
}

/* Nodes without a slot (the head, as a rule) take no ranks, oversubscribed or not. */
static uint32_t room(const struct job_spec *s, const struct map_node *n, bool free_only)
{
    if (!host_allowed(s, n->vpid) || n->slots == 0)
        return 0;
    if (!counts_slots(s))
        return UINT32_MAX / 2;
    return free_only ? n->slots - (n->used < n->slots ? n->used : n->slots) : n->slots;
}

static uint32_t default_ranks(const struct job_spec *s, const struct map_node *nodes, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (!host_allowed(s, nodes[i].vpid) || nodes[i].slots == 0)
            continue;
        if (s->map_by == JOB_MAP_BY_PPR)
            sum += s->ppr;
        else
            sum += counts_slots(s) ? room(s, &nodes[i], true) : nodes[i].slots;
    }
    return sum > JOB_RANKS_MAX ? JOB_RANKS_MAX : (uint32_t)sum;
}

uint32_t map_ranks(const struct job_spec *s, const struct map_node *nodes, size_t n)
{
    uint64_t sum = 0;

    for (size_t a = 0; a < s->napps; a++)
        sum += s->apps[a].nprocs ? s->apps[a].nprocs : default_ranks(s, nodes, n);
    return sum > JOB_RANKS_MAX ? JOB_RANKS_MAX : (uint32_t)sum;
}

static void fill_apps(const struct job_spec *s, const struct map_node *nodes, size_t n,
                      uint32_t ranks, uint32_t *rank_app)
{
    uint32_t r = 0;

    for (size_t a = 0; a < s->napps; a++) {
        uint32_t np = s->apps[a].nprocs ? s->apps[a].nprocs : default_ranks(s, nodes, n);

        for (uint32_t i = 0; i < np && r < ranks; i++)
            rank_app[r++] = (uint32_t)a;
    }
}

/* Deals ranks out: `chunk` per visit of a node, at most `cap` on one. Returns how many found a
 * place. */
static uint32_t deal(const struct job_spec *s, const struct map_node *nodes, size_t n,
                     uint32_t ranks, uint32_t chunk, uint32_t cap, uint32_t *rank_node)
{
    uint32_t *given = xcalloc(n + 1, sizeof *given);
    uint32_t r = 0;
    bool moved = true;

    while (r < ranks && moved) {
        moved = false;
        for (size_t i = 0; i < n && r < ranks; i++) {
            uint32_t left = room(s, &nodes[i], true);

            left = left < cap ? left : cap;
            for (uint32_t c = 0; c < chunk && r < ranks && given[i] < left; c++) {
                rank_node[r++] = (uint32_t)i;
                given[i]++;
                moved = true;
            }
        }
    }
    free(given);
    return r;
}

/* Oversubscribed by slot: fill the slots first, then go round. */
static uint32_t slot_chunk(const struct job_spec *s, const struct map_node *nodes, size_t n)
{
    uint32_t most = 1;

    if (counts_slots(s))
        return UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        most = nodes[i].slots > most ? nodes[i].slots : most;
    return most;
}

enum map_result map_job(const struct job_spec *s, const struct map_node *nodes, size_t n,
                        uint32_t *rank_node, uint32_t *rank_app, struct err *err)
{
    uint32_t ranks = map_ranks(s, nodes, n);
    uint32_t chunk = s->map_by == JOB_MAP_BY_NODE ? 1 : slot_chunk(s, nodes, n);
    uint32_t cap = UINT32_MAX;
    uint64_t total = 0;
    uint64_t free_now = 0;

    if (s->map_by == JOB_MAP_BY_PPR)
        chunk = cap = s->ppr;
    for (size_t i = 0; i < n; i++) {
        uint32_t all = room(s, &nodes[i], false);
        uint32_t now = room(s, &nodes[i], true);

        total += all < cap ? all : cap;
        free_now += now < cap ? now : cap;
    }
    if (ranks == 0) {
        err_set(err, "no slot is free now");
        return total ? MAP_NO_SLOTS : MAP_NEVER;
    }
    if (ranks > free_now || deal(s, nodes, n, ranks, chunk, cap, rank_node) < ranks) {
        err_set(err, "%u ranks need a slot each, %llu of %llu slots are free", ranks,
                (unsigned long long)free_now, (unsigned long long)total);
        return ranks > total ? MAP_NEVER : MAP_NO_SLOTS;
    }
    fill_apps(s, nodes, n, ranks, rank_app);
    return MAP_OK;
}
