/* SPDX-License-Identifier: BSD-3-Clause */
/* RNDVRESTARTACK: between neighbours; a receiver agrees to a restart and names its place. */
#ifndef DVM_WIRE_MSG_RNDVRESTARTACK_H
#define DVM_WIRE_MSG_RNDVRESTARTACK_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(RNDVRESTARTACK, restart, grant, nothing, NUMBERED)
#endif
