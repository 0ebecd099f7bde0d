/* SPDX-License-Identifier: BSD-3-Clause */
/* LAUNCH: to each daemon with ranks of the job. */
#ifndef DVM_WIRE_MSG_LAUNCH_H
#define DVM_WIRE_MSG_LAUNCH_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_launch {
    struct job_launch map;
};
MSG_CODEC(launch);
MSG_OWNED(launch);

#endif

#ifdef MSG_ROW
MSG_ROW(LAUNCH, launch, launch, launch, ROUTED)
#endif
