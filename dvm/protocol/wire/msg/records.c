/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of RECORDS. */
#include "dvm/protocol/wire/msg/records.h"

void msg_records_encode(struct buf *b, const struct msg_records *m)
{
    buf_put_u64(b, m->stream);
    buf_put_u64(b, m->seq);
    buf_put_u64(b, m->now_ms);
    buf_put_u8(b, m->begins);
    buf_put_u8(b, m->ends);
    buf_put_u8(b, m->snapshot);
    buf_put_u8(b, m->drop);
    buf_put_bytes(b, m->data, m->len);
}

int msg_records_decode(struct cur *c, struct msg_records *m, struct err *err)
{
    m->stream = cur_u64(c);
    m->seq = cur_u64(c);
    m->now_ms = msg_get_moment(c);
    m->begins = msg_get_flag(c);
    m->ends = msg_get_flag(c);
    m->snapshot = msg_get_flag(c);
    m->drop = msg_get_flag(c);
    m->data = cur_bytes(c, RECORDS_PIECE_BYTES, &m->len);
    return 0;
}
