/* SPDX-License-Identifier: BSD-3-Clause */
/* PONG: the answer to PING. */
#ifndef DVM_WIRE_MSG_PONG_H
#define DVM_WIRE_MSG_PONG_H

#include "dvm/protocol/wire/msg/none.h"

#endif

#ifdef MSG_ROW
MSG_ROW(PONG, pong, none, nothing)
#endif
