/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts behind a struct, in one block with it. */
#include "operator/reconcile/texts.h"

#include "base/buf/buf.h"

#include <string.h>

void *texts_pack(size_t size, size_t at_offset, const char *const *texts, size_t n)
{
    size_t total = size;

    for (size_t i = 0; i < n; i++)
        total += texts[i] ? strnlen(texts[i], TEXT_BYTES_MAX) + 1 : 0;
    char *block = xcalloc(1, total);
    uint16_t *at = (uint16_t *)(void *)(block + at_offset);
    size_t end = size;
    for (size_t i = 0; i < n; i++) {
        size_t len = texts[i] ? strnlen(texts[i], TEXT_BYTES_MAX) : 0;

        if (!texts[i])
            continue;
        memcpy(block + end, texts[i], len);
        at[i] = (uint16_t)end;
        end += len + 1;
    }
    return block;
}

const char *texts_get(const void *block, uint16_t at)
{
    return at ? (const char *)block + at : NULL;
}

const json_t *texts_field(const json_t *o, const char *a, const char *b, const char *c)
{
    o = json_object_get(json_object_get(o, a), b);
    return c ? json_object_get(o, c) : o;
}

const char *texts_find(const json_t *o, const char *a, const char *b, const char *c)
{
    return json_string_value(texts_field(o, a, b, c));
}
