/* SPDX-License-Identifier: BSD-3-Clause */
/* RNDVRESTARTNOTIFY: between neighbours; a sender's call for a restart. */
#ifndef DVM_WIRE_MSG_RNDVRESTARTNOTIFY_H
#define DVM_WIRE_MSG_RNDVRESTARTNOTIFY_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(RNDVRESTARTNOTIFY, notify, rndv, nothing, NUMBERED)
#endif
