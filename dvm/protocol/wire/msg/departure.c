/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of LEFT, GONE, LOST, RELEASE_ME, REPORT. */
#include "dvm/protocol/wire/msg/departure.h"

#include <stdlib.h>

void msg_departed_encode(struct buf *b, const struct msg_departed *m)
{
    msg_put_target(b, m->who);
    buf_put_u8(b, m->link_closed);
}

int msg_departed_decode(struct cur *c, struct msg_departed *m, struct err *err)
{
    m->who = msg_get_target(c);
    m->link_closed = msg_get_flag(c);
    return 0;
}

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

void msg_release_encode(struct buf *b, const struct msg_release *m)
{
    buf_put_u64(b, (uint64_t)m->deadline_s);
    buf_put_u8(b, m->kill);
}

int msg_release_decode(struct cur *c, struct msg_release *m, struct err *err)
{
    m->deadline_s = (int64_t)cur_u64(c);
    m->kill = msg_get_flag(c);
    return 0;
}

void msg_report_encode(struct buf *b, const struct msg_report *m)
{
    buf_put_u64(b, m->version);
    buf_put_u32(b, m->repairs);
}

int msg_report_decode(struct cur *c, struct msg_report *m, struct err *err)
{
    m->version = cur_u64(c);
    m->repairs = cur_u32(c);
    return 0;
}
