/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of HELLO, WELCOME, REFUSE. */
#include "dvm/protocol/wire/msg/join.h"

#include <stdlib.h>

int msg_check_radix(uint32_t radix, struct err *err)
{
    if (radix < RADIX_MIN || radix > RADIX_MAX)
        return err_set(err, "radix %u is not in %d..%d", radix, RADIX_MIN, RADIX_MAX);
    return 0;
}

void msg_hello_encode(struct buf *b, const struct msg_hello *m)
{
    buf_put_u8(b, (uint8_t)m->why);
    msg_put_text(b, m->cluster);
    msg_put_member(b, &m->self);
    buf_put_u64(b, m->version);
    msg_put_text(b, m->cpus);
}

int msg_hello_decode(struct cur *c, struct msg_hello *m, struct err *err)
{
    m->why = (enum hello_why)msg_get_enum(c, HELLO_WHYS);
    m->cluster = msg_get_text(c);
    msg_get_member(c, &m->self);
    m->version = cur_u64(c);
    m->cpus = msg_get_text(c);
    return 0;
}

void msg_hello_free(struct msg_hello *m)
{
    free(m->cluster);
    msg_member_free(&m->self);
    free(m->cpus);
}

void msg_welcome_encode(struct buf *b, const struct msg_welcome *m)
{
    buf_put_u32(b, m->radix);
    msg_put_epoch(b, m->epoch);
    msg_put_member(b, &m->self);
}

int msg_welcome_decode(struct cur *c, struct msg_welcome *m, struct err *err)
{
    m->radix = cur_u32(c);
    m->epoch = msg_get_epoch(c);
    msg_get_member(c, &m->self);
    if (epoch_none(m->epoch) || epoch_none(m->self.epoch))
        return err_set(err, "a welcome without an epoch");
    return msg_check_radix(m->radix, err);
}

void msg_welcome_free(struct msg_welcome *m)
{
    msg_member_free(&m->self);
}

void msg_refuse_encode(struct buf *b, const struct msg_refuse *m)
{
    buf_put_u8(b, (uint8_t)m->why);
    msg_put_text(b, m->text);
}

int msg_refuse_decode(struct cur *c, struct msg_refuse *m, struct err *err)
{
    m->why = (enum refuse_why)msg_get_enum(c, REFUSE_WHYS);
    m->text = msg_get_text(c);
    return 0;
}

void msg_refuse_free(struct msg_refuse *m)
{
    free(m->text);
}
