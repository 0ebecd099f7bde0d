/* SPDX-License-Identifier: BSD-3-Clause */
/* Joiners that no campaign has asked for: wired in batches as they call home. */
#ifndef DVM_HEAD_RESIZE_GROW_H
#define DVM_HEAD_RESIZE_GROW_H

#include "dvm/protocol/wire/msg/msg.h"

struct campaigns;
struct grow;

struct grow *grow_create(struct campaigns *cs); /* borrows */
void grow_destroy(struct grow *g);
void grow_steps(struct grow *g);
/* Joiners that have departed or were claimed while the batch waited are left out of its
 * operation; false: none is left, and the batch has ended. */
bool grow_op_due(struct grow *g, struct msg_add *m);
void grow_op_started(struct grow *g, uint64_t op);
/* All daemons have processed all operations up to `version`. */
/* A new head: members that the tree has and that do not count as wired are a batch, which ends with
 * operation `op`. */
void grow_succeed(struct grow *g, uint64_t op);
void grow_completed(struct grow *g, uint64_t version);
void grow_end_batch(struct grow *g);
/* The added members count as wired from now on. */
void grow_wire_added(struct campaigns *cs);
bool grow_running(const struct grow *g); /* a batch waits or is being wired */
/* The batch, numbered from 1, and its operation (OP_NOT_STARTED: it waits). */
uint64_t grow_batch(const struct grow *g, uint64_t *op);

#endif
