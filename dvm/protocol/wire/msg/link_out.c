/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of LINK_OUT. */
#include "dvm/protocol/wire/msg/link_out.h"

void msg_link_out_encode(struct buf *b, const struct msg_link_out *m)
{
    buf_put_u32(b, m->number);
    buf_put_u8(b, m->closed);
}

int msg_link_out_decode(struct cur *c, struct msg_link_out *m, struct err *err)
{
    m->number = cur_u32(c);
    m->closed = msg_get_flag(c);
    return 0;
}
