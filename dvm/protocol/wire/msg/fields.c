/* SPDX-License-Identifier: BSD-3-Clause */
/* The simple fields of messages, each encoder beside its decoder. */
#include "dvm/protocol/wire/msg/fields.h"

#include <string.h>

void msg_put_epoch(struct buf *b, struct epoch e)
{
    buf_put_u64(b, e.inc);
    buf_put_u64(b, e.ctr);
}

struct epoch msg_get_epoch(struct cur *c)
{
    struct epoch e;

    e.inc = cur_u64(c);
    e.ctr = cur_u64(c);
    return e;
}

void msg_put_key_id(struct buf *b, struct key_id k)
{
    buf_put_u64(b, k.high);
    buf_put_u64(b, k.low);
}

struct key_id msg_get_key_id(struct cur *c)
{
    struct key_id k;

    k.high = cur_u64(c);
    k.low = cur_u64(c);
    return k;
}

void msg_put_text(struct buf *b, const char *s)
{
    size_t len = s ? strnlen(s, MSG_TEXT_MAX) : 0;

    buf_put_bytes(b, len ? s : "", len);
}

char *msg_get_text(struct cur *c)
{
    return cur_str(c, MSG_TEXT_MAX);
}

uint64_t msg_get_moment(struct cur *c)
{
    uint64_t ms = cur_u64(c);

    if (ms > MSG_MOMENT_MAX)
        c->bad = true;
    return ms;
}

char *msg_get_nspace(struct cur *c)
{
    return cur_str(c, JOB_NSPACE_MAX);
}

uint8_t msg_get_enum(struct cur *c, unsigned end)
{
    uint8_t value = cur_u8(c);

    if (value >= end)
        c->bad = true;
    return value;
}

bool msg_get_flag(struct cur *c)
{
    return msg_get_enum(c, 2) == 1;
}

void msg_put_added_flag(struct buf *b, bool flag)
{
    if (flag)
        buf_put_u8(b, 1);
}

bool msg_get_added_flag(struct cur *c)
{
    if (c->bad || c->p == c->end || *c->p != 1) /* another byte stays, and is refused */
        return false;
    return cur_u8(c) == 1;
}

void msg_put_vpids(struct buf *b, const uint32_t *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        buf_put_u32(b, list[i]);
}

uint32_t *msg_get_vpids(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, VPID_MAX + 1, 4);
    uint32_t *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count; (*n)++) {
        list[*n] = cur_u32(c);
        if (!vpid_allowed(list[*n]))
            c->bad = true;
    }
    return list;
}
