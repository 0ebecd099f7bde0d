/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of NO_FILES. */
#include "dvm/protocol/wire/msg/no_files.h"

#include <stdlib.h>

void msg_no_files_encode(struct buf *b, const struct msg_no_files *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->errnum);
    msg_put_text(b, m->why);
}

int msg_no_files_decode(struct cur *c, struct msg_no_files *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->errnum = (int)cur_u32(c);
    m->why = msg_get_text(c);
    return 0;
}

void msg_no_files_free(struct msg_no_files *m)
{
    free(m->nspace);
    free(m->why);
}
