/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of members in messages. */
#include "dvm/protocol/wire/msg/member.h"

#include <stdlib.h>
#include <string.h>

#define MEMBER_BYTES_MIN 34
#define HOST_MAX 253

void msg_member_copy(struct msg_member *dst, const struct msg_member *src)
{
    *dst = *src;
    dst->host = xstrdup(src->host);
    dst->address = xstrdup(src->address);
    for (size_t i = 0; i < src->nmore; i++)
        dst->more[i] = xstrdup(src->more[i]);
}

void msg_member_free(struct msg_member *m)
{
    free(m->host);
    free(m->address);
    m->host = m->address = NULL;
    while (m->nmore)
        free(m->more[--m->nmore]);
}

size_t msg_member_addresses(const struct msg_member *m)
{
    return *m->address ? 1u + m->nmore : 0;
}

const char *msg_member_address(const struct msg_member *m, size_t i)
{
    return i ? m->more[i - 1] : m->address;
}

static bool is_there_before(const struct msg_member *m, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(msg_member_address(m, i), msg_member_address(m, at)) == 0)
            return true;
    }
    return false;
}

int msg_member_check(const struct msg_member *m, struct err *err)
{
    for (size_t i = 0; m->nmore && i <= m->nmore; i++) {
        if (!*msg_member_address(m, i))
            return err_set(err, "address %zu of vpid %u is empty", i + 1, m->vpid);
        if (is_there_before(m, i))
            return err_set(err, "vpid %u has the address %s twice", m->vpid,
                           msg_member_address(m, i));
    }
    return 0;
}

static void put_addresses(struct buf *b, const struct msg_member *m)
{
    FREE_AUTO char *text = xstrdup(m->address ? m->address : ""); /* as buf_put_str() */

    for (size_t i = 0; i < m->nmore; i++) {
        char *longer = xasprintf("%s,%s", text, m->more[i]);

        free(text);
        text = longer;
    }
    buf_put_str(b, text);
}

/* Too many of them are out of the limits; msg_member_check() refuses the others. */
static void get_addresses(struct cur *c, struct msg_member *m)
{
    char *rest = cur_str(c, HOST_MAX);
    const char *more;

    m->address = rest;
    (void)strsep(&rest, ",");
    while ((more = strsep(&rest, ","))) {
        if (m->nmore == MEMBER_MORE_MAX) {
            c->bad = true;
            return;
        }
        m->more[m->nmore++] = xstrdup(more);
    }
}

void msg_put_member(struct buf *b, const struct msg_member *m)
{
    buf_put_u32(b, m->vpid);
    msg_put_epoch(b, m->epoch);
    buf_put_str(b, m->host);
    put_addresses(b, m);
    buf_put_u16(b, m->port);
    buf_put_u32(b, m->slots);
}

void msg_get_member(struct cur *c, struct msg_member *m)
{
    m->vpid = cur_u32(c);
    m->epoch = msg_get_epoch(c);
    m->host = cur_str(c, HOST_MAX);
    get_addresses(c, m);
    m->port = cur_u16(c);
    m->slots = cur_u32(c);
    if (!vpid_allowed(m->vpid))
        c->bad = true;
}

void msg_put_keyed_member(struct buf *b, const struct msg_member *m)
{
    msg_put_member(b, m);
    msg_put_key_id(b, m->key);
}

void msg_get_keyed_member(struct cur *c, struct msg_member *m)
{
    msg_get_member(c, m);
    m->key = msg_get_key_id(c);
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
