/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_JOB_WAITS: str namespace, str text. */
#include "dvm/host/app/app.h"
#include "dvm/protocol/wire/wait.h"

#include <stdlib.h>

void app_job_waits_encode(struct buf *b, const struct app_job_waits *m)
{
    buf_init(b, 1024);
    buf_put_str(b, m->nspace);
    buf_put_str(b, m->text);
}

int app_job_waits_decode(struct cur *c, struct app_job_waits *m)
{
    m->nspace = cur_str(c, JOB_NSPACE_MAX);
    m->text = cur_str(c, WAIT_TEXT_MAX);
    return cur_done(c) ? 0 : -1;
}

void app_job_waits_free(struct app_job_waits *m)
{
    free(m->nspace);
    free(m->text);
}
