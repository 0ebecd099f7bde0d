/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of credentials: what is accepted is encoded to the same bytes. */
#include "dvm/host/cred/cred.h"
#include "dvm/protocol/wire/test/reached.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};
    size_t statement;
    struct cred k;

    if (cred_decode(data, size, &k, &statement, &err) < 0) {
        if (!*err.msg)
            abort();
        return 0;
    }
    reached(k.tool);
    buf_init(&b, CRED_MAX);
    cred_encode_statement(&b, &k);
    if (b.len != statement)
        abort();
    buf_reset(&b);
    cred_encode(&b, &k);
    if (b.failed || b.len != size || memcmp(b.data, data, size) != 0)
        abort();
    return 0;
}

static const char *name(unsigned type)
{
    static const char *const names[] = {"RANK", "TOOL"};

    return type < sizeof(names) / sizeof(*names) ? names[type] : "?";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(2, name);
    return 0;
}
