/* SPDX-License-Identifier: BSD-3-Clause */
/* RESIZE_ASK, RESIZE_ANSWER, RESIZE_ENDED: an application's request for another size of the DVM
 * (dvm/protocol/wire/alloc.h), to the head, and the head's answers. */
#ifndef DVM_WIRE_MSG_RESIZE_H
#define DVM_WIRE_MSG_RESIZE_H

#include "api/campaign.h"
#include "dvm/protocol/wire/alloc.h"
#include "dvm/protocol/wire/msg/fields.h"

struct msg_resize_ask {
    uint64_t op;  /* the daemon's number of the request */
    char *nspace; /* the process that asks */
    uint32_t rank;
    enum alloc_kind kind;
    int64_t deadline_s; /* -1: none */
    char *req_id;       /* the asker's own id; "": none */
    char *campaign;     /* that is meant; "": none */
    uint32_t count;     /* daemons; 0: those of vpids */
    size_t nvpids;      /* ascending, no duplicates */
    uint32_t *vpids;
};
MSG_CODEC(resize_ask);
MSG_OWNED(resize_ask);

struct msg_resize_answer {
    uint64_t op;
    enum alloc_status status;
    enum api_phase phase;
    char *campaign;
    char *why; /* not accepted */
};
MSG_CODEC(resize_answer);
MSG_OWNED(resize_answer);

struct msg_resize_ended {
    char *nspace; /* the process that has asked */
    uint32_t rank;
    enum alloc_status status;
    char *campaign;
    char *req_id;
    char *cause;
};
MSG_CODEC(resize_ended);
MSG_OWNED(resize_ended);

#endif
