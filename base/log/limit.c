/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds how often the same record is logged: one per key and period. */
#include "base/log/limit.h"

#include <stddef.h>
#include <string.h>

/* The place of the key, or else the one to replace: a free one, or the oldest. */
static struct log_limit_key *find_key(struct log_limit *l, const char *key)
{
    struct log_limit_key *oldest = &l->keys[0];

    for (size_t i = 0; i < LOG_LIMIT_KEYS; i++) {
        struct log_limit_key *k = &l->keys[i];

        if (!k->key || strcmp(k->key, key) == 0)
            return k;
        if (k->taken_ms < oldest->taken_ms)
            oldest = k;
    }
    return oldest;
}

bool log_limit_take(struct log_limit *l, const char *key, uint64_t now_ms, unsigned long *left_out)
{
    struct log_limit_key *k = find_key(l, key);
    bool known = k->key && strcmp(k->key, key) == 0;

    if (known && now_ms - k->taken_ms < LOG_LIMIT_MS) {
        k->left_out++;
        return false;
    }
    *left_out = known ? k->left_out : 0;
    *k = (struct log_limit_key){.key = key, .taken_ms = now_ms};
    return true;
}
