/* SPDX-License-Identifier: BSD-3-Clause */
/* PUT: between neighbours; answers RNDV. A region may be written. */
#ifndef DVM_WIRE_MSG_PUT_H
#define DVM_WIRE_MSG_PUT_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(PUT, put, grant, nothing, NUMBERED)
#endif
