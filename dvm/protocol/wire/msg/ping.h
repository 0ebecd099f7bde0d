/* SPDX-License-Identifier: BSD-3-Clause */
/* PING: asks a silent neighbour for a PONG. */
#ifndef DVM_WIRE_MSG_PING_H
#define DVM_WIRE_MSG_PING_H

#include "dvm/protocol/wire/msg/none.h"

#endif

#ifdef MSG_ROW
MSG_ROW(PING, ping, none, nothing)
#endif
