/* SPDX-License-Identifier: BSD-3-Clause */
/* Members that are declared lost: one by one after a report, and together when they are silent. */
#ifndef DVM_HEAD_MEMBERS_LIVENESS_H
#define DVM_HEAD_MEMBERS_LIVENESS_H

#include "dvm/protocol/head/journal/op_queue.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/out/out.h"

struct liveness;

struct liveness_opts {
    uint64_t
        silent_ms; /* time without the report of a removal after which a member is declared lost */
    uint64_t late_ms; /* a check that is so much too late shows nothing about others */
};

/* Borrows all but the options. */
struct liveness *liveness_create(const struct liveness_opts *o, struct out *out,
                                 struct members *members, struct op_queue *ops);
void liveness_destroy(struct liveness *v);
/* A member in this epoch has departed for good: its removal is broadcast (several at once are
 * one operation). A report about another epoch, or a repeated one, changes nothing. */
void liveness_lost(struct liveness *v, uint32_t vpid, struct epoch epoch, const char *why);
/* The member has reported that it has processed the removal `op`. */
void liveness_reported(struct liveness *v, uint32_t vpid, uint64_t op);
/* The head has applied an operation; all daemons have processed it. */
void liveness_applied(struct liveness *v, const struct msg *op);
void liveness_completed(struct liveness *v);
/* This process is the head from the operation on: all members are to report it. */
void liveness_succeed(struct liveness *v, uint64_t op);
void liveness_steps(struct liveness *v);
uint64_t liveness_next_deadline(const struct liveness *v); /* UINT64_MAX: none */

#endif
