/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the codec between daemon and spawner: accepted input survives encode and
 * decode. It also reads the file of paths for cleanup, which has the same commands. */
/* clang -fsanitize=fuzzer,address,undefined; corpus: dvm/host/spawner/test/corpus/spawn_msg */
#include "dvm/host/spawner/clean_journal.h"
#include "dvm/host/spawner/spawn_msg.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_equal(const struct buf *b, const uint8_t *data, size_t size)
{
    if (b->failed || b->len != size || memcmp(b->data, data, size) != 0)
        abort();
}

static void command(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b;
    struct cur in = cur_of(data, size);
    struct spawn_cmd c;
    struct err err = {0};

    buf_init(&b, SPAWN_MSG_MAX);
    if (spawn_msg_cmd_decode(&in, &c, &err) < 0)
        return;
    spawn_msg_cmd_encode(&b, &c);
    must_equal(&b, data, size);
}

static void report(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b;
    struct cur in = cur_of(data, size);
    struct spawn_rep r;
    struct err err = {0};

    buf_init(&b, SPAWN_MSG_MAX);
    if (spawn_msg_rep_decode(&in, &r, &err) < 0)
        return;
    spawn_msg_rep_encode(&b, &r);
    must_equal(&b, data, size);
}

static void rank(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b;
    struct cur in = cur_of(data, size);
    struct spawn_spec s;
    struct err err = {0};

    buf_init(&b, SPAWN_SPEC_MAX);
    if (spawn_msg_spec_decode(&in, &s, &err) < 0)
        return;
    if (spawn_msg_spec_encode(&b, &s, &err) < 0)
        abort();
    must_equal(&b, data, size);
    spawn_msg_spec_free(&s);
}

static void on_record(const struct spawn_cmd *c, void *arg)
{
    if (c->kind != SPAWN_CMD_CLEAN_ADD && c->kind != SPAWN_CMD_CLEAN_RUN)
        abort();
}

static void decode_journal(const uint8_t *data, size_t size)
{
    clean_journal_decode(data, size, on_record, NULL);
}

/* The first byte chooses the decoder. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const decoders[])(const uint8_t *data, size_t size) = {command, report, rank,
                                                                         decode_journal};

    if (size)
        decoders[data[0] % 4](data + 1, size - 1);
    return 0;
}
