/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_TOOL_HERE: u64 question. */
#include "dvm/host/app/app.h"

void app_tool_here_encode(struct buf *b, const struct app_tool_here *m)
{
    buf_init(b, 64);
    buf_put_u64(b, m->question);
}

int app_tool_here_decode(struct cur *c, struct app_tool_here *m)
{
    m->question = cur_u64(c);
    return cur_done(c) ? 0 : -1;
}
