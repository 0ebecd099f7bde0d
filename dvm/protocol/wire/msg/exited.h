/* SPDX-License-Identifier: BSD-3-Clause */
/* EXITED: to the head. Ranks on the sender have ended, each with its wait status. */
#ifndef DVM_WIRE_MSG_EXITED_H
#define DVM_WIRE_MSG_EXITED_H

#include "dvm/protocol/wire/msg/ranks.h"

#endif

#ifdef MSG_ROW
MSG_ROW(EXITED, exited, ranks, ranks, ROUTED)
#endif
