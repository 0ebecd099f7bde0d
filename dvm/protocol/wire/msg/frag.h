/* SPDX-License-Identifier: BSD-3-Clause */
/* FRAG: between neighbours; a part of a large message. */
#ifndef DVM_WIRE_MSG_FRAG_H
#define DVM_WIRE_MSG_FRAG_H

#include "dvm/protocol/wire/msg/transfer.h"

#endif

#ifdef MSG_ROW
MSG_ROW(FRAG, frag, frag, nothing, NUMBERED)
#endif
