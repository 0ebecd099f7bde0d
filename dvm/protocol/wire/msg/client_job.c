/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of these fields. */
#include "dvm/protocol/wire/msg/client_job.h"

#include <stdlib.h>

void msg_client_job_encode(struct buf *b, const struct msg_client_job *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
}

int msg_client_job_decode(struct cur *c, struct msg_client_job *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    return 0;
}

void msg_client_job_free(struct msg_client_job *m)
{
    free(m->nspace);
}
