/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the nidmap: accepted input gives a table that survives encode and decode; refused
 * input leaves an empty one. */
#include "dvm/protocol/member/member.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct members *m, struct buf *b)
{
    buf_init(b, MSG_DATA_MAX);
    members_encode(m, b);
    if (b->failed)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf once = {0};
    BUF_AUTO struct buf twice = {0};
    struct members m, back;
    struct err err = {0};

    members_init(&m, 1, 64);
    members_init(&back, 1, 64);
    if (members_decode(&m, data, size, &err) == 0) {
        encode(&m, &once);
        if (members_decode(&back, once.data, once.len, NULL) < 0)
            abort();
        encode(&back, &twice);
        if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
            abort();
    } else if (!*err.msg || m.n || !hwloc_bitmap_iszero(m.live)) {
        abort();
    }
    members_free(&m);
    members_free(&back);
    return 0;
}
