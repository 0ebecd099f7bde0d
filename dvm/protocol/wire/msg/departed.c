/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of these fields. */
#include "dvm/protocol/wire/msg/departed.h"

void msg_departed_encode(struct buf *b, const struct msg_departed *m)
{
    msg_put_target(b, m->who);
    buf_put_u8(b, m->link_closed);
}

int msg_departed_decode(struct cur *c, struct msg_departed *m, struct err *err)
{
    m->who = msg_get_target(c);
    m->link_closed = msg_get_flag(c);
    return 0;
}
