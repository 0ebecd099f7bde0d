/* SPDX-License-Identifier: BSD-3-Clause */
/* uthash, whose tables grow with xmalloc(): the program ends with one line when memory runs out. By
 * itself uthash ends it with exit(-1) and without a word. The gate `memory` of `make lint` refuses
 * <uthash.h> elsewhere. */
#ifndef BASE_HEAP_HASH_H
#define BASE_HEAP_HASH_H

#include "base/buf/buf.h"

#include <uthash.h>

/* Its macros use these where they are expanded, so it does not matter who included it first. */
#undef uthash_malloc
#define uthash_malloc(n) xmalloc(n)
#undef uthash_fatal
#define uthash_fatal(why) alloc_fail(0)

#endif
