/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of LAUNCHED, EXITED, LOCAL_GONE, ABORT, RANKS_LOST. */
#include "dvm/protocol/wire/msg/ranks.h"

#include <stdlib.h>

void msg_ranks_encode(struct buf *b, const struct msg_ranks *m)
{
    buf_put_str(b, m->nspace);
    msg_put_ranks(b, m->ranks, m->nranks);
}

int msg_ranks_decode(struct cur *c, struct msg_ranks *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->ranks = msg_get_ranks(c, &m->nranks);
    return 0;
}

void msg_ranks_free(struct msg_ranks *m)
{
    free(m->nspace);
    msg_free_ranks(m->ranks, m->nranks);
}

void msg_local_gone_encode(struct buf *b, const struct msg_local_gone *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
    buf_put_u8(b, m->after_output);
}

int msg_local_gone_decode(struct cur *c, struct msg_local_gone *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    m->after_output = msg_get_flag(c);
    return 0;
}

void msg_local_gone_free(struct msg_local_gone *m)
{
    free(m->nspace);
}

void msg_abort_encode(struct buf *b, const struct msg_abort *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->rank);
    buf_put_u32(b, (uint32_t)m->code);
    msg_put_text(b, m->text);
}

int msg_abort_decode(struct cur *c, struct msg_abort *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->rank = cur_u32(c);
    m->code = (int32_t)cur_u32(c);
    m->text = msg_get_text(c);
    return 0;
}

void msg_abort_free(struct msg_abort *m)
{
    free(m->nspace);
    free(m->text);
}

void msg_ranks_lost_encode(struct buf *b, const struct msg_ranks_lost *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u8(b, m->others_go_on);
    msg_put_text(b, m->parent_nspace);
    buf_put_u32(b, m->parent_rank);
    msg_put_ranks(b, m->ranks, m->nranks);
}

int msg_ranks_lost_decode(struct cur *c, struct msg_ranks_lost *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->others_go_on = msg_get_flag(c);
    m->parent_nspace = msg_get_text(c);
    m->parent_rank = cur_u32(c);
    m->ranks = msg_get_ranks(c, &m->nranks);
    return 0;
}

void msg_ranks_lost_free(struct msg_ranks_lost *m)
{
    free(m->nspace);
    free(m->parent_nspace);
    msg_free_ranks(m->ranks, m->nranks);
}
