/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of JOB_ENDED. */
#include "dvm/protocol/wire/msg/job_ended.h"

#include <stdlib.h>

void msg_job_ended_encode(struct buf *b, const struct msg_job_ended *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->exit_code);
}

int msg_job_ended_decode(struct cur *c, struct msg_job_ended *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->exit_code = (int)cur_u32(c);
    return 0;
}

void msg_job_ended_free(struct msg_job_ended *m)
{
    free(m->nspace);
}
