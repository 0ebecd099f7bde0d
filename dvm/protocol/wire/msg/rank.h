/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank in a message: how its process has started or ended. */
#ifndef DVM_WIRE_MSG_RANK_H
#define DVM_WIRE_MSG_RANK_H

#include "dvm/protocol/wire/msg/fields.h"

/* How a rank has ended, beyond its wait status. */
enum rank_how {
    RANK_PLAIN,     /* nothing */
    RANK_WO_SYNC,   /* it was a PMIx client and had not finalized */
    RANK_BY_CMD,    /* another process ended it */
    RANK_ABORTED,   /* it called PMIx_Abort; the status is the code that it gave */
    RANK_LOST,      /* lost with its daemon: there is no status */
    RANK_NO_MEMORY, /* the kernel ended it with SIGKILL since its container had no memory left */
    RANK_ORDERED,   /* after the head had ordered the end of the job here; repeated reports only */
    RANK_HOWS
};

struct msg_rank {
    uint32_t rank;
    bool failed;
    uint8_t how;   /* enum rank_how */
    int32_t value; /* of a start: pid, or errno if it failed; of an end: wait status */
    char *text;    /* of a failed start: the step that failed */
};

void msg_put_ranks(struct buf *b, const struct msg_rank *list, size_t n);
struct msg_rank *msg_get_ranks(struct cur *c, size_t *n);
void msg_free_ranks(struct msg_rank *list, size_t n);

#endif
