/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of LOST. */
#include "dvm/protocol/wire/msg/lost.h"

#include <stdlib.h>

void msg_lost_encode(struct buf *b, const struct msg_lost *m)
{
    msg_put_target(b, m->who);
    msg_put_text(b, m->why);
}

int msg_lost_decode(struct cur *c, struct msg_lost *m, struct err *err)
{
    m->who = msg_get_target(c);
    m->why = msg_get_text(c);
    return 0;
}

void msg_lost_free(struct msg_lost *m)
{
    free(m->why);
}
