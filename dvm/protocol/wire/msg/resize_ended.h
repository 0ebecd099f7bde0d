/* SPDX-License-Identifier: BSD-3-Clause */
/* RESIZE_ENDED: to the daemon of the process that has asked for a resize, at its end. */
#ifndef DVM_WIRE_MSG_RESIZE_ENDED_H
#define DVM_WIRE_MSG_RESIZE_ENDED_H

#include "dvm/protocol/wire/msg/fields.h"
#include "dvm/protocol/wire/resize_request.h"

struct msg_resize_ended {
    char *nspace; /* the process that has asked */
    uint32_t rank;
    enum resize_status status;
    char *campaign;
    char *req_id;
    char *cause;
};
MSG_CODEC(resize_ended);
MSG_OWNED(resize_ended);

#endif

#ifdef MSG_ROW
MSG_ROW(RESIZE_ENDED, resize_ended, resize_ended, resize_ended, ROUTED)
#endif
