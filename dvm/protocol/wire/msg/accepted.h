/* SPDX-License-Identifier: BSD-3-Clause */
/* ACCEPTED: to the daemon whose client has submitted the job. */
#ifndef DVM_WIRE_MSG_ACCEPTED_H
#define DVM_WIRE_MSG_ACCEPTED_H

#include "dvm/protocol/wire/msg/client_job.h"

#endif

#ifdef MSG_ROW
MSG_ROW(ACCEPTED, accepted, client_job, client_job, ROUTED)
#endif
