/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of HELD. */
#include "dvm/protocol/wire/msg/held.h"

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
