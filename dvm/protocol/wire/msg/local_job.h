/* SPDX-License-Identifier: BSD-3-Clause */
/* LOCAL_JOB: to the head in answer to ASK, for each job with ranks on the sender. Its reports
 * follow again: LAUNCHED, EXITED, REGISTERED, LOCAL_GONE. */
#ifndef DVM_WIRE_MSG_LOCAL_JOB_H
#define DVM_WIRE_MSG_LOCAL_JOB_H

#include "dvm/protocol/wire/msg/launch.h"

#endif

#ifdef MSG_ROW
MSG_ROW(LOCAL_JOB, local_job, launch, launch, ROUTED)
#endif
