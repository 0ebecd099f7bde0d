/* SPDX-License-Identifier: BSD-3-Clause */
/* GONE: to the head. A daemon has left: the member that got LEFT reports it. */
#ifndef DVM_WIRE_MSG_GONE_H
#define DVM_WIRE_MSG_GONE_H

#include "dvm/protocol/wire/msg/departed.h"

#endif

#ifdef MSG_ROW
MSG_ROW(GONE, gone, departed, nothing, ROUTED)
#endif
