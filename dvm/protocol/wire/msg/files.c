/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of FILES. */
#include "dvm/protocol/wire/msg/files.h"

#include <stdlib.h>

void msg_files_encode(struct buf *b, const struct msg_files *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
    msg_put_targets(b, m->targets, m->ntargets);
}

int msg_files_decode(struct cur *c, struct msg_files *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    m->targets = msg_get_targets(c, &m->ntargets);
    return 0;
}

void msg_files_free(struct msg_files *m)
{
    free(m->nspace);
    free(m->targets);
}
