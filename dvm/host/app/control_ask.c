/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_CONTROL_ASK: u64 question, str nspace, str target. */
#include "dvm/host/app/app.h"

#include <stdlib.h>

void app_control_ask_encode(struct buf *b, const struct app_control_ask *m)
{
    buf_init(b, 4096);
    buf_put_u64(b, m->question);
    buf_put_str(b, m->nspace);
    buf_put_str(b, m->target);
}

int app_control_ask_decode(struct cur *c, struct app_control_ask *m)
{
    m->question = cur_u64(c);
    m->nspace = cur_str(c, JOB_NSPACE_MAX);
    m->target = cur_str(c, JOB_NSPACE_MAX);
    return cur_done(c) ? 0 : -1;
}

void app_control_ask_free(struct app_control_ask *m)
{
    free(m->nspace);
    free(m->target);
}
