/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of XACK. */
#include "dvm/protocol/wire/msg/xack.h"

void msg_xack_encode(struct buf *b, const struct msg_xack *m)
{
    buf_put_u64(b, m->op);
}

int msg_xack_decode(struct cur *c, struct msg_xack *m, struct err *err)
{
    m->op = cur_u64(c);
    return 0;
}
