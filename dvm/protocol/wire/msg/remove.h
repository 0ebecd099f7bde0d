/* SPDX-License-Identifier: BSD-3-Clause */
/* REMOVE: a broadcast of the head (add.h). The members that it names leave or are lost. */
#ifndef DVM_WIRE_MSG_REMOVE_H
#define DVM_WIRE_MSG_REMOVE_H

#include "dvm/protocol/wire/msg/target.h"

enum remove_why { REMOVE_SHRINK, REMOVE_LOST, REMOVE_WHYS };

struct msg_remove {
    uint64_t op;
    enum remove_why why;
    size_t ntargets;
    struct msg_target *targets;
    char *text; /* of a shrink: its campaign; of a loss: the cause */
};
MSG_CODEC(remove);
MSG_OWNED(remove);

#endif

#ifdef MSG_ROW
MSG_ROW(REMOVE, remove, remove, remove, NUMBERED)
#endif
