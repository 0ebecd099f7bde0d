/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_NOTIFY: u64 question, bytes. */
#include "dvm/host/app/app.h"

void app_notify_encode(struct buf *b, const struct app_notify *m)
{
    buf_init(b, APP_BLOB_MAX);
    buf_put_u64(b, m->question);
    buf_put_bytes(b, m->event, m->len);
}

int app_notify_decode(struct cur *c, struct app_notify *m)
{
    m->question = cur_u64(c);
    m->event = cur_bytes(c, APP_EVENT_MAX, &m->len);
    return cur_done(c) ? 0 : -1;
}
