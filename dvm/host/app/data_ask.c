/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_DATA_ASK: u64 question, u8 op, bytes, and u64 open_from if it is not 0. */
#include "dvm/host/app/app.h"

void app_data_ask_encode(struct buf *b, const struct app_data_ask *m)
{
    buf_init(b, APP_BLOB_MAX);
    buf_put_u64(b, m->question);
    buf_put_u8(b, (uint8_t)m->op);
    buf_put_bytes(b, m->blob, m->len);
    if (m->open_from)
        buf_put_u64(b, m->open_from);
}

int app_data_ask_decode(struct cur *c, struct app_data_ask *m)
{
    m->question = cur_u64(c);
    m->op = (char)cur_u8(c);
    m->blob = cur_bytes(c, APP_BLOB_MAX, &m->len);
    m->open_from = cur_left(c) ? cur_u64(c) : 0;
    return cur_done(c) && m->open_from <= m->question ? 0 : -1;
}
