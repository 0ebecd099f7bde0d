/* SPDX-License-Identifier: BSD-3-Clause */
/* READY: to the head. All ranks of the job on the sender can start. */
#ifndef DVM_WIRE_MSG_READY_H
#define DVM_WIRE_MSG_READY_H

#include "dvm/protocol/wire/msg/job_name.h"

#endif

#ifdef MSG_ROW
MSG_ROW(READY, ready, job_name, job_name, ROUTED)
#endif
