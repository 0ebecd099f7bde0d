/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of RECORDS_ASK. */
#include "dvm/protocol/wire/msg/records_ask.h"

void msg_records_ask_encode(struct buf *b, const struct msg_records_ask *m)
{
    buf_put_u8(b, m->all);
    buf_put_u8(b, m->table);
}

int msg_records_ask_decode(struct cur *c, struct msg_records_ask *m, struct err *err)
{
    m->all = msg_get_flag(c);
    m->table = msg_get_flag(c);
    return 0;
}
