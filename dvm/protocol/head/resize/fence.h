/* SPDX-License-Identifier: BSD-3-Clause */
/* The launch fence: while it is up no job is mapped. */
#ifndef DVM_HEAD_RESIZE_FENCE_H
#define DVM_HEAD_RESIZE_FENCE_H

#include "dvm/protocol/head/jobs/job.h"

#define FENCE_NAME_MAX 192

struct fence;

struct fence *fence_create(struct jobs *jobs); /* borrows */
void fence_destroy(struct fence *f);
/* Adds a share of `count` members that join or leave. A name is in use once at a time; it is
 * copied. */
void fence_raise(struct fence *f, const char *name, uint32_t count);
/* Takes the share back; after the last one the held jobs continue. Without a share of that name
 * nothing changes. */
void fence_lower(struct fence *f, const char *name);
uint32_t fence_sum(const struct fence *f); /* of the shares; 0: the fence is down */
/* New shares are deferred: a job has been held for too long. */
bool fence_defers(const struct fence *f);
void fence_each(const struct fence *f, void (*on)(void *arg, const char *name, uint32_t count),
                void *arg);

#endif
