/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of CONTINUE. */
#include "dvm/protocol/wire/msg/continue.h"

#include <stdlib.h>

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
