/* SPDX-License-Identifier: BSD-3-Clause */
/* The growable byte buffer that every encoder writes to. */
#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 256

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max = max_bytes};
}

void buf_free(struct buf *b)
{
    free(b->data);
    *b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->failed = false;
}

/* Returns the place of n more bytes; NULL: there is no room, and the buffer is marked failed. */
static uint8_t *grow_by(struct buf *b, size_t n)
{
    if (b->failed || b->len > b->max || n > b->max - b->len) {
        b->failed = true;
        return NULL;
    }
    if (!b->data || n > b->cap - b->len) {
        size_t cap = b->cap ? b->cap : FIRST_CAP;

        while (cap - b->len < n && cap <= b->max / 2)
            cap *= 2;
        if (cap - b->len < n || cap > b->max)
            cap = b->max;
        b->data = xrealloc(b->data, cap);
        b->cap = cap;
    }
    b->len += n;
    return b->data + b->len - n;
}

static void put_be(struct buf *b, uint64_t v, size_t width)
{
    uint8_t *p = grow_by(b, width);

    if (!p)
        return;
    for (size_t i = 0; i < width; i++)
        p[i] = (uint8_t)(v >> (8 * (width - 1 - i)));
}

void buf_put_u8(struct buf *b, uint8_t v)
{
    put_be(b, v, sizeof(v));
}

void buf_put_u16(struct buf *b, uint16_t v)
{
    put_be(b, v, sizeof(v));
}

void buf_put_u32(struct buf *b, uint32_t v)
{
    put_be(b, v, sizeof(v));
}

void buf_put_u64(struct buf *b, uint64_t v)
{
    put_be(b, v, sizeof(v));
}

void buf_put_raw(struct buf *b, const void *p, size_t len)
{
    uint8_t *to = grow_by(b, len);

    if (to && len)
        memcpy(to, p, len);
}

void buf_put_bytes(struct buf *b, const void *p, size_t len)
{
    /* All or nothing: a length without its bytes would make a malformed message. */
    if (b->failed || len > UINT32_MAX || b->max < 4 || b->len > b->max - 4 ||
        len > b->max - 4 - b->len) {
        b->failed = true;
        return;
    }
    buf_put_u32(b, (uint32_t)len);
    buf_put_raw(b, p, len);
}

void buf_put_str(struct buf *b, const char *s)
{
    buf_put_bytes(b, s, s ? strlen(s) : 0);
}

void buf_patch_u32(struct buf *b, size_t off, uint32_t v)
{
    if (b->failed || b->len < 4 || off > b->len - 4) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < 4; i++)
        b->data[off + i] = (uint8_t)(v >> (8 * (3 - i)));
}

void buf_consume(struct buf *b, size_t n)
{
    if (n > b->len)
        n = b->len;
    b->len -= n;
    if (n && b->len)
        memmove(b->data, b->data + n, b->len);
}
