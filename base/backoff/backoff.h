/* SPDX-License-Identifier: BSD-3-Clause */
/* The pause before the next try of something that has failed. */
#ifndef BASE_BACKOFF_BACKOFF_H
#define BASE_BACKOFF_BACKOFF_H

#include <stdint.h>

struct backoff {
    uint64_t min_ms, max_ms;
};

/* min_ms, doubled by each earlier failure up to max_ms. Half of it is drawn by `dice`, any number,
 * so that many programs do not try again in step. */
uint64_t backoff_pause_ms(const struct backoff *b, unsigned failures, uint32_t dice);

/* A random number for the above; 0 while the kernel has none. */
uint32_t backoff_dice(void);

#endif
