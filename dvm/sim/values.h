/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests of ranks for published values, of which the head makes records. */
#ifndef DVM_SIM_VALUES_H
#define DVM_SIM_VALUES_H

#include "dvm/sim/sim.h"

/* One request to the head, which is chosen by `random`: the schedule's own dice are not rolled. */
void values_request(struct sim *s, uint64_t random);

#endif
