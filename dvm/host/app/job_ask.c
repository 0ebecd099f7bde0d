/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_JOB_ASK: u64 question, str nspace. */
#include "dvm/host/app/app.h"

#include <stdlib.h>

void app_job_ask_encode(struct buf *b, const struct app_job_ask *m)
{
    buf_init(b, 4096);
    buf_put_u64(b, m->question);
    buf_put_str(b, m->nspace);
}

int app_job_ask_decode(struct cur *c, struct app_job_ask *m)
{
    m->question = cur_u64(c);
    m->nspace = cur_str(c, JOB_NSPACE_MAX);
    return cur_done(c) ? 0 : -1;
}

void app_job_ask_free(struct app_job_ask *m)
{
    free(m->nspace);
}
