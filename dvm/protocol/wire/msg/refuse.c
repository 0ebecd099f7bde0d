/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of REFUSE. */
#include "dvm/protocol/wire/msg/refuse.h"

#include <stdlib.h>

void msg_refuse_encode(struct buf *b, const struct msg_refuse *m)
{
    buf_put_u8(b, (uint8_t)m->why);
    msg_put_text(b, m->text);
}

int msg_refuse_decode(struct cur *c, struct msg_refuse *m, struct err *err)
{
    m->why = (enum refuse_why)msg_get_enum(c, REFUSE_WHYS);
    m->text = msg_get_text(c);
    return 0;
}

void msg_refuse_free(struct msg_refuse *m)
{
    free(m->text);
}
