/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of prun's loop. It has a file of its own, so that a test can replace it. */
#include "dvm/tools/submit/now.h"

#include <time.h>

int64_t submit_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
