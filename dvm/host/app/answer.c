/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_ANSWER: u64 question, i32 status, bytes. */
#include "dvm/host/app/app.h"

void app_answer_encode(struct buf *b, const struct app_answer *m)
{
    buf_init(b, APP_BLOB_MAX);
    buf_put_u64(b, m->question);
    buf_put_u32(b, (uint32_t)m->status);
    buf_put_bytes(b, m->data, m->len);
}

int app_answer_decode(struct cur *c, struct app_answer *m)
{
    m->question = cur_u64(c);
    m->status = (int)cur_u32(c);
    m->data = cur_bytes(c, APP_BLOB_MAX, &m->len);
    return cur_done(c) ? 0 : -1;
}
