/* SPDX-License-Identifier: BSD-3-Clause */
/* JOB_ASK: to a new head, of a daemon whose client waits for the job. The name is "" if the client
 * has submitted a job and does not know its name yet. */
#ifndef DVM_WIRE_MSG_JOB_ASK_H
#define DVM_WIRE_MSG_JOB_ASK_H

#include "dvm/protocol/wire/msg/client_job.h"

#endif

#ifdef MSG_ROW
MSG_ROW(JOB_ASK, job_ask, client_job, client_job, ROUTED)
#endif
