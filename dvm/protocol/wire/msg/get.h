/* SPDX-License-Identifier: BSD-3-Clause */
/* GET: between neighbours; answers RGET. A region is read. */
#ifndef DVM_WIRE_MSG_GET_H
#define DVM_WIRE_MSG_GET_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(GET, get, grant, nothing, NUMBERED)
#endif
