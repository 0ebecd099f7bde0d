/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of these fields. */
#include "dvm/protocol/wire/msg/gather.h"

#include <stdlib.h>

void msg_gather_encode(struct buf *b, const struct msg_gather *m)
{
    buf_put_u64(b, m->seq);
    buf_put_bytes(b, m->sig, m->siglen);
    buf_put_u8(b, (uint8_t)m->outcome);
    msg_put_vpids(b, m->vpids, m->nvpids);
    buf_put_bytes(b, m->data, m->len);
}

int msg_gather_decode(struct cur *c, struct msg_gather *m, struct err *err)
{
    m->seq = cur_u64(c);
    m->sig = cur_bytes(c, MSG_ROUTED_MAX, &m->siglen);
    m->outcome = (enum gather_outcome)msg_get_enum(c, GATHER_OUTCOMES);
    m->vpids = msg_get_vpids(c, &m->nvpids);
    m->data = cur_bytes(c, MSG_ROUTED_MAX, &m->len);
    return 0;
}

void msg_gather_free(struct msg_gather *m)
{
    free(m->vpids);
}
