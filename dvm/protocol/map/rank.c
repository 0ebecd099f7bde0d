/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranker numbers the places that the mapper has found, the ranks of each application
 * together. */
#include "dvm/protocol/map/map_private.h"

#include <stdlib.h>

struct keyed {
    uint32_t app;
    uint32_t key[3];
    uint32_t place;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a;
    const struct keyed *y = b;

    if (x->app != y->app)
        return x->app < y->app ? -1 : 1;
    for (int i = 0; i < 3; i++) {
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

static enum job_rank_by policy_of(const struct job_spec *s)
{
    if (s->rank_by != JOB_RANK_BY_DEFAULT)
        return s->rank_by;
    if (s->map_by == JOB_MAP_BY_OBJECT || s->map_by == JOB_MAP_BY_PPR)
        return JOB_RANK_BY_FILL;
    return JOB_RANK_BY_DEFAULT; /* in mapping order */
}

/* Counts, for each place, the earlier places of the same application on its node, or on its part
 * of it. */
static void count_before(const struct work *w, bool on_part, struct keyed *v)
{
    uint32_t *parts = xcalloc(w->n + 1, sizeof(*parts)); /* index of each node's first part */
    uint32_t *count;
    uint32_t app = 0;

    for (size_t i = 0; i < w->n; i++)
        parts[i + 1] =
            parts[i] + (on_part && w->nodes[i].topo ? w->nodes[i].topo->count[w->level] : 1);
    count = xcalloc(parts[w->n] + 1, sizeof(*count));
    for (uint32_t k = 0; k < w->nspots; k++) {
        const struct spot *s = &w->spots[k];

        if (s->app != app) {
            for (uint32_t i = 0; i < parts[w->n]; i++)
                count[i] = 0;
            app = s->app;
        }
        v[k].key[0] = count[parts[s->node] + (on_part ? s->part : 0)]++;
    }
    free(count);
    free(parts);
}

void rank_order(const struct work *w, uint32_t *order)
{
    enum job_rank_by by = policy_of(w->spec);
    struct keyed *v = xcalloc(w->nspots, sizeof(*v));

    for (uint32_t k = 0; k < w->nspots; k++) {
        const struct spot *s = &w->spots[k];

        v[k].app = s->app;
        v[k].place = k;
        if (by != JOB_RANK_BY_DEFAULT)
            v[k].key[1] = s->node;
        if (by == JOB_RANK_BY_FILL || by == JOB_RANK_BY_SPAN)
            v[k].key[2] = s->part;
    }
    if (by == JOB_RANK_BY_NODE || by == JOB_RANK_BY_SPAN)
        count_before(w, by == JOB_RANK_BY_SPAN, v);
    if (by != JOB_RANK_BY_DEFAULT)
        qsort(v, w->nspots, sizeof(*v), by_key);
    for (uint32_t k = 0; k < w->nspots; k++)
        order[k] = v[k].place;
    free(v);
}
