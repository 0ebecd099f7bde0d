/* SPDX-License-Identifier: BSD-3-Clause */
/* Random lies of a member: messages that it may not send. */
#ifndef DVM_SIM_LIE_H
#define DVM_SIM_LIE_H

#include "dvm/sim/sim.h"

#define LIE_TEXT_MAX 96
#define LIE_WHY "a lie" /* text of a LOST, by which the checker knows that nobody has left */

/* One lie of that member, described in `text`; false: it cannot send any now. */
bool lie_some(struct sim *s, uint32_t vpid, char text[LIE_TEXT_MAX]);

#endif
