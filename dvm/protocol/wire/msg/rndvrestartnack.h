/* SPDX-License-Identifier: BSD-3-Clause */
/* RNDVRESTARTNACK: between neighbours; a receiver needs no more of this transfer. */
#ifndef DVM_WIRE_MSG_RNDVRESTARTNACK_H
#define DVM_WIRE_MSG_RNDVRESTARTNACK_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(RNDVRESTARTNACK, nack, ref, nothing, NUMBERED)
#endif
