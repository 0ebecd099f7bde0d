/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of pieces of files: accepted input is encoded to the same bytes. */
#include "dvm/protocol/wire/piece.h"
#include "dvm/protocol/wire/test/reached.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};
    struct piece p;

    if (piece_decode(data, size, &p, &err) < 0) {
        if (!*err.msg)
            abort();
        return 0;
    }
    reached(p.kind);
    buf_init(&b, PIECE_MAX);
    piece_encode(&b, &p);
    if (b.failed || b.len != size || memcmp(b.data, data, size) != 0)
        abort();
    return 0;
}

static const char *name(unsigned type)
{
    static const char *const names[] = {
        [PIECE_FILE] = "FILE", [PIECE_DATA] = "DATA", [PIECE_END] = "END"};

    return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "?";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(256, name);
    return 0;
}
