/* SPDX-License-Identifier: BSD-3-Clause */
/* IOF_END: from a daemon with ranks of the job to the daemon whose client gets the output. No more
 * output of the job follows from the sender. */
#ifndef DVM_WIRE_MSG_IOF_END_H
#define DVM_WIRE_MSG_IOF_END_H

#include "dvm/protocol/wire/msg/client_job.h"

#endif

#ifdef MSG_ROW
MSG_ROW(IOF_END, iof_end, client_job, client_job, ROUTED)
#endif
