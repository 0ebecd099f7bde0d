/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator of libevent. */
#include "base/buf/buf.h"
#include "base/heap/heap.h"

#include <event2/event.h>
#include <stdlib.h>

void heap_guard_events(void)
{
    event_set_mem_functions(xmalloc, xrealloc, free);
}
