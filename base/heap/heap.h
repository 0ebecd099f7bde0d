/* SPDX-License-Identifier: BSD-3-Clause */
/* How a process gets memory from the kernel and returns it. */
#ifndef BASE_HEAP_HEAP_H
#define BASE_HEAP_HEAP_H

/* For a process that passes many frames of up to 1 MiB on: their memory is used again instead of
 * being returned to the kernel and cleared for each frame. Up to 4 MiB stay after a burst. Longer
 * blocks are returned at once. */
void heap_keep_frames(void);

#endif
