/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests of ranks and tools for another size of the DVM. */
#ifndef DVM_SIM_ASK_H
#define DVM_SIM_ASK_H

#include "dvm/sim/check.h"
#include "dvm/sim/sim.h"

struct asked_some {
    bool kills; /* jobs may be ended by it */
    char text[160];
};
/* By somebody at that daemon; false: nobody there can ask now. */
bool ask_some(struct sim *s, struct check *c, uint32_t vpid, struct asked_some *out);
/* The members that the resource manager wants from now on: it starts what was granted sooner or
 * later (resting: now), and removes what was given back. */
uint32_t ask_follow(struct sim *s, uint32_t nodes, uint32_t replicas, bool resting);

#endif
