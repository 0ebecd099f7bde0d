/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of members in messages. */
#include "dvm/protocol/wire/msg/member.h"

#include <stdlib.h>

#define MEMBER_BYTES_MIN 34
#define HOST_MAX 253

void msg_member_copy(struct msg_member *dst, const struct msg_member *src)
{
    *dst = *src;
    dst->host = xstrdup(src->host);
    dst->address = xstrdup(src->address);
}

void msg_member_free(struct msg_member *m)
{
    free(m->host);
    free(m->address);
    m->host = m->address = NULL;
}

void msg_put_member(struct buf *b, const struct msg_member *m)
{
    buf_put_u32(b, m->vpid);
    msg_put_epoch(b, m->epoch);
    buf_put_str(b, m->host);
    buf_put_str(b, m->address);
    buf_put_u16(b, m->port);
    buf_put_u32(b, m->slots);
}

void msg_get_member(struct cur *c, struct msg_member *m)
{
    m->vpid = cur_u32(c);
    m->epoch = msg_get_epoch(c);
    m->host = cur_str(c, HOST_MAX);
    m->address = cur_str(c, HOST_MAX);
    m->port = cur_u16(c);
    m->slots = cur_u32(c);
    if (m->vpid > VPID_MAX)
        c->bad = true;
}

void msg_put_members(struct buf *b, const struct msg_member *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        msg_put_member(b, &list[i]);
}

struct msg_member *msg_get_members(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, VPID_MAX + 1, MEMBER_BYTES_MIN);
    struct msg_member *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count && !c->bad; (*n)++)
        msg_get_member(c, &list[*n]);
    return list;
}

void msg_free_members(struct msg_member *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        msg_member_free(&list[i]);
    free(list);
}
