/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests of ranks and tools for another size of the DVM. */
#ifndef DVM_SIM_ASK_H
#define DVM_SIM_ASK_H

#include "dvm/sim/check.h"
#include "dvm/sim/sim.h"

struct asked_some {
    bool kills; /* the request may end jobs */
    char text[160];
};
/* Made by a rank or tool at that daemon; false: none there can request now. */
bool ask_some(struct sim *s, struct check *c, uint32_t vpid, struct asked_some *out);
/* The number of members that the resource manager wants from now on. It starts granted members
 * sooner or later (resting: now), and removes members that were given back. */
uint32_t ask_follow(struct sim *s, uint32_t nodes, uint32_t replicas, bool resting);

#endif
