/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of PING and PONG. */
#include "dvm/protocol/wire/msg/probe.h"

void msg_probe_encode(struct buf *b, const struct msg_probe *m)
{
    buf_put_u64(b, m->sent_ms);
}

int msg_probe_decode(struct cur *c, struct msg_probe *m, struct err *err)
{
    m->sent_ms = cur_u64(c);
    return 0;
}
