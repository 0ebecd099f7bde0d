/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of ABORT. */
#include "dvm/protocol/wire/msg/abort.h"

#include <stdlib.h>

void msg_abort_encode(struct buf *b, const struct msg_abort *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->rank);
    buf_put_u32(b, (uint32_t)m->code);
    msg_put_text(b, m->text);
}

int msg_abort_decode(struct cur *c, struct msg_abort *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->rank = cur_u32(c);
    m->code = (int32_t)cur_u32(c);
    m->text = msg_get_text(c);
    return 0;
}

void msg_abort_free(struct msg_abort *m)
{
    free(m->nspace);
    free(m->text);
}
