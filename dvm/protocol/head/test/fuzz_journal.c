/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of journals: no bytes break the fold. A record that is decoded is encoded to bytes
 * that are decoded to the same, and the snapshot of any state is that state. */
#include "dvm/protocol/head/head_state.h"
#include "dvm/protocol/wire/test/reached.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX 64
#define STATE_MAX (64u << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_equal(const struct buf *a, const struct buf *b)
{
    if (a->failed || b->failed || a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
        abort();
}

static void encode_twice(const uint8_t *data, size_t len)
{
    BUF_AUTO struct buf one = {0};
    BUF_AUTO struct buf two = {0};
    struct record r;

    if (record_decode(data, len, &r, NULL) < 0)
        return;
    reached(r.type);
    buf_init(&one, STATE_MAX);
    buf_init(&two, STATE_MAX);
    record_encode(&one, &r);
    record_free(&r);
    if (record_decode(one.data, one.len, &r, NULL) < 0)
        abort();
    record_encode(&two, &r);
    record_free(&r);
    must_be_equal(&one, &two);
}

static void snapshot_is_the_state(const struct head_fold *f)
{
    BUF_AUTO struct buf one = {0};
    BUF_AUTO struct buf two = {0};
    BUF_AUTO struct buf bytes = {0};
    struct head_fold *g = head_fold_create();
    struct record r = {.type = RECORD_SNAPSHOT};

    buf_init(&one, STATE_MAX);
    buf_init(&two, STATE_MAX);
    buf_init(&bytes, STATE_MAX);
    head_fold_save(f, &one);
    r.snapshot = (struct record_snapshot){one.data, one.len};
    record_encode(&bytes, &r);
    if (head_fold_take(g, bytes.data, bytes.len, NULL) < 0)
        abort();
    head_fold_save(g, &two);
    must_be_equal(&one, &two);
    head_fold_destroy(g);
}

/* Records, each after 16 bits of its length. After a malformed snapshot the state is unusable. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cur c = cur_of(data, size);
    struct head_fold *f = head_fold_create();
    bool usable = true;

    for (int i = 0; i < RECORDS_MAX && usable && cur_left(&c) > 2; i++) {
        size_t len = cur_u16(&c);
        uint8_t *exact;

        len = len < cur_left(&c) ? len : cur_left(&c);
        exact = xmalloc(len + 1); /* so that ASan sees a read past the end */
        memcpy(exact, cur_raw(&c, len), len);
        encode_twice(exact, len);
        if (head_fold_take(f, exact, len, NULL) < 0 && i == 0)
            usable = false;
        free(exact);
    }
    if (usable)
        snapshot_is_the_state(f);
    head_fold_destroy(f);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(RECORD_TYPES, record_name);
    return 0;
}
