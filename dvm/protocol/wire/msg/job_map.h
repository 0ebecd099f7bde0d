/* SPDX-License-Identifier: BSD-3-Clause */
/* JOB_MAP: to the daemon whose client has submitted the job, before any rank starts. */
#ifndef DVM_WIRE_MSG_JOB_MAP_H
#define DVM_WIRE_MSG_JOB_MAP_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_job_map {
    char *nspace;
    uint32_t client;
    const uint8_t *table; /* text; borrowed, also after decoding */
    size_t len;
};
MSG_CODEC(job_map);
MSG_OWNED(job_map);

#endif

#ifdef MSG_ROW
MSG_ROW(JOB_MAP, job_map, job_map, job_map, ROUTED)
#endif
