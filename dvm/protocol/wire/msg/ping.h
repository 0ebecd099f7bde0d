/* SPDX-License-Identifier: BSD-3-Clause */
/* PING: asks for a PONG on the same connection, of a neighbour that is silent or suspected. */
#ifndef DVM_WIRE_MSG_PING_H
#define DVM_WIRE_MSG_PING_H

#include "dvm/protocol/wire/msg/probe.h"

#endif

#ifdef MSG_ROW
MSG_ROW(PING, ping, probe, nothing, ON_LINK)
#endif
