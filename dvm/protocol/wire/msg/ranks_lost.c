/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of RANKS_LOST. */
#include "dvm/protocol/wire/msg/ranks_lost.h"

#include <stdlib.h>

void msg_ranks_lost_encode(struct buf *b, const struct msg_ranks_lost *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u8(b, m->others_go_on);
    msg_put_text(b, m->parent_nspace);
    buf_put_u32(b, m->parent_rank);
    msg_put_ranks(b, m->ranks, m->nranks);
}

int msg_ranks_lost_decode(struct cur *c, struct msg_ranks_lost *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->others_go_on = msg_get_flag(c);
    m->parent_nspace = msg_get_text(c);
    m->parent_rank = cur_u32(c);
    m->ranks = msg_get_ranks(c, &m->nranks);
    return 0;
}

void msg_ranks_lost_free(struct msg_ranks_lost *m)
{
    free(m->nspace);
    free(m->parent_nspace);
    msg_free_ranks(m->ranks, m->nranks);
}
