/* SPDX-License-Identifier: BSD-3-Clause */
/* Draining: jobs that a shrink waits for, or ends. */
#ifndef DVM_HEAD_RESIZE_DRAIN_H
#define DVM_HEAD_RESIZE_DRAIN_H

struct api_job_ref;
struct campaign;
struct campaigns;

#include <stdbool.h>
#include <stddef.h>

/* Number of jobs with ranks on the targets; their names and ranks, if out is not NULL. */
size_t drain_waits(const struct campaigns *cs, const struct campaign *c, struct api_job_ref **out);
void drain_end_jobs(struct campaigns *cs, const struct campaign *c);
/* Jobs that have not been sent, and whose prun is at a target: prun may submit them elsewhere.
 * True: not all of these have ended yet. */
bool drain_give_back(struct campaigns *cs, const struct campaign *c);

#endif
