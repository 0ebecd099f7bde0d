/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of SNAPSHOT. */
#include "dvm/protocol/wire/msg/snapshot.h"

#include "dvm/protocol/wire/msg/radix.h"

void msg_snapshot_encode(struct buf *b, const struct msg_snapshot *m)
{
    buf_put_u64(b, m->op);
    buf_put_u32(b, m->radix);
    buf_put_bytes(b, m->table, m->len);
}

int msg_snapshot_decode(struct cur *c, struct msg_snapshot *m, struct err *err)
{
    m->op = cur_u64(c);
    m->radix = cur_u32(c);
    m->table = cur_bytes(c, MSG_DATA_MAX, &m->len);
    return msg_check_radix(m->radix, err); /* members_decode() checks the table */
}
