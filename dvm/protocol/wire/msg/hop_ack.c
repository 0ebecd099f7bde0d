/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of HOP_ACK. */
#include "dvm/protocol/wire/msg/hop_ack.h"

void msg_hop_ack_encode(struct buf *b, const struct msg_hop_ack *m)
{
    buf_put_u32(b, (uint32_t)m->n);
    for (size_t i = 0; i < m->n; i++) {
        buf_put_u64(b, m->ranges[i].first);
        buf_put_u64(b, m->ranges[i].last);
    }
}

int msg_hop_ack_decode(struct cur *c, struct msg_hop_ack *m, struct err *err)
{
    uint64_t last = 0;

    m->n = cur_count(c, HOP_RANGES_MAX, 16);
    for (size_t i = 0; i < m->n; i++) {
        m->ranges[i] = (struct hop_range){cur_u64(c), cur_u64(c)};
        if (!c->bad && (m->ranges[i].first <= last || m->ranges[i].last < m->ranges[i].first))
            return err_set(err, "ranges that are not in order");
        last = m->ranges[i].last;
    }
    return 0;
}
