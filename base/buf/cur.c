/* SPDX-License-Identifier: BSD-3-Clause */
/* The bounds-checked cursor that every decoder reads from. */
#include "base/buf/buf.h"

#include <string.h>

struct cur cur_of(const void *p, size_t len)
{
    static const uint8_t nothing[1];

    /* Not NULL: a run of no bytes must differ from a failed read. */
    if (!p)
        return (struct cur){.p = nothing, .end = nothing, .bad = len > 0};
    return (struct cur){.p = p, .end = (const uint8_t *)p + len};
}

size_t cur_left(const struct cur *c)
{
    return c->bad ? 0 : (size_t)(c->end - c->p);
}

bool cur_done(const struct cur *c)
{
    return !c->bad && c->p == c->end;
}

const uint8_t *cur_raw(struct cur *c, size_t len)
{
    const uint8_t *p = c->p;

    if (c->bad || len > cur_left(c)) {
        c->bad = true;
        return NULL;
    }
    c->p += len;
    return p;
}

static uint64_t get_be(struct cur *c, size_t width)
{
    const uint8_t *p = cur_raw(c, width);
    uint64_t v = 0;

    for (size_t i = 0; p && i < width; i++)
        v = v << 8 | p[i];
    return v;
}

uint8_t cur_u8(struct cur *c)
{
    return (uint8_t)get_be(c, 1);
}

uint16_t cur_u16(struct cur *c)
{
    return (uint16_t)get_be(c, 2);
}

uint32_t cur_u32(struct cur *c)
{
    return (uint32_t)get_be(c, 4);
}

uint64_t cur_u64(struct cur *c)
{
    return get_be(c, 8);
}

const uint8_t *cur_bytes(struct cur *c, size_t max, size_t *len)
{
    size_t n = cur_u32(c);
    const uint8_t *p = NULL;

    if (n > max)
        c->bad = true;
    p = cur_raw(c, n);
    *len = p ? n : 0;
    return p;
}

char *cur_str(struct cur *c, size_t max)
{
    size_t len;
    const uint8_t *p = cur_bytes(c, max, &len);
    char *s;

    if (len && memchr(p, '\0', len)) {
        c->bad = true;
        len = 0;
    }
    s = xmalloc(len + 1);
    if (len)
        memcpy(s, p, len);
    s[len] = '\0';
    return s;
}

uint32_t cur_count(struct cur *c, uint32_t max, size_t elem_min)
{
    uint32_t n = cur_u32(c);

    if (n > max || (elem_min && n > cur_left(c) / elem_min))
        c->bad = true;
    return c->bad ? 0 : n;
}
