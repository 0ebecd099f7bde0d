/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of pieces of files: malformed ones and wrong order are refused, valid ones are decoded as
 * they were encoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/wire/piece.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t sum[PIECE_SUM_BYTES] = {1, 2, 3};

static struct piece begin(uint32_t file, uint32_t mode)
{
    return (struct piece){.kind = PIECE_FILE, .file = file, .mode = mode};
}

static struct piece some(uint32_t file, const void *data, size_t len)
{
    return (struct piece){.kind = PIECE_DATA, .file = file, .data = data, .len = len};
}

static struct piece end(uint32_t file, uint64_t size)
{
    return (struct piece){
        .kind = PIECE_END, .file = file, .size = size, .data = sum, .len = sizeof(sum)};
}

static void assert_refused(const void *data, size_t len, const char *why)
{
    struct piece out = {.file = 77};
    struct err err = {0};

    assert_int_equal(piece_decode(data, len, &out, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
    assert_int_equal(out.file, 77);
}

static void assert_piece_refused(struct piece p, const char *why)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1u << 20);
    piece_encode(&b, &p);
    assert_refused(b.data, b.len, why);
}

static void malformed_pieces_are_refused(void **state)
{
    static uint8_t large[PIECE_DATA_MAX + 1];
    struct piece p = end(0, 5);

    assert_refused("", 0, "cut short");
    assert_refused("\7\0\0\0\1", 5, "unknown kind 7");
    assert_refused("\1\0\0\0\1", 5, "cut short");
    assert_refused("\1\0\0\0\1\0\0\1\244x", 10, "left over");
    assert_piece_refused(begin(0, 04755), "mode 04755");
    assert_piece_refused(some(0, "", 0), "no bytes");
    assert_piece_refused(some(0, large, sizeof(large)), "over a limit");
    p.len = 20;
    assert_piece_refused(p, "a checksum of 20 bytes");
}

static void every_prefix_of_a_piece_is_refused(void **state)
{
    struct piece list[] = {begin(1, 0644), some(2, "data", 4), end(3, 1ull << 40)};

    for (size_t i = 0; i < 3; i++) {
        BUF_AUTO struct buf b = {0};
        struct piece out;

        buf_init(&b, 1024);
        piece_encode(&b, &list[i]);
        for (size_t n = 0; n < b.len; n++)
            assert_int_equal(piece_decode(b.data, n, &out, NULL), -1);
        assert_int_equal(piece_decode(b.data, b.len, &out, NULL), 0);
        assert_int_equal(out.kind, list[i].kind);
        assert_int_equal(out.file, list[i].file);
        assert_int_equal(out.mode, list[i].mode);
        assert_int_equal(out.size, list[i].size);
        assert_int_equal(out.len, list[i].len);
        if (out.len)
            assert_memory_equal(out.data, list[i].data, out.len);
        assert_true(b.len <= out.len + PIECE_OVERHEAD);
    }
}

static void assert_order(struct piece_order *o, uint32_t nfiles, struct piece p, int rc)
{
    struct piece_order before = *o;
    struct err err = {0};

    assert_int_equal(piece_follow(o, nfiles, &p, &err), rc);
    if (rc < 0) {
        assert_true(err.msg[0]);
        assert_memory_equal(o, &before, sizeof(before));
    }
}

static void pieces_out_of_order_are_refused_and_change_nothing(void **state)
{
    struct piece_order o = {0};

    assert_order(&o, 2, some(0, "x", 1), -1);
    assert_order(&o, 2, end(0, 0), -1);
    assert_order(&o, 2, begin(1, 0644), -1);
    assert_order(&o, 0, begin(0, 0644), -1);
    assert_order(&o, 2, begin(0, 0644), 0);
    assert_order(&o, 2, begin(0, 0644), -1);
    assert_order(&o, 2, some(1, "x", 1), -1);
    assert_order(&o, 2, some(0, "xyz", 3), 0);
    assert_order(&o, 2, end(0, 2), -1);
    assert_order(&o, 2, end(0, 3), 0);
    assert_false(piece_all(&o, 2));
    assert_order(&o, 2, end(0, 3), -1);
    assert_order(&o, 2, begin(1, 0), 0);
    assert_order(&o, 2, end(1, 0), 0);
    assert_true(piece_all(&o, 2));
    assert_order(&o, 2, begin(2, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_pieces_are_refused),
        cmocka_unit_test(every_prefix_of_a_piece_is_refused),
        cmocka_unit_test(pieces_out_of_order_are_refused_and_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
