/* SPDX-License-Identifier: BSD-3-Clause */
/* Grow campaigns: the daemons of all targets are wired, or none is. */
#ifndef DVM_HEAD_RESIZE_GROW_ATOMIC_H
#define DVM_HEAD_RESIZE_GROW_ATOMIC_H

#include "api/campaign.h"
#include "api/reason.h"
#include "base/err/err.h"

struct campaign;
struct campaigns;
struct job;

int grow_atomic_check(const struct campaigns *cs, const struct api_campaign_request *r,
                      enum api_reason *reason, struct err *err) __attribute__((warn_unused_result));
/* Its request is filled in: it begins to gather, or ends at once because all targets are
 * members. */
void grow_atomic_accept(struct campaigns *cs, const struct campaign *c);
void grow_atomic_step(struct campaigns *cs, const struct campaign *c);
void grow_atomic_cancel(struct campaigns *cs, const struct campaign *c); /* while it gathers */
/* Grows above vpid `highest` give way to a size or a shrink that leaves no room for them. */
void grow_atomic_give_way(struct campaigns *cs, uint32_t highest, const char *why);
/* Called once, when a job is first to be mapped and does not fit: whether it fits with the grows
 * that run. */
bool grow_atomic_will_do(const struct campaigns *cs, const struct job *j);

#endif
