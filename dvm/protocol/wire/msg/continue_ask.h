/* SPDX-License-Identifier: BSD-3-Clause */
/* CONTINUE_ASK: to the head. A debugger continues ranks anywhere in the DVM. */
#ifndef DVM_WIRE_MSG_CONTINUE_ASK_H
#define DVM_WIRE_MSG_CONTINUE_ASK_H

#include "dvm/protocol/wire/msg/continue.h"

#endif

#ifdef MSG_ROW
MSG_ROW(CONTINUE_ASK, continue_ask, continue, continue, ROUTED)
#endif
