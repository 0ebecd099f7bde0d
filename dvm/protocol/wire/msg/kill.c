/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of KILL. */
#include "dvm/protocol/wire/msg/kill.h"

#include <stdlib.h>

void msg_kill_encode(struct buf *b, const struct msg_kill *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->signum);
    buf_put_u64(b, (uint64_t)m->grace_ms);
}

int msg_kill_decode(struct cur *c, struct msg_kill *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->signum = (int)cur_u32(c);
    m->grace_ms = (int64_t)cur_u64(c);
    return 0;
}

void msg_kill_free(struct msg_kill *m)
{
    free(m->nspace);
}
