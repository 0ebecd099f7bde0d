/* SPDX-License-Identifier: BSD-3-Clause */
/* A read-only look at the head's records, for whoever checks invariants (dvm/sim). */
#ifndef DVM_HEAD_HEAD_INSPECT_H
#define DVM_HEAD_HEAD_INSPECT_H

#include "dvm/protocol/head/head.h"
#include "dvm/protocol/head/resize/resize.h"

/* For jobs_each(). */
const struct jobs *head_inspect_jobs(const struct head *h);
/* For resize_each_campaign() and its like. */
const struct resize *head_inspect_resize(const struct head *h);
/* The batch of joiners that is being wired: numbered from 1, and its broadcast (OP_NOT_STARTED: it
 * waits for its turn). {0, 0}: there is none. */
struct inspect_batch {
    uint64_t number, op;
};
struct inspect_batch head_inspect_batch(const struct head *h);
uint32_t head_inspect_bound(const struct head *h);
/* Ranks that have each hardware thread of a daemon for their own; NULL: it has told none, or none
 * was ever taken. */
const uint16_t *head_inspect_load(const struct head *h, uint32_t vpid, uint32_t *n);

#endif
