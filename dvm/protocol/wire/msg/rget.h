/* SPDX-License-Identifier: BSD-3-Clause */
/* RGET: between neighbours; a large message waits to be read by its receiver. */
#ifndef DVM_WIRE_MSG_RGET_H
#define DVM_WIRE_MSG_RGET_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(RGET, rget, rndv, nothing, NUMBERED)
#endif
