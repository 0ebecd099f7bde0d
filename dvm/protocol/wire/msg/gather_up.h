/* SPDX-License-Identifier: BSD-3-Clause */
/* GATHER_UP: towards a collective's first participant: contributions, or a failure that the sender
 * has seen. */
#ifndef DVM_WIRE_MSG_GATHER_UP_H
#define DVM_WIRE_MSG_GATHER_UP_H

#include "dvm/protocol/wire/msg/gather.h"

#endif

#ifdef MSG_ROW
MSG_ROW(GATHER_UP, gather_up, gather, gather, ROUTED)
#endif
