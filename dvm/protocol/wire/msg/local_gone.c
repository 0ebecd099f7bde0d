/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of LOCAL_GONE. */
#include "dvm/protocol/wire/msg/local_gone.h"

#include <stdlib.h>

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
