/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of SUBMIT. */
#include "dvm/protocol/wire/msg/submit.h"

void msg_submit_encode(struct buf *b, const struct msg_submit *m)
{
    buf_put_u32(b, m->client);
    job_spec_encode(b, &m->spec);
}

int msg_submit_decode(struct cur *c, struct msg_submit *m, struct err *err)
{
    m->client = cur_u32(c);
    return job_spec_decode(c, &m->spec, err);
}

void msg_submit_free(struct msg_submit *m)
{
    job_spec_free(&m->spec);
}
