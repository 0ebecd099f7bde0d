/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of a job as a record. One codec serves records, snapshots and copies. */
#ifndef DVM_HEAD_JOURNAL_RECORD_JOB_MAP_H
#define DVM_HEAD_JOURNAL_RECORD_JOB_MAP_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

#include <hwloc/bitmap.h>

struct record_job_map {
    uint64_t number;        /* of the job */
    uint32_t universe;      /* slots of the whole DVM when the job was mapped */
    size_t nnodes;          /* daemons with ranks of the job; 0: it is not mapped */
    struct job_node *nodes; /* their epochs are counters of this incarnation */
    uint32_t nranks;
    uint32_t *rank_node; /* [nranks] index into nodes */
    uint32_t *rank_app;  /* [nranks] index into the specification's applications */
    /* [nranks] hardware threads that the rank owns, numbered as in struct topo; NULL: not bound.
     * The array is NULL if no rank is bound. */
    hwloc_bitmap_t *taken;
    enum job_level bind; /* of the ranks that are bound */
    char *note;          /* why ranks are not bound, or NULL */
};

void record_job_map_put(struct buf *b, const struct record_job_map *r);
/* -1 and a reason; record_job_map_free() frees what was allocated. */
int record_job_map_get(struct cur *c, struct record_job_map *r, struct err *err)
    __attribute__((warn_unused_result));
/* Into an empty one. */
void record_job_map_copy(struct record_job_map *dst, const struct record_job_map *src);
/* It is empty afterwards. */
void record_job_map_free(struct record_job_map *r);

#endif
