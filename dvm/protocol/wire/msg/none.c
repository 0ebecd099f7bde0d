/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of these fields. */
#include "dvm/protocol/wire/msg/none.h"

void msg_none_encode(struct buf *b, const struct msg_none *m)
{
}

int msg_none_decode(struct cur *c, struct msg_none *m, struct err *err)
{
    return 0;
}
