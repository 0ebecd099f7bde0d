/* SPDX-License-Identifier: BSD-3-Clause */
/* TRANSFER_FIN: between neighbours; FIN. All bytes up to a place have been written, or read. */
#ifndef DVM_WIRE_MSG_TRANSFER_FIN_H
#define DVM_WIRE_MSG_TRANSFER_FIN_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(TRANSFER_FIN, fin, fin, nothing, NUMBERED)
#endif
