/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of HELLO. */
#include "dvm/protocol/wire/msg/hello.h"

#include <stdlib.h>

void msg_hello_encode(struct buf *b, const struct msg_hello *m)
{
    buf_put_u8(b, (uint8_t)m->why);
    msg_put_text(b, m->cluster);
    msg_put_member(b, &m->self);
    buf_put_u64(b, m->version);
    msg_put_text(b, m->cpus);
    buf_put_u64(b, m->session);
    buf_put_u64(b, m->received);
    buf_put_u32(b, m->number);
    buf_put_u8(b, m->alone);
}

int msg_hello_decode(struct cur *c, struct msg_hello *m, struct err *err)
{
    m->why = (enum hello_why)msg_get_enum(c, HELLO_WHYS);
    m->cluster = msg_get_text(c);
    msg_get_member(c, &m->self);
    m->version = cur_u64(c);
    m->cpus = msg_get_text(c);
    m->session = cur_u64(c);
    m->received = cur_u64(c);
    m->number = cur_u32(c);
    m->alone = msg_get_flag(c);
    return c->bad ? 0 : msg_member_check(&m->self, err);
}

void msg_hello_free(struct msg_hello *m)
{
    free(m->cluster);
    msg_member_free(&m->self);
    free(m->cpus);
}
