/* SPDX-License-Identifier: BSD-3-Clause */
/* MATCH: between neighbours; a whole message, in one frame. */
#ifndef DVM_WIRE_MSG_MATCH_H
#define DVM_WIRE_MSG_MATCH_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(MATCH, match, match, nothing, NUMBERED)
#endif
