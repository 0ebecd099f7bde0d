/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_SIGNAL_ASK: u64 question, str nspace, u32 rank, u32 signal. */
#include "dvm/host/app/app.h"

#include <stdlib.h>

void app_signal_ask_encode(struct buf *b, const struct app_signal_ask *m)
{
    buf_init(b, 4096);
    buf_put_u64(b, m->question);
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->rank);
    buf_put_u32(b, m->signum);
}

int app_signal_ask_decode(struct cur *c, struct app_signal_ask *m)
{
    m->question = cur_u64(c);
    m->nspace = cur_str(c, JOB_NSPACE_MAX);
    m->rank = cur_u32(c);
    m->signum = cur_u32(c);
    return cur_done(c) ? 0 : -1;
}

void app_signal_ask_free(struct app_signal_ask *m)
{
    free(m->nspace);
}
