/* SPDX-License-Identifier: BSD-3-Clause */
/* START: to a member. All daemons of the job are ready: its ranks can start. */
#ifndef DVM_WIRE_MSG_START_H
#define DVM_WIRE_MSG_START_H

#include "dvm/protocol/wire/msg/job_name.h"

#endif

#ifdef MSG_ROW
MSG_ROW(START, start, job_name, job_name, ROUTED)
#endif
