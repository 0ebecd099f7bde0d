/* SPDX-License-Identifier: BSD-3-Clause */
/* REGISTERED: to the head. All ranks of the job on the sender have called PMIx_Init. */
#ifndef DVM_WIRE_MSG_REGISTERED_H
#define DVM_WIRE_MSG_REGISTERED_H

#include "dvm/protocol/wire/msg/job_name.h"

#endif

#ifdef MSG_ROW
MSG_ROW(REGISTERED, registered, job_name, job_name, ROUTED)
#endif
