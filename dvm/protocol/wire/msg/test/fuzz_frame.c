/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of frames and messages between daemons, with the jobs and member tables in them:
 * accepted input survives encode and decode, refused input leaves nothing allocated. */
#include "dvm/protocol/wire/test/reached.h"

#include "dvm/protocol/wire/msg/msg.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNTOUCHED 0x5a

static bool untouched(const void *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (((const uint8_t *)p)[i] != UNTOUCHED)
            return false;
    }
    return true;
}

static bool decode(const uint8_t *data, size_t size, struct frame *f, struct msg *m)
{
    struct cur c = cur_of(data, size);
    struct err err = {0};

    memset(f, UNTOUCHED, sizeof(*f));
    memset(m, UNTOUCHED, sizeof(*m));
    if (frame_decode(&c, f, &err) == 0) {
        if (msg_decode(&c, f->type, m, &err) == 0)
            return true;
    } else if (!untouched(f, sizeof(*f))) {
        abort();
    }
    if (!*err.msg || !untouched(m, sizeof(*m)))
        abort();
    return false;
}

static void encode(struct buf *b, const struct frame *f, const struct msg *m)
{
    buf_init(b, MSG_DATA_MAX);
    frame_encode(b, f);
    msg_encode(b, m);
    if (b->failed)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf once = {0};
    BUF_AUTO struct buf twice = {0};
    struct frame f;
    struct msg m;

    if (!decode(data, size, &f, &m))
        return 0;
    reached(m.type);
    encode(&once, &f, &m);
    msg_free(&m);
    /* Reserved bits and truths other than 1 are the only bytes that may differ. */
    if (once.len != size || !decode(once.data, once.len, &f, &m))
        abort();
    encode(&twice, &f, &m);
    msg_free(&m);
    if (twice.len != once.len || memcmp(twice.data, once.data, once.len) != 0)
        abort();
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(MSG_TYPES, msg_name);
    return 0;
}
