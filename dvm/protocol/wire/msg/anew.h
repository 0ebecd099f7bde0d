/* SPDX-License-Identifier: BSD-3-Clause */
/* ANEW: between neighbours; names the end that there is now, after a frame for a former one. */
#ifndef DVM_WIRE_MSG_ANEW_H
#define DVM_WIRE_MSG_ANEW_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(ANEW, anew, ref, nothing, NUMBERED)
#endif
