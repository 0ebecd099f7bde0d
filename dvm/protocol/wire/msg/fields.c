/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared parts of messages, each encoder beside its decoder. */
#include "dvm/protocol/wire/msg/fields.h"

#include <stdlib.h>
#include <string.h>

#define MEMBER_BYTES_MIN 34
#define TARGET_BYTES 20
#define RANK_BYTES_MIN 14
#define HOST_MAX 253

void msg_none_encode(struct buf *b, const struct msg_none *m)
{
}

int msg_none_decode(struct cur *c, struct msg_none *m, struct err *err)
{
    return 0;
}

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

void msg_put_text(struct buf *b, const char *s)
{
    size_t len = s ? strnlen(s, MSG_TEXT_MAX) : 0;

    buf_put_bytes(b, len ? s : "", len);
}

char *msg_get_text(struct cur *c)
{
    return cur_str(c, MSG_TEXT_MAX);
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

void msg_put_target(struct buf *b, struct msg_target t)
{
    buf_put_u32(b, t.vpid);
    msg_put_epoch(b, t.epoch);
}

struct msg_target msg_get_target(struct cur *c)
{
    struct msg_target t;

    t.vpid = cur_u32(c);
    t.epoch = msg_get_epoch(c);
    if (t.vpid > VPID_MAX)
        c->bad = true;
    return t;
}

void msg_put_targets(struct buf *b, const struct msg_target *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        msg_put_target(b, list[i]);
}

struct msg_target *msg_get_targets(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, VPID_MAX + 1, TARGET_BYTES);
    struct msg_target *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count; (*n)++)
        list[*n] = msg_get_target(c);
    return list;
}

void msg_put_ranks(struct buf *b, const struct msg_rank *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        buf_put_u32(b, list[i].rank);
        buf_put_u8(b, list[i].failed);
        buf_put_u8(b, list[i].how);
        buf_put_u32(b, (uint32_t)list[i].value);
        msg_put_text(b, list[i].text);
    }
}

struct msg_rank *msg_get_ranks(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, JOB_RANKS_MAX, RANK_BYTES_MIN);
    struct msg_rank *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count && !c->bad; (*n)++) {
        struct msg_rank *r = &list[*n];

        r->rank = cur_u32(c);
        r->failed = cur_u8(c);
        r->how = msg_get_enum(c, RANK_HOWS);
        r->value = (int32_t)cur_u32(c);
        r->text = msg_get_text(c);
    }
    return list;
}

void msg_free_ranks(struct msg_rank *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].text);
    free(list);
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
        if (list[*n] > VPID_MAX)
            c->bad = true;
    }
    return list;
}
