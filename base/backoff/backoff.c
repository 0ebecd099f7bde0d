/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/backoff/backoff.h"

#include <sys/random.h>

uint64_t backoff_pause_ms(const struct backoff *b, unsigned failures, uint32_t dice)
{
    uint64_t ms = b->min_ms;

    while (failures-- && ms < b->max_ms)
        ms *= 2;
    if (ms > b->max_ms)
        ms = b->max_ms;
    return ms / 2 + dice % (ms / 2 + 1);
}

uint32_t backoff_dice(void)
{
    uint32_t dice;

    return getrandom(&dice, sizeof(dice), GRND_NONBLOCK) == sizeof(dice) ? dice : 0;
}
