/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs and campaigns that have not ended, and members that have not come, at the end of a
 * schedule. */
#ifndef DVM_SIM_REST_H
#define DVM_SIM_REST_H

#include "dvm/sim/sim.h"

struct rest {
    size_t jobs;
    size_t campaigns; /* that have not ended */
};

struct rest rest_look(const struct core *head);
uint32_t rest_missing(struct sim *s, uint32_t replicas); /* of vpids 1..replicas, not wired */
/* Has the submitter end a job that waits for more slots than all members have: it was accepted
 * while the DVM was larger. Returns its index; -1: there is none. */
int rest_end_too_large(struct sim *s);
/* The state of all daemons, for a trace. */
void rest_print(struct sim *s, uint32_t nodes);

bool rest_has_out(struct sim *s); /* a link is mapped out, or on probation */
/* From that time on: a shrink that waits for jobs is cancelled if a spawned job waits for slots.
 * The shrink may wait for its parent, and it for members that the shrink removes. */
void rest_cancel_drain(struct sim *s, uint64_t from_ms);

#endif
