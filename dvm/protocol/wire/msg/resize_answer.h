/* SPDX-License-Identifier: BSD-3-Clause */
/* RESIZE_ANSWER: to the daemon that has sent RESIZE_ASK. */
#ifndef DVM_WIRE_MSG_RESIZE_ANSWER_H
#define DVM_WIRE_MSG_RESIZE_ANSWER_H

#include "api/campaign.h"
#include "dvm/protocol/wire/msg/fields.h"
#include "dvm/protocol/wire/resize_request.h"

struct msg_resize_answer {
    uint64_t op;
    enum resize_status status;
    enum api_phase phase;
    char *campaign;
    char *why; /* not accepted */
};
MSG_CODEC(resize_answer);
MSG_OWNED(resize_answer);

#endif

#ifdef MSG_ROW
MSG_ROW(RESIZE_ANSWER, resize_answer, resize_answer, resize_answer, ROUTED)
#endif
