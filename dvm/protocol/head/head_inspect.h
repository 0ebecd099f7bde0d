/* SPDX-License-Identifier: BSD-3-Clause */
/* A read-only look at the head's records, for whoever checks invariants (dvm/sim). */
#ifndef DVM_HEAD_HEAD_INSPECT_H
#define DVM_HEAD_HEAD_INSPECT_H

#include "dvm/protocol/head/head.h"
#include "dvm/protocol/state/state.h"

/* Everything is borrowed and valid during the call only. */
struct inspect_job {
    const char *nspace;
    const char *reason;
    int state;
    int exit_code;
    bool mapped, sent, queued;
    uint32_t home_vpid;
    uint32_t nranks; /* 0 while not mapped */
    size_t nnodes;
    const struct job_node *nodes;
    const uint32_t *rank_node;
    const bool *rank_slot;
    const hwloc_bitmap_t *rank_taken; /* NULL: no rank is bound */
    const int *rank_state;
};

struct inspect_campaign {
    const char *id;
    enum api_kind kind;
    enum api_phase phase;
    bool has_requester;
    uint64_t op;
    size_t ntargets;
    const struct campaign *record;
};
struct inspect_target {
    uint32_t vpid;
    struct epoch epoch; /* none: nobody was there */
    bool added;         /* a grow has wired it, or began to */
};
struct inspect_target head_inspect_target(const struct inspect_campaign *c, size_t i);
uint32_t head_inspect_bound(const struct head *l);

void head_inspect_jobs(const struct head *l, void (*on)(void *arg, const struct inspect_job *j),
                       void *arg);
void head_inspect_campaigns(const struct head *l,
                            void (*on)(void *arg, const struct inspect_campaign *c), void *arg);
void head_inspect_fence_shares(const struct head *l,
                               void (*on)(void *arg, const char *name, uint32_t count), void *arg);
/* Ranks that have each hardware thread of a daemon for their own; NULL: it has told none, or none
 * was ever taken. */
const uint16_t *head_inspect_load(const struct head *l, uint32_t vpid, uint32_t *n);
uint32_t head_inspect_fence(const struct head *l);
bool head_inspect_growing(const struct head *l);
/* The batch of joiners that is being wired: numbered from 1, and its broadcast (UINT64_MAX: waits
 * for its turn). {0, 0}: there is none. */
struct inspect_batch {
    uint64_t number, op;
};
struct inspect_batch head_inspect_batch(const struct head *l);

#endif
