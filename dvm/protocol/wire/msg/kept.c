/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of KEPT. */
#include "dvm/protocol/wire/msg/kept.h"

void msg_kept_encode(struct buf *b, const struct msg_kept *m)
{
    buf_put_u64(b, m->stream);
    buf_put_u64(b, m->ctr);
    buf_put_u64(b, m->seq);
    buf_put_u32(b, m->callers);
    buf_put_u8(b, m->child);
}

int msg_kept_decode(struct cur *c, struct msg_kept *m, struct err *err)
{
    m->stream = cur_u64(c);
    m->ctr = cur_u64(c);
    m->seq = cur_u64(c);
    m->callers = cur_u32(c);
    m->child = msg_get_flag(c);
    return 0;
}
