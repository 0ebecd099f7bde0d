/* SPDX-License-Identifier: BSD-3-Clause */
/* LEFT: on the link of a leaving daemon, which has no routes. Parents pass it up until a member
 * turns it into GONE. */
#ifndef DVM_WIRE_MSG_LEFT_H
#define DVM_WIRE_MSG_LEFT_H

#include "dvm/protocol/wire/msg/departed.h"

#endif

#ifdef MSG_ROW
MSG_ROW(LEFT, left, departed, nothing, NUMBERED)
#endif
