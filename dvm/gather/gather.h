/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with data (fence): gathered up and sent down a radix tree over the daemons that take
 * part. */
#ifndef DVM_GATHER_GATHER_H
#define DVM_GATHER_GATHER_H

#include "dvm/rml/rml.h"

#define GATHER_RADIX 32
#define GATHER_RUNNING_MAX 4096
#define GATHER_LOST (-1) /* outcome: a participant was lost, or never took part */

/* The tree is over the list of participants (position arithmetic), so it wakes nobody else and does
 * not change with the DVM. */
struct gather_op;
struct gather {
    struct out *out;
    struct rml *rml;
    struct members *members;
    struct gather_op *ops;   /* by (signature, sequence) */
    struct gather_seq *seqs; /* next sequence of each signature here */
};

void gather_init(struct gather *g, struct out *out, struct rml *rml, struct members *members);
void gather_free(struct gather *g);
/* Answered by OUT_GATHER with `req`. `vpids` ascending, this daemon among them. */
void gather_start(struct gather *g, uint64_t req, const void *sig, size_t siglen,
                  const uint32_t *vpids, size_t n, const void *data, size_t len);
void gather_up(struct gather *g, uint32_t from, const struct msg *m);
void gather_down(struct gather *g, const struct msg *m);
/* A daemon is gone: collectives that it takes part in end with GATHER_LOST. */
void gather_lost(struct gather *g, uint32_t vpid);
/* A job is over: signatures that contain its namespace's name are not numbered any further. */
void gather_forget(struct gather *g, const char *nspace);

#endif
