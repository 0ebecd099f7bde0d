/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of WELCOME. */
#include "dvm/protocol/wire/msg/welcome.h"

#include "dvm/protocol/wire/msg/radix.h"

void msg_welcome_encode(struct buf *b, const struct msg_welcome *m)
{
    buf_put_u32(b, m->radix);
    msg_put_epoch(b, m->epoch);
    msg_put_member(b, &m->self);
    buf_put_u64(b, m->session);
    buf_put_u64(b, m->received);
}

int msg_welcome_decode(struct cur *c, struct msg_welcome *m, struct err *err)
{
    m->radix = cur_u32(c);
    m->epoch = msg_get_epoch(c);
    msg_get_member(c, &m->self);
    m->session = cur_u64(c);
    m->received = cur_u64(c);
    if (epoch_none(m->epoch) || epoch_none(m->self.epoch))
        return err_set(err, "a welcome without an epoch");
    if (m->session == 0 && !c->bad)
        return err_set(err, "a welcome without a session");
    if (!c->bad && msg_member_check(&m->self, err) < 0)
        return -1;
    return msg_check_radix(m->radix, err);
}

void msg_welcome_free(struct msg_welcome *m)
{
    msg_member_free(&m->self);
}
