/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading of info arrays that clients have filled in, whatever integer type they chose. */
#include "dvm/host/pmix/pmix_private.h"

#include <limits.h>

const pmix_info_t *info_find(const pmix_info_t *info, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], key))
            return &info[i];
    }
    return NULL;
}

static long clamp_to_long(uint64_t v)
{
    return v > LONG_MAX ? LONG_MAX : (long)v;
}

long info_int(const pmix_info_t *info, size_t n, const char *key, long otherwise)
{
    const pmix_info_t *i = info_find(info, n, key);

    if (!i)
        return otherwise;
    switch (i->value.type) {
    case PMIX_INT:
        return i->value.data.integer;
    case PMIX_INT32:
        return i->value.data.int32;
    case PMIX_INT64:
        return (long)i->value.data.int64;
    case PMIX_UINT:
        return clamp_to_long(i->value.data.uint);
    case PMIX_UINT8:
        return i->value.data.uint8;
    case PMIX_UINT16:
        return i->value.data.uint16;
    case PMIX_UINT32:
        return clamp_to_long(i->value.data.uint32);
    case PMIX_UINT64:
        return clamp_to_long(i->value.data.uint64);
    case PMIX_SIZE:
        return clamp_to_long(i->value.data.size);
    case PMIX_PERSIST:
        return i->value.data.persist;
    case PMIX_DATA_RANGE:
        return i->value.data.range;
    default:
        return otherwise;
    }
}

bool info_true(const pmix_info_t *info, size_t n, const char *key)
{
    const pmix_info_t *i = info_find(info, n, key);

    /* A directive without a value is true: PMIx standard, "Attributes", boolean values. */
    return i && (i->value.type != PMIX_BOOL || i->value.data.flag);
}

bool info_understood(const pmix_info_t *info, size_t n, bool (*is_known)(const pmix_info_t *i))
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_INFO_IS_REQUIRED(&info[i]) && !is_known(&info[i]))
            return false;
    }
    return true;
}

const pmix_proc_t *info_procs(const pmix_info_t *i, size_t *n)
{
    const pmix_data_array_t *list = i->value.data.darray;

    *n = 1;
    if (i->value.type == PMIX_PROC)
        return i->value.data.proc;
    if (i->value.type != PMIX_DATA_ARRAY || !list || list->type != PMIX_PROC)
        return NULL;
    *n = list->size;
    return list->array;
}
