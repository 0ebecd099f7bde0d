/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of TABLE. */
#include "dvm/protocol/wire/msg/table.h"

#include <stdlib.h>

void msg_table_encode(struct buf *b, const struct msg_table *m)
{
    buf_put_u64(b, m->version);
    buf_put_bytes(b, m->table, m->len);
    msg_put_vpids(b, m->linked, m->nlinked);
}

int msg_table_decode(struct cur *c, struct msg_table *m, struct err *err)
{
    m->version = cur_u64(c);
    m->table = cur_bytes(c, MSG_DATA_MAX, &m->len); /* members_decode() checks it */
    m->linked = msg_get_vpids(c, &m->nlinked);
    return 0;
}

void msg_table_free(struct msg_table *m)
{
    free(m->linked);
}
