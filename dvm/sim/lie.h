/* SPDX-License-Identifier: BSD-3-Clause */
/* Random lies of a member: messages that it may not send. */
#ifndef DVM_SIM_LIE_H
#define DVM_SIM_LIE_H

#include "dvm/sim/sim.h"

#define LIE_TEXT_MAX 160
#define LIE_WHY "a lie" /* text of a LOST, by which the checker knows that nobody has left */

/* One lie of that member, described in `text`; false: it cannot tell any now. */
typedef bool lie_fn(struct sim *s, uint32_t vpid, char text[LIE_TEXT_MAX]);
lie_fn lie_some;      /* a message */
lie_fn lie_some_call; /* a call in the name of another member */
lie_fn lie_some_more; /* a message, of the kinds that lie_some does not draw */
/* `liar` calls `to` in the name of another daemon: as a new process of its vpid, or in its epoch.
 * False: the head knows none. */
bool lie_call(struct sim *s, uint32_t liar, uint32_t to, uint32_t who, bool anew);

#endif
