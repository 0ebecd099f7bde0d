/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator of jansson, whose functions return NULL or -1 when memory runs out: a value that
 * nobody could check at each of some hundred calls. */
#include "base/buf/buf.h"
#include "base/heap/heap.h"

#include <jansson.h>
#include <stdlib.h>

void heap_guard_json(void)
{
    json_set_alloc_funcs(xmalloc, free);
}
