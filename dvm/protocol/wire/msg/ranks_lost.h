/* SPDX-License-Identifier: BSD-3-Clause */
/* RANKS_LOST: to a member. Ranks of a job on other daemons are lost. */
#ifndef DVM_WIRE_MSG_RANKS_LOST_H
#define DVM_WIRE_MSG_RANKS_LOST_H

#include "dvm/protocol/wire/msg/rank.h"

struct msg_ranks_lost {
    char *nspace;
    bool others_go_on;   /* the other ranks of the job */
    char *parent_nspace; /* the process that spawned the job; "": none */
    uint32_t parent_rank;
    size_t nranks;
    struct msg_rank *ranks; /* wait status and how */
};
MSG_CODEC(ranks_lost);
MSG_OWNED(ranks_lost);

#endif

#ifdef MSG_ROW
MSG_ROW(RANKS_LOST, ranks_lost, ranks_lost, ranks_lost, ROUTED)
#endif
