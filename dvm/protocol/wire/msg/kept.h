/* SPDX-License-Identifier: BSD-3-Clause */
/* KEPT: a keeper to the head, which has sent it a group of records; any member to a new head, which
 * has asked what it keeps. */
#ifndef DVM_WIRE_MSG_KEPT_H
#define DVM_WIRE_MSG_KEPT_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_kept {
    uint64_t stream;
    uint64_t ctr;     /* of the epoch of the head whose records they are; 0: it keeps none */
    uint64_t seq;     /* of the last group that is complete */
    uint32_t callers; /* so many members are children of the head */
    bool child;       /* this one is among them */
};
MSG_CODEC(kept);

#endif

#ifdef MSG_ROW
MSG_ROW(KEPT, kept, kept, nothing, ON_LINK)
#endif
