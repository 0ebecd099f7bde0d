/* SPDX-License-Identifier: BSD-3-Clause */
/* GATHER_DOWN: to a collective's participants: its outcome. */
#ifndef DVM_WIRE_MSG_GATHER_DOWN_H
#define DVM_WIRE_MSG_GATHER_DOWN_H

#include "dvm/protocol/wire/msg/gather.h"

#endif

#ifdef MSG_ROW
MSG_ROW(GATHER_DOWN, gather_down, gather, gather, ROUTED)
#endif
