/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream that writes to a text on the heap. The C library cuts the text when memory runs out, and
 * says so only to those who ask the stream. */
#include "base/buf/buf.h"
#include "base/heap/heap.h"

FILE *heap_stream_open(char **text, size_t *len_bytes)
{
    FILE *f = open_memstream(text, len_bytes);

    if (!f)
        alloc_fail(0);
    return f;
}

void heap_stream_close(FILE *f)
{
    int failed = ferror(f);

    if (fclose(f) != 0 || failed)
        alloc_fail(0);
}
