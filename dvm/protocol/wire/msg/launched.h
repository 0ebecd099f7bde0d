/* SPDX-License-Identifier: BSD-3-Clause */
/* LAUNCHED: to the head. Ranks on the sender have a pid; or an errno and the step that failed. */
#ifndef DVM_WIRE_MSG_LAUNCHED_H
#define DVM_WIRE_MSG_LAUNCHED_H

#include "dvm/protocol/wire/msg/ranks.h"

#endif

#ifdef MSG_ROW
MSG_ROW(LAUNCHED, launched, ranks, ranks, ROUTED)
#endif
