/* SPDX-License-Identifier: BSD-3-Clause */
/* TAKEN: between neighbours; counts the frames of transfers that have come over this link. */
#ifndef DVM_WIRE_MSG_TAKEN_H
#define DVM_WIRE_MSG_TAKEN_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(TAKEN, taken, taken, nothing, NUMBERED)
#endif
