/* SPDX-License-Identifier: BSD-3-Clause */
/* RNDV: between neighbours; a large message waits to be sent. */
#ifndef DVM_WIRE_MSG_RNDV_H
#define DVM_WIRE_MSG_RNDV_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(RNDV, rndv, rndv, nothing, NUMBERED)
#endif
