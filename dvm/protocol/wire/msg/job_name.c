/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of these fields. */
#include "dvm/protocol/wire/msg/job_name.h"

#include <stdlib.h>

void msg_job_name_encode(struct buf *b, const struct msg_job_name *m)
{
    buf_put_str(b, m->nspace);
}

int msg_job_name_decode(struct cur *c, struct msg_job_name *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    return 0;
}

void msg_job_name_free(struct msg_job_name *m)
{
    free(m->nspace);
}
