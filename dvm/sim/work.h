/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the jobs of a schedule, and knows which ends of each are right. */
#ifndef DVM_SIM_WORK_H
#define DVM_SIM_WORK_H

#include "dvm/sim/check.h"

#define WORK_TEXT_MAX 256

struct work;

struct work *work_create(struct sim *s, unsigned generation); /* borrows the simulator */
void work_destroy(struct work *w);
/* Each of these draws something for a daemon, does it, and describes it. False: nothing was done.
 */
bool work_submit(struct work *w, uint32_t vpid, uint32_t replicas, char text[WORK_TEXT_MAX]);
/* By a rank there. */
bool work_spawn(struct work *w, uint32_t vpid, uint32_t replicas, char text[WORK_TEXT_MAX]);
/* A long job that has neither ranks nor its submitter at the head's keepers. */
bool work_submit_beside_keepers(struct work *w, char text[WORK_TEXT_MAX]);
bool work_client_gone(struct work *w, uint32_t vpid, char text[WORK_TEXT_MAX]);
bool work_signal(struct work *w, uint32_t vpid, char text[WORK_TEXT_MAX]);
bool work_abort(struct work *w, uint32_t vpid, char text[WORK_TEXT_MAX]);
/* At rest: no request for members brings those back that a job has waited for. */
void work_end_too_large(struct work *w);
/* At the end of a schedule. `kills`: a campaign may have ended jobs. `losses`: a daemon may have
 * been lost. */
void work_check(const struct work *w, struct check *c, bool kills, bool losses);

#endif
