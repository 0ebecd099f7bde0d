/* SPDX-License-Identifier: BSD-3-Clause */
/* Bitmaps of hwloc that end the program with one line when memory runs out.
 *
 * hwloc has no hook for its allocator. Its functions that create a bitmap or make one longer have a
 * counterpart here each, with the same arguments; the gate `memory` of `make lint` refuses them
 * elsewhere. All others (hwloc_bitmap_isset(), hwloc_bitmap_next(), ...) allocate nothing and are
 * called directly. */
#ifndef BASE_BITMAP_BITMAP_H
#define BASE_BITMAP_BITMAP_H

#include <hwloc/bitmap.h>

/* A list of CPUs that names a greater number is refused. */
#define BITMAP_LIST_MAX ((1 << 20) - 1)

/* The caller frees them with hwloc_bitmap_free(). */
hwloc_bitmap_t bitmap_alloc(void) __attribute__((returns_nonnull));
hwloc_bitmap_t bitmap_dup(hwloc_const_bitmap_t set) __attribute__((returns_nonnull));

void bitmap_copy(hwloc_bitmap_t to, hwloc_const_bitmap_t from);
void bitmap_set(hwloc_bitmap_t set, unsigned bit);
/* `last` -1: no end. */
void bitmap_set_range(hwloc_bitmap_t set, unsigned first, int last);
void bitmap_clr(hwloc_bitmap_t set, unsigned bit);
void bitmap_or(hwloc_bitmap_t to, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b);
void bitmap_and(hwloc_bitmap_t to, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b);

/* hwloc's form of a list, "0-3,8"; "" for the empty set. The caller frees the text. */
char *bitmap_list_text(hwloc_const_bitmap_t set) __attribute__((returns_nonnull));
/* Returns -1, and the set is empty, if the text is no such list. */
int bitmap_list_parse(hwloc_bitmap_t set, const char *text) __attribute__((warn_unused_result));

#endif
