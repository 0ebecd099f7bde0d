/* SPDX-License-Identifier: BSD-3-Clause */
/* ASK: to a member. The head asks for its state: REPORT, and LOCAL_JOB for each job. */
#ifndef DVM_WIRE_MSG_ASK_H
#define DVM_WIRE_MSG_ASK_H

#include "dvm/protocol/wire/msg/none.h"

#endif

#ifdef MSG_ROW
MSG_ROW(ASK, ask, none, nothing, ROUTED)
#endif
