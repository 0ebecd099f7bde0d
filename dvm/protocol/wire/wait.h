/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of a text that says what a job waits for. */
#ifndef DVM_WIRE_WAIT_H
#define DVM_WIRE_WAIT_H

#include <hwloc/bitmap.h>

#define WAIT_TEXT_MAX 255 /* bytes of such a text */

/* "rank 3", "ranks 0,4-7"; a long list is cut. The caller frees the text. */
char *wait_ranks(hwloc_const_bitmap_t ranks) __attribute__((returns_nonnull));
/* The name of a collective by its kind: 'f' fence, 'c' connect, 'd' disconnect, else group. */
const char *wait_collective(char kind);

#endif
