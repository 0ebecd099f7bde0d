/* SPDX-License-Identifier: BSD-3-Clause */
/* The codec of a job's map.
 *
 * In: the map that the head has made (jobs/job_map.c), or bytes. Out: bytes, or a map; of bytes
 * that no head has written a reason. In a decoded map each rank names a node that exists.
 *
 * A bound rank has the number of its hardware threads and their indexes, ascending; 0 is a rank
 * that is not bound. */
#include "dvm/protocol/head/journal/record_job_map.h"

#include "base/bitmap/bitmap.h"
#include "dvm/protocol/map/topo.h"
#include "dvm/protocol/wire/msg/msg.h"

#include <stdlib.h>
#include <string.h>

#define HOST_MAX 253
#define NOTE_MAX 1023
#define NODE_MIN 16 /* bytes of the smallest node */
#define RANK_MIN 8

static void put_threads(struct buf *b, hwloc_const_bitmap_t taken)
{
    int n = taken ? hwloc_bitmap_weight(taken) : 0;
    int thread = -1;

    buf_put_u16(b, (uint16_t)n);
    while (n-- > 0) {
        thread = hwloc_bitmap_next(taken, thread);
        buf_put_u16(b, (uint16_t)thread);
    }
}

static int get_threads(struct cur *c, hwloc_bitmap_t *taken, struct err *err)
{
    unsigned n = cur_u16(c);

    if (n > 0)
        *taken = bitmap_alloc();
    for (int last = -1; n > 0 && !c->bad; n--) {
        int thread = cur_u16(c);

        if (thread <= last || thread >= TOPO_PUS_MAX)
            return err_set(err, "hardware thread %d after %d", thread, last);
        bitmap_set(*taken, (unsigned)thread);
        last = thread;
    }
    return 0;
}

void record_job_map_put(struct buf *b, const struct record_job_map *r)
{
    buf_put_u64(b, r->number);
    buf_put_u32(b, r->universe);
    buf_put_u8(b, (uint8_t)r->bind);
    buf_put_str(b, r->note ? r->note : "");
    buf_put_u32(b, (uint32_t)r->nnodes);
    for (size_t i = 0; i < r->nnodes; i++) {
        buf_put_u32(b, r->nodes[i].vpid);
        buf_put_u64(b, r->nodes[i].epoch);
        buf_put_str(b, r->nodes[i].host);
    }
    buf_put_u8(b, r->taken != NULL);
    buf_put_u32(b, r->nranks);
    for (uint32_t i = 0; i < r->nranks; i++) {
        buf_put_u32(b, r->rank_node[i]);
        buf_put_u32(b, r->rank_app[i]);
        if (r->taken)
            put_threads(b, r->taken[i]);
    }
}

static int get_nodes(struct cur *c, struct record_job_map *r, struct err *err)
{
    r->nnodes = cur_count(c, JOB_RANKS_MAX, NODE_MIN);
    r->nodes = xcalloc(r->nnodes + 1, sizeof(*r->nodes));
    for (size_t i = 0; i < r->nnodes; i++) {
        r->nodes[i].vpid = cur_u32(c);
        r->nodes[i].epoch = cur_u64(c);
        r->nodes[i].host = cur_str(c, HOST_MAX);
        if (!vpid_allowed(r->nodes[i].vpid) || r->nodes[i].epoch == 0)
            return err_set(err, "vpid %u in the map of job %llu", r->nodes[i].vpid,
                           (unsigned long long)r->number);
    }
    return 0;
}

static int get_ranks(struct cur *c, struct record_job_map *r, bool bound, struct err *err)
{
    r->nranks = cur_count(c, JOB_RANKS_MAX, RANK_MIN);
    r->rank_node = xcalloc(r->nranks + 1, sizeof(*r->rank_node));
    r->rank_app = xcalloc(r->nranks + 1, sizeof(*r->rank_app));
    r->taken = bound ? xcalloc(r->nranks + 1, sizeof(*r->taken)) : NULL;
    for (uint32_t i = 0; i < r->nranks && !c->bad; i++) {
        r->rank_node[i] = cur_u32(c);
        r->rank_app[i] = cur_u32(c);
        if (r->rank_node[i] >= r->nnodes || r->rank_app[i] >= JOB_APPS_MAX)
            return err_set(err, "rank %u of job %llu is on node %u of %zu", i,
                           (unsigned long long)r->number, r->rank_node[i], r->nnodes);
        if (bound && get_threads(c, &r->taken[i], err) < 0)
            return -1;
    }
    return 0;
}

int record_job_map_get(struct cur *c, struct record_job_map *r, struct err *err)
{
    uint8_t bind, bound;
    char *note;

    r->number = cur_u64(c);
    r->universe = cur_u32(c);
    bind = cur_u8(c);
    note = cur_str(c, NOTE_MAX);
    r->note = note && note[0] ? note : NULL;
    if (!r->note)
        free(note);
    if (get_nodes(c, r, err) < 0)
        return -1;
    bound = cur_u8(c);
    if (get_ranks(c, r, bound != 0, err) < 0)
        return -1;
    if (c->bad || bind >= JOB_LEVELS || bound > 1)
        return err_set(err, "the map of job %llu is cut or out of its limits",
                       (unsigned long long)r->number);
    r->bind = (enum job_level)bind;
    return 0;
}

void record_job_map_copy(struct record_job_map *dst, const struct record_job_map *src)
{
    *dst = *src;
    dst->nodes = xcalloc(src->nnodes + 1, sizeof(*dst->nodes));
    for (size_t i = 0; i < src->nnodes; i++) {
        dst->nodes[i] = src->nodes[i];
        dst->nodes[i].host = xstrdup(src->nodes[i].host);
    }
    dst->rank_node = xcalloc(src->nranks + 1, sizeof(*dst->rank_node));
    dst->rank_app = xcalloc(src->nranks + 1, sizeof(*dst->rank_app));
    dst->taken = src->taken ? xcalloc(src->nranks + 1, sizeof(*dst->taken)) : NULL;
    for (uint32_t i = 0; i < src->nranks; i++) {
        dst->rank_node[i] = src->rank_node[i];
        dst->rank_app[i] = src->rank_app[i];
        if (src->taken && src->taken[i])
            dst->taken[i] = bitmap_dup(src->taken[i]);
    }
    dst->note = src->note ? xstrdup(src->note) : NULL;
}

void record_job_map_free(struct record_job_map *r)
{
    for (size_t i = 0; r->nodes && i < r->nnodes; i++)
        free(r->nodes[i].host);
    for (uint32_t i = 0; r->taken && i < r->nranks; i++) {
        if (r->taken[i])
            hwloc_bitmap_free(r->taken[i]);
    }
    free(r->nodes);
    free(r->rank_node);
    free(r->rank_app);
    free((void *)r->taken);
    free(r->note);
    *r = (struct record_job_map){0};
}
