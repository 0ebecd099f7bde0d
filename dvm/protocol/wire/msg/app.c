/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of APP. */
#include "dvm/protocol/wire/msg/app.h"

void msg_app_encode(struct buf *b, const struct msg_app *m)
{
    buf_put_u32(b, m->kind);
    buf_put_bytes(b, m->data, m->len);
}

int msg_app_decode(struct cur *c, struct msg_app *m, struct err *err)
{
    m->kind = cur_u32(c);
    m->data = cur_bytes(c, MSG_ROUTED_MAX, &m->len);
    return 0;
}
