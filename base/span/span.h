/* SPDX-License-Identifier: BSD-3-Clause */
/* The time between two times. */
#ifndef BASE_SPAN_SPAN_H
#define BASE_SPAN_SPAN_H

#include <stdint.h>

/* Milliseconds from one time to another of the same clock: how long something still has to wait, or
 * how old it is. 0 if `to_ms` is the earlier one, so that a time that has passed is never a delay
 * of 500 million years, or after a sum one of the past. At most INT64_MAX; a time before 1970,
 * which has become a large number, is taken for one that never comes. */
int64_t span_ms(uint64_t from_ms, uint64_t to_ms);

#endif
