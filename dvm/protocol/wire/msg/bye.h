/* SPDX-License-Identifier: BSD-3-Clause */
/* BYE: the last message of a daemon on this link. */
#ifndef DVM_WIRE_MSG_BYE_H
#define DVM_WIRE_MSG_BYE_H

#include "dvm/protocol/wire/msg/none.h"

#endif

#ifdef MSG_ROW
MSG_ROW(BYE, bye, none, nothing, NUMBERED)
#endif
