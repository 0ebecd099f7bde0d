/* SPDX-License-Identifier: BSD-3-Clause */
/* LOCAL_GONE: to the head. Nothing of the job is left on the sender. */
#ifndef DVM_WIRE_MSG_LOCAL_GONE_H
#define DVM_WIRE_MSG_LOCAL_GONE_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_local_gone {
    char *nspace;
    uint32_t client;   /* of the head, that gets the job's output, */
    bool after_output; /* of which more is on its way there: its end (IOF_END) counts first */
};
MSG_CODEC(local_gone);
MSG_OWNED(local_gone);

#endif

#ifdef MSG_ROW
MSG_ROW(LOCAL_GONE, local_gone, local_gone, local_gone, ROUTED)
#endif
