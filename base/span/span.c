/* SPDX-License-Identifier: BSD-3-Clause */
/* The time between two times, which is never negative. */
#include "base/span/span.h"

int64_t span_ms(uint64_t from_ms, uint64_t to_ms)
{
    if (to_ms <= from_ms)
        return 0;
    return to_ms - from_ms > INT64_MAX ? INT64_MAX : (int64_t)(to_ms - from_ms);
}
