/* SPDX-License-Identifier: BSD-3-Clause */
/* PONG: the answer to PING. */
#ifndef DVM_WIRE_MSG_PONG_H
#define DVM_WIRE_MSG_PONG_H

#include "dvm/protocol/wire/msg/probe.h"

#endif

#ifdef MSG_ROW
MSG_ROW(PONG, pong, probe, nothing, ON_LINK)
#endif
