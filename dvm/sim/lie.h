/* SPDX-License-Identifier: BSD-3-Clause */
/* Random lies of a member: messages that it may not send. */
#ifndef DVM_SIM_LIE_H
#define DVM_SIM_LIE_H

#include "dvm/sim/sim.h"

#define LIE_TEXT_MAX 96
#define LIE_WHY "a lie" /* text of a LOST, by which the checker knows that nobody has left */

/* One lie of that member, described in `text`; false: it cannot tell any now. */
bool lie_some(struct sim *s, uint32_t vpid, char text[LIE_TEXT_MAX]);
/* The same: a call in the name of another member. */
bool lie_some_call(struct sim *s, uint32_t vpid, char text[LIE_TEXT_MAX]);
/* `liar` calls `to` in the name of another member: as a new process of its vpid, or in its epoch.
 * False: that member is in no epoch. */
bool lie_call(struct sim *s, uint32_t liar, uint32_t to, uint32_t who, bool anew);

#endif
