/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of the C library's allocator. Its own ones follow the sizes that are freed, and change
 * while frames of 256 KiB come and go: then half of the time is spent on page faults
 * (docs/benchmarks.md). */
#include "base/heap/heap.h"

#include <malloc.h>

#define FRAME_BYTES (1 << 20)
#define KEPT_BYTES (4 << 20)

void heap_keep_frames(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, FRAME_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}
