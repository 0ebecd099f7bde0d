/* SPDX-License-Identifier: BSD-3-Clause */
/* RACK: to any daemon. An acknowledgement alone: it is in the header. */
#ifndef DVM_WIRE_MSG_RACK_H
#define DVM_WIRE_MSG_RACK_H

#include "dvm/protocol/wire/msg/none.h"

#endif

#ifdef MSG_ROW
MSG_ROW(RACK, rack, none, nothing, ROUTED)
#endif
