/* SPDX-License-Identifier: BSD-3-Clause */
/* ACK: between neighbours; answers RNDV. The whole message may be sent. */
#ifndef DVM_WIRE_MSG_ACK_H
#define DVM_WIRE_MSG_ACK_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(ACK, ack, grant, nothing, NUMBERED)
#endif
