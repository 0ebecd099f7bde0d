/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of ORPHANED. */
#include "dvm/protocol/wire/msg/orphaned.h"

void msg_orphaned_encode(struct buf *b, const struct msg_orphaned *m)
{
    msg_put_target(b, m->who);
}

int msg_orphaned_decode(struct cur *c, struct msg_orphaned *m, struct err *err)
{
    m->who = msg_get_target(c);
    return 0;
}
