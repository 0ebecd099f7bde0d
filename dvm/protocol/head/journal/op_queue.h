/* SPDX-License-Identifier: BSD-3-Clause */
/* Membership operations that wait to be broadcast, and the numbers that they get. */
#ifndef DVM_HEAD_JOURNAL_OP_QUEUE_H
#define DVM_HEAD_JOURNAL_OP_QUEUE_H

#include "dvm/protocol/head/journal/journal.h"

#define OP_NOT_STARTED UINT64_MAX /* for an owner that keeps the number of a waiting operation */

struct op_queue;

struct op { /* one that leaves the queue */
    struct msg msg;
    bool urgent;
    const void *owner; /* as given to op_queue_add() */
};

/* A part of the journal, which it borrows: the numbers, and what is complete. Operations that wait
 * are not in it: they follow from members, campaigns and losses (docs/head.md). */
struct op_queue *op_queue_create(struct journal *j);
void op_queue_destroy(struct op_queue *q);
/* Copies the message. owner: notified when the operation starts; NULL: no owner. */
void op_queue_add(struct op_queue *q, const struct msg *m, bool urgent, const void *owner);
/* Adds a loss to a removal of lost daemons that waits, if it is not in it already; false: none
 * waits. */
bool op_queue_join_loss(struct op_queue *q, const struct msg_target *t);
/* Forgets the owner's operations that have not started. */
void op_queue_drop(struct op_queue *q, const void *owner);
/* The next operation that may start now; urgent: only an urgent one. The caller frees op->msg. */
bool op_queue_take(struct op_queue *q, bool urgent, struct op *op);
/* Numbers an operation that was taken. The number is also the membership version that the
 * operation makes. */
uint64_t op_queue_start(struct op_queue *q, struct op *op);
/* All daemons have processed all operations up to `version`; false: that was known. */
bool op_queue_complete(struct op_queue *q, uint64_t version);
uint64_t op_queue_completed(const struct op_queue *q);
/* True if a normal operation has started and is not complete. */
bool op_queue_busy(const struct op_queue *q);

#endif
