/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of the DVM: the operator's size, and the bound that campaigns have derived from it. */
#ifndef DVM_HEAD_MEMBERS_SIZE_BOUND_H
#define DVM_HEAD_MEMBERS_SIZE_BOUND_H

#include "api/reason.h"
#include "api/size.h"
#include "base/err/err.h"
#include "dvm/protocol/head/journal/journal.h"

struct size_bound;

/* A part of the journal, which it borrows. The first size is in the record BEGIN; 0: none. */
struct size_bound *size_bound_create(struct journal *j);
void size_bound_destroy(struct size_bound *b);
/* The highest vpid that is admitted. */
uint32_t size_bound_now(const struct size_bound *b);
void size_bound_set(struct size_bound *b, uint32_t bound);
/* The bound by the size in force and by campaigns whose records are forgotten. */
uint32_t size_bound_base(const struct size_bound *b);
void size_bound_rebase(struct size_bound *b, uint32_t base);
/* The highest vpid that the operator or a campaign has ever included. */
uint32_t size_bound_known(const struct size_bound *b);
uint64_t size_bound_sequence(const struct size_bound *b); /* 0: no size message has come */
/* A size was given at the start or by message. */
bool size_bound_given(const struct size_bound *b);
/* Limits for requests of applications. */
const struct api_size_limits *size_bound_limits(const struct size_bound *b);
/* Puts a size into force. 1: the bound is the size now and has changed. 0: the bound is
 * unchanged (as after the same message again). -1: refused, with the HTTP status in err and a
 * word in *reason. */
int size_bound_put(struct size_bound *b, const struct api_size *s, enum api_reason *reason,
                   struct err *err) __attribute__((warn_unused_result));
struct api_size size_bound_record(const struct size_bound *b);

#endif
