/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of SHUTDOWN. */
#include "dvm/protocol/wire/msg/shutdown.h"

#include <stdlib.h>

void msg_shutdown_encode(struct buf *b, const struct msg_shutdown *m)
{
    buf_put_u64(b, m->op);
    buf_put_u8(b, (uint8_t)m->why);
    msg_put_text(b, m->text);
}

int msg_shutdown_decode(struct cur *c, struct msg_shutdown *m, struct err *err)
{
    m->op = cur_u64(c);
    m->why = (enum shutdown_why)msg_get_enum(c, SHUTDOWN_WHYS);
    m->text = msg_get_text(c);
    return 0;
}

void msg_shutdown_free(struct msg_shutdown *m)
{
    free(m->text);
}
