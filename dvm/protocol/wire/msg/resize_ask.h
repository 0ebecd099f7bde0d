/* SPDX-License-Identifier: BSD-3-Clause */
/* RESIZE_ASK: to the head. An application asks for another size of the DVM
 * (dvm/protocol/wire/resize_request.h). */
#ifndef DVM_WIRE_MSG_RESIZE_ASK_H
#define DVM_WIRE_MSG_RESIZE_ASK_H

#include "api/campaign.h"
#include "dvm/protocol/wire/msg/fields.h"
#include "dvm/protocol/wire/resize_request.h"

struct msg_resize_ask {
    uint64_t op;  /* the daemon's number of the request */
    char *nspace; /* the process that asks */
    uint32_t rank;
    enum resize_kind kind;
    int64_t deadline_s; /* -1: none */
    char *req_id;       /* the asker's own id; "": none */
    char *campaign;     /* that is meant; "": none */
    uint32_t count;     /* daemons; 0: those of vpids */
    size_t nvpids;      /* ascending, no duplicates */
    uint32_t *vpids;
    bool keep; /* since edition 1: an extension stays when the job of its asker ends */
};
MSG_CODEC(resize_ask);
MSG_OWNED(resize_ask);

#endif

#ifdef MSG_ROW
MSG_ROW(RESIZE_ASK, resize_ask, resize_ask, resize_ask, ROUTED)
#endif
