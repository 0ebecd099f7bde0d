/* SPDX-License-Identifier: BSD-3-Clause */
/* LAUNCHED, EXITED: a job and some of its ranks. */
#ifndef DVM_WIRE_MSG_RANKS_H
#define DVM_WIRE_MSG_RANKS_H

#include "dvm/protocol/wire/msg/rank.h"

struct msg_ranks {
    char *nspace;
    size_t nranks;
    struct msg_rank *ranks;
};
MSG_CODEC(ranks);
MSG_OWNED(ranks);

#endif
