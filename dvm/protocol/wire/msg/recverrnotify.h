/* SPDX-License-Identifier: BSD-3-Clause */
/* RECVERRNOTIFY: between neighbours; a receiver's answer met an error; the sender shall restart. */
#ifndef DVM_WIRE_MSG_RECVERRNOTIFY_H
#define DVM_WIRE_MSG_RECVERRNOTIFY_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(RECVERRNOTIFY, recverr, ref, nothing, NUMBERED)
#endif
