/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of SIGNAL. */
#include "dvm/protocol/wire/msg/signal.h"

#include <stdlib.h>

void msg_signal_encode(struct buf *b, const struct msg_signal *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->signum);
}

int msg_signal_decode(struct cur *c, struct msg_signal *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->signum = (int)cur_u32(c);
    return 0;
}

void msg_signal_free(struct msg_signal *m)
{
    free(m->nspace);
}
