/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of RELEASE_ME. */
#include "dvm/protocol/wire/msg/release_me.h"

void msg_release_me_encode(struct buf *b, const struct msg_release_me *m)
{
    buf_put_u64(b, (uint64_t)m->deadline_s);
    buf_put_u8(b, m->kill);
}

int msg_release_me_decode(struct cur *c, struct msg_release_me *m, struct err *err)
{
    m->deadline_s = (int64_t)cur_u64(c);
    m->kill = msg_get_flag(c);
    return 0;
}
