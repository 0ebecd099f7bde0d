/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of HELD, CONTINUE_ASK, CONTINUE. */
#include "dvm/protocol/wire/msg/debug_stop.h"

#include <stdlib.h>

void msg_held_encode(struct buf *b, const struct msg_held *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->nstopped);
}

int msg_held_decode(struct cur *c, struct msg_held *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->nstopped = cur_u32(c);
    return 0;
}

void msg_held_free(struct msg_held *m)
{
    free(m->nspace);
}

void msg_continue_encode(struct buf *b, const struct msg_continue *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->rank);
}

int msg_continue_decode(struct cur *c, struct msg_continue *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->rank = cur_u32(c);
    return 0;
}

void msg_continue_free(struct msg_continue *m)
{
    free(m->nspace);
}
