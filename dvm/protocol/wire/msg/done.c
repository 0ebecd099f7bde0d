/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of DONE. */
#include "dvm/protocol/wire/msg/done.h"

#include <stdlib.h>

void msg_done_encode(struct buf *b, const struct msg_done *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
    buf_put_u32(b, (uint32_t)m->exit_code);
    msg_put_text(b, m->text);
    msg_put_vpids(b, m->output_vpids, m->noutput);
}

int msg_done_decode(struct cur *c, struct msg_done *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    m->exit_code = (int)cur_u32(c);
    m->text = msg_get_text(c);
    m->output_vpids = msg_get_vpids(c, &m->noutput);
    return 0;
}

void msg_done_free(struct msg_done *m)
{
    free(m->nspace);
    free(m->text);
    free(m->output_vpids);
}
