/* SPDX-License-Identifier: BSD-3-Clause */
/* LAUNCHED, EXITED, LOCAL_GONE, ABORT: a member's reports about its ranks of a job. RANKS_LOST:
 * the head notifies daemons of ranks elsewhere. */
#ifndef DVM_WIRE_MSG_RANKS_H
#define DVM_WIRE_MSG_RANKS_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_ranks { /* LAUNCHED: pid, or errno and the step that failed; EXITED: wait status */
    char *nspace;
    size_t nranks;
    struct msg_rank *ranks;
};
MSG_CODEC(ranks);
MSG_OWNED(ranks);

struct msg_local_gone { /* nothing of the job is left on the sender */
    char *nspace;
    uint32_t client;   /* of the head, that gets the job's output, */
    bool after_output; /* of which more is on its way there: its end (IOF_END) counts first */
};
MSG_CODEC(local_gone);
MSG_OWNED(local_gone);

struct msg_abort {
    char *nspace;
    uint32_t rank;
    int32_t code; /* as given by the rank */
    char *text;
};
MSG_CODEC(abort);
MSG_OWNED(abort);

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
