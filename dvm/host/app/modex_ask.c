/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_MODEX_ASK: u64 question, str nspace, u32 rank, u32 seconds. */
#include "dvm/host/app/app.h"

#include <stdlib.h>

void app_modex_ask_encode(struct buf *b, const struct app_modex_ask *m)
{
    buf_init(b, 4096);
    buf_put_u64(b, m->question);
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->rank);
    buf_put_u32(b, m->timeout_s);
}

int app_modex_ask_decode(struct cur *c, struct app_modex_ask *m)
{
    m->question = cur_u64(c);
    m->nspace = cur_str(c, JOB_NSPACE_MAX);
    m->rank = cur_u32(c);
    m->timeout_s = cur_u32(c);
    return cur_done(c) ? 0 : -1;
}

void app_modex_ask_free(struct app_modex_ask *m)
{
    free(m->nspace);
}
