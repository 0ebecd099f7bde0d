/* SPDX-License-Identifier: BSD-3-Clause */
/* How a process gets memory from the kernel and returns it, and what happens when a library gets
 * none. */
#ifndef BASE_HEAP_HEAP_H
#define BASE_HEAP_HEAP_H

#include <stdio.h>

/* For a process that passes many frames of up to 1 MiB on: their memory is used again instead of
 * being returned to the kernel and cleared for each frame. Up to 4 MiB stay after a burst. Longer
 * blocks are returned at once. */
void heap_keep_frames(void);

/* After these, an allocation of the library that fails ends the program with one line, as
 * xmalloc() does. main() calls them first, for each of these libraries that the program is linked
 * with; ci/libraries.sh checks it. Each is in a file of its own, so that a program needs no library
 * that it does not use.
 * Limit: a size that a peer or a file can choose must be bounded before the library sees it, since
 * the program ends where the library would have returned an error. */
void heap_guard_json(void);   /* jansson */
void heap_guard_events(void); /* libevent */
void heap_guard_crypto(void); /* OpenSSL */

/* A stream that writes to a text on the heap, and its end, after which *text is valid. The program
 * ends with one line when memory runs out. */
FILE *heap_stream_open(char **text, size_t *len_bytes) __attribute__((returns_nonnull));
void heap_stream_close(FILE *f);

#endif
