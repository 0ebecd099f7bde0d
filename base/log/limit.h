/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds how often the same record is logged. Pure: the caller has the clock and logs. */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_MS 30000
#define LOG_LIMIT_KEYS 32

/* The keys of one subject, for example of one cluster. All zero at first; owns nothing. */
struct log_limit {
    struct log_limit_key {
        const char *key; /* borrowed, so a literal; NULL: free */
        uint64_t taken_ms;
        unsigned long left_out;
    } keys[LOG_LIMIT_KEYS];
};

/* True once per key in LOG_LIMIT_MS; *left_out is then the number of refused calls since the last
 * time. A further key takes the place of the oldest one. */
bool log_limit_take(struct log_limit *l, const char *key, uint64_t now_ms, unsigned long *left_out);

#endif
