/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of STAGE, STAGED. */
#include "dvm/protocol/wire/msg/files.h"

#include <stdlib.h>

void msg_stage_encode(struct buf *b, const struct msg_stage *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
    msg_put_targets(b, m->targets, m->ntargets);
}

int msg_stage_decode(struct cur *c, struct msg_stage *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    m->targets = msg_get_targets(c, &m->ntargets);
    return 0;
}

void msg_stage_free(struct msg_stage *m)
{
    free(m->nspace);
    free(m->targets);
}

void msg_staged_encode(struct buf *b, const struct msg_staged *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->errnum);
    msg_put_text(b, m->why);
}

int msg_staged_decode(struct cur *c, struct msg_staged *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->errnum = (int)cur_u32(c);
    m->why = msg_get_text(c);
    return 0;
}

void msg_staged_free(struct msg_staged *m)
{
    free(m->nspace);
    free(m->why);
}
