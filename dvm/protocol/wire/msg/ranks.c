/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of these fields. */
#include "dvm/protocol/wire/msg/ranks.h"

#include <stdlib.h>

void msg_ranks_encode(struct buf *b, const struct msg_ranks *m)
{
    buf_put_str(b, m->nspace);
    msg_put_ranks(b, m->ranks, m->nranks);
}

int msg_ranks_decode(struct cur *c, struct msg_ranks *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->ranks = msg_get_ranks(c, &m->nranks);
    return 0;
}

void msg_ranks_free(struct msg_ranks *m)
{
    free(m->nspace);
    msg_free_ranks(m->ranks, m->nranks);
}
