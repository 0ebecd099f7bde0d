/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames and messages between daemons: bad input of every type first, then what comes back whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/wire/out.h"
#include "dvm/protocol/wire/test/samples.h"

#include <stdlib.h>
#include <string.h>

#define BUF_MAX (1u << 20)
#define FIRST_TYPE 1

/* A bigger allocation ends the test: the inputs here are far smaller. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=16";
}

static struct buf body_of(const struct msg *m)
{
    struct buf b;

    buf_init(&b, BUF_MAX);
    msg_encode(&b, m);
    assert_false(b.failed);
    return b;
}

static struct buf frame_of(unsigned type)
{
    struct buf b;

    buf_init(&b, BUF_MAX);
    sample_frame(&b, type);
    assert_false(b.failed);
    return b;
}

static int decode_frame(const uint8_t *data, size_t len, struct frame *f, struct msg *m,
                        struct err *err)
{
    struct cur c = cur_of(data, len);

    return frame_decode(&c, f, err) < 0 || msg_decode(&c, f->type, m, err) < 0 ? -1 : 0;
}

#define UNTOUCHED 0x5a

static void assert_untouched(const void *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        assert_int_equal(((const uint8_t *)p)[i], UNTOUCHED);
}

/* A refusal has a reason, and leaves both outputs as they were. */
static void assert_refused(const uint8_t *data, size_t len, const char *why)
{
    uint8_t *exact = xmalloc(len + 1); /* so that ASan sees a read past the end */
    struct err err = {0};
    struct frame f;
    struct msg m;
    struct cur c;

    memset(&f, UNTOUCHED, sizeof f);
    memset(&m, UNTOUCHED, sizeof m);
    memcpy(exact, data, len);
    c = cur_of(exact, len);
    if (frame_decode(&c, &f, &err) < 0)
        assert_untouched(&f, sizeof f);
    else if (msg_decode(&c, f.type, &m, &err) == 0)
        fail_msg("%s of %zu bytes was taken", msg_name(f.type), len);
    free(exact);
    assert_untouched(&m, sizeof m);
    if (!strstr(err.msg, why) || !*err.msg)
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void assert_msg_refused(const struct msg *m, const char *why)
{
    struct buf b BUF_AUTO = body_of(m);
    struct cur c = cur_of(b.data, b.len);
    struct err err = {0};
    struct msg out;

    assert_int_equal(msg_decode(&c, m->type, &out, &err), -1);
    if (!strstr(err.msg, why) || !strstr(err.msg, msg_name(m->type)))
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void every_truncation_of_every_type_is_refused(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        struct buf b BUF_AUTO = frame_of(type);

        for (size_t len = 0; len < b.len; len++)
            assert_refused(b.data, len, len < FRAME_HEADER_BYTES ? "cut in its header" : "");
    }
}

static void a_byte_too_many_is_refused_in_every_type(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        struct buf b BUF_AUTO = frame_of(type);

        buf_put_u8(&b, 0);
        assert_refused(b.data, b.len, "bytes left over");
    }
}

static void another_version_class_or_vpid_is_refused_in_every_type(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        struct buf b BUF_AUTO = frame_of(type);
        uint8_t *h = b.data;

        h[0] = WIRE_VERSION + 1;
        assert_refused(h, b.len, "this daemon speaks 1");
        h[0] = WIRE_VERSION;
        h[1] = CLASSES;
        assert_refused(h, b.len, "traffic class");
        h[1] = 0;
        h[5] = 0x10; /* sender 0x100003 */
        assert_refused(h, b.len, "vpid out of range");
        h[5] = 0;
        h[9] = 0x10; /* receiver */
        assert_refused(h, b.len, "vpid out of range");
    }
}

static void a_type_that_does_not_exist_is_refused(void **state)
{
    static const unsigned types[] = {0, MSG_TYPES, MSG_TYPES + 1, 0xffff};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct buf b BUF_AUTO = frame_of(MSG_PING);

        b.data[2] = (uint8_t)(types[i] >> 8);
        b.data[3] = (uint8_t)types[i];
        assert_refused(b.data, b.len, "unknown message type");
        assert_string_equal(msg_name(types[i]), "?");
    }
}

/* No decoder may read past the end, believe a count, or leave something behind. */
static void
any_single_flipped_bit_is_refused_with_a_reason_or_decodes_to_something_whole(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        struct buf b BUF_AUTO = frame_of(type);

        for (size_t bit = 0; bit < 8 * b.len; bit++) {
            struct err err = {0};
            struct frame f;
            struct msg m;

            b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (decode_frame(b.data, b.len, &f, &m, &err) == 0)
                msg_free(&m);
            else
                assert_true(*err.msg);
            b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void
a_count_that_promises_more_than_there_is_is_refused_before_anything_is_allocated(void **state)
{
    static const unsigned types[] = {MSG_ADD, MSG_LOST, MSG_EXITED, MSG_GATHER_UP};
    static const size_t at[] = {8, 0, 8, 15}; /* of the count in the body */

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct buf b BUF_AUTO = frame_of(types[i]);

        memcpy(b.data + FRAME_HEADER_BYTES + at[i], "\0\x0f\xff\xff", 4);
        assert_refused(b.data, b.len, "cut or out of its limits");
        memcpy(b.data + FRAME_HEADER_BYTES + at[i], "\xff\xff\xff\xff", 4);
        assert_refused(b.data, b.len, "cut or out of its limits");
    }
}

static void a_vpid_over_the_limit_is_refused_in_every_list(void **state)
{
    struct msg_member member = {VPID_MAX + 1, {5, 1}, "h", "a", 1, 1};
    struct msg_target target = {VPID_MAX + 1, {5, 1}};
    uint32_t vpid = VPID_MAX + 1;

    assert_msg_refused(&(struct msg){.type = MSG_ADD, .nmembers = 1, .members = &member},
                       "out of its limits");
    assert_msg_refused(&(struct msg){.type = MSG_LOST, .ntargets = 1, .targets = &target},
                       "out of its limits");
    assert_msg_refused(&(struct msg){.type = MSG_GATHER_UP, .nvpids = 1, .vpids = &vpid},
                       "out of its limits");
}

static void names_over_their_limits_are_refused(void **state)
{
    static char text[300];
    struct msg_member host = {1, {5, 1}, text, "a", 1, 1};
    struct msg_member address = {1, {5, 1}, "h", text, 1, 1};

    memset(text, 'x', sizeof text - 1);
    assert_msg_refused(&(struct msg){.type = MSG_REGISTERED, .nspace = text}, "out of its limits");
    assert_msg_refused(&(struct msg){.type = MSG_ADD, .nmembers = 1, .members = &host},
                       "out of its limits");
    assert_msg_refused(&(struct msg){.type = MSG_ADD, .nmembers = 1, .members = &address},
                       "out of its limits");
}

/* The decoder refuses a longer text, and with it the message: an application may have chosen it. */
static void a_text_over_the_limit_is_cut_by_the_sender(void **state)
{
    char *text FREE_AUTO = xmalloc(MSG_TEXT_MAX + 2);
    struct msg m = {.type = MSG_ABORT, .text = text};
    struct buf b BUF_AUTO = {0};
    struct err err = {0};
    struct msg out;
    struct cur c;

    memset(text, 'x', MSG_TEXT_MAX + 1);
    text[MSG_TEXT_MAX + 1] = '\0';
    buf_init(&b, BUF_MAX);
    msg_encode(&b, &m);
    c = cur_of(b.data, b.len);
    if (msg_decode(&c, MSG_ABORT, &out, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(strlen(out.text), MSG_TEXT_MAX);
    msg_free(&out);
}

static void a_text_over_the_limit_is_refused_by_the_receiver(void **state)
{
    char *text FREE_AUTO = xcalloc(1, MSG_TEXT_MAX + 1);
    struct buf b BUF_AUTO = {0};
    struct err err = {0};
    struct msg out;
    struct cur c;

    memset(text, 'x', MSG_TEXT_MAX + 1);
    buf_init(&b, BUF_MAX);
    buf_put_u64(&b, 0);
    buf_put_bytes(&b, text, MSG_TEXT_MAX + 1);
    c = cur_of(b.data, b.len);
    assert_int_equal(msg_decode(&c, MSG_REFUSE, &out, &err), -1);
    assert_non_null(strstr(err.msg, "out of its limits"));
}

static void a_radix_that_makes_no_tree_is_refused(void **state)
{
    static const int64_t bad[] = {0, 1, -1, 1025, 1ll << 32};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct msg welcome = sample_msg(MSG_WELCOME);
        struct msg snapshot = sample_msg(MSG_SNAPSHOT);

        welcome.number = snapshot.number = bad[i];
        assert_msg_refused(&welcome, "radix");
        assert_msg_refused(&snapshot, "radix");
    }
}

static void a_life_without_an_epoch_is_refused(void **state)
{
    struct msg_member dead = {.vpid = 3, .host = "h", .address = "a"};
    struct msg welcome = sample_msg(MSG_WELCOME);
    struct msg add = {.type = MSG_ADD, .nmembers = 1, .members = &dead};

    welcome.epoch.inc = 0;
    assert_msg_refused(&welcome, "epoch");
    assert_msg_refused(&add, "vpid 3 without an epoch");
}

static void a_greeting_of_nobody_or_of_several_is_refused(void **state)
{
    struct msg hello = sample_msg(MSG_HELLO);
    struct msg welcome = sample_msg(MSG_WELCOME);

    hello.nmembers = welcome.nmembers = 0;
    assert_msg_refused(&hello, "0 daemons");
    assert_msg_refused(&welcome, "0 daemons");
    hello = sample_msg(MSG_HELLO);
    hello.members = (struct msg_member[]){hello.members[0], hello.members[0]};
    hello.nmembers = 2;
    assert_msg_refused(&hello, "2 daemons");
}

static void the_head_can_neither_join_nor_leave(void **state)
{
    struct msg_member head = {0, {5, 1}, "h", "a", 1, 0};
    struct msg_target target = {0, {5, 1}};

    assert_msg_refused(&(struct msg){.type = MSG_ADD, .nmembers = 1, .members = &head}, "head");
    assert_msg_refused(&(struct msg){.type = MSG_REMOVE, .ntargets = 1, .targets = &target},
                       "head");
}

static void a_request_for_another_size_that_makes_no_sense_is_refused(void **state)
{
    uint32_t twice[] = {3, 3}, down[] = {4, 3};
    struct msg m = {.type = MSG_ALLOC, .number = 7, .number2 = -1};

    assert_msg_refused(&m, "kind 7");
    m.number = -1;
    assert_msg_refused(&m, "kind -1");
    m.number = 0;
    m.number2 = -2;
    assert_msg_refused(&m, "within -2 s");
    m.number2 = 1ll << 40;
    assert_msg_refused(&m, "within");
    m.number2 = -1;
    m.client = VPID_MAX + 1;
    assert_msg_refused(&m, "1048576 daemons");
    m.client = 1;
    m.nvpids = 2;
    m.vpids = twice;
    assert_msg_refused(&m, "2 and 1 daemons");
    m.client = 0;
    assert_msg_refused(&m, "vpid 3 after 3");
    m.vpids = down;
    assert_msg_refused(&m, "vpid 3 after 4");
    assert_msg_refused(&(struct msg){.type = MSG_ALLOC_ANSWER, .number = 99}, "status 99");
    assert_msg_refused(&(struct msg){.type = MSG_ALLOC_ANSWER, .number2 = 99}, "phase 99");
    assert_msg_refused(&(struct msg){.type = MSG_ALLOC_ENDED, .number = -1}, "status -1");
}

/* A type that is added to the enum has a name and a layout, or this fails; so the corpus has it. */
static void every_type_has_a_name_and_comes_back_as_it_was_sent(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        struct buf b BUF_AUTO = frame_of(type);
        struct buf again BUF_AUTO = {0};
        struct err err = {0};
        struct frame f;
        struct msg m;

        assert_string_not_equal(msg_name(type), "?");
        for (unsigned other = FIRST_TYPE; other < type; other++)
            assert_string_not_equal(msg_name(type), msg_name(other));
        if (decode_frame(b.data, b.len, &f, &m, &err) < 0)
            fail_msg("%s: %s", msg_name(type), err.msg);
        assert_int_equal(m.type, type);
        buf_init(&again, BUF_MAX);
        frame_encode(&again, &f);
        msg_encode(&again, &m);
        assert_int_equal(again.len, b.len);
        assert_memory_equal(again.data, b.data, b.len);
        msg_free(&m);
    }
}

static void an_end_of_a_rank_that_nobody_knows_is_refused(void **state)
{
    static const unsigned types[] = {MSG_LAUNCHED, MSG_EXITED, MSG_RANKS_LOST};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct msg_rank rank = {.how = RANK_HOWS - 1, .text = ""};
        struct msg m = {.type = types[i], .nspace = "5.1", .text = "", .nranks = 1, .ranks = &rank};
        struct buf b BUF_AUTO = {0};
        struct cur c;
        struct msg out;

        buf_init(&b, 4096);
        msg_encode(&b, &m);
        c = cur_of(b.data, b.len);
        assert_int_equal(msg_decode(&c, types[i], &out, NULL), 0);
        assert_int_equal(out.ranks[0].how, RANK_HOWS - 1);
        msg_free(&out);
        buf_reset(&b);
        rank.how = RANK_HOWS;
        msg_encode(&b, &m);
        c = cur_of(b.data, b.len);
        assert_int_equal(msg_decode(&c, types[i], &out, NULL), -1);
    }
}

static void the_fields_of_members_and_of_ranks_are_the_ones_sent(void **state)
{
    struct buf b BUF_AUTO = frame_of(MSG_ADD);
    struct frame f;
    struct msg m;

    assert_int_equal(decode_frame(b.data, b.len, &f, &m, NULL), 0);
    assert_int_equal(f.seq, 17);
    assert_int_equal(f.ack, 16);
    assert_int_equal(f.version, 4);
    assert_int_equal(f.src_epoch.ctr, 9);
    assert_int_equal(m.nmembers, 1);
    assert_int_equal(m.members[0].vpid, 3);
    assert_int_equal(m.members[0].epoch.ctr, 9);
    assert_string_equal(m.members[0].address, "x-3");
    assert_int_equal(m.members[0].port, 7001);
    msg_free(&m);
    buf_reset(&b);
    sample_frame(&b, MSG_EXITED);
    assert_int_equal(decode_frame(b.data, b.len, &f, &m, NULL), 0);
    assert_int_equal(m.nranks, 2);
    assert_true(m.ranks[1].failed);
    assert_int_equal(m.ranks[0].how, RANK_WO_SYNC);
    assert_int_equal(m.ranks[1].value, 2);
    assert_string_equal(m.ranks[1].text, "exec of prog");
    msg_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_of_every_type_is_refused),
        cmocka_unit_test(a_byte_too_many_is_refused_in_every_type),
        cmocka_unit_test(another_version_class_or_vpid_is_refused_in_every_type),
        cmocka_unit_test(a_type_that_does_not_exist_is_refused),
        cmocka_unit_test(
            any_single_flipped_bit_is_refused_with_a_reason_or_decodes_to_something_whole),
        cmocka_unit_test(
            a_count_that_promises_more_than_there_is_is_refused_before_anything_is_allocated),
        cmocka_unit_test(a_vpid_over_the_limit_is_refused_in_every_list),
        cmocka_unit_test(names_over_their_limits_are_refused),
        cmocka_unit_test(a_text_over_the_limit_is_cut_by_the_sender),
        cmocka_unit_test(a_text_over_the_limit_is_refused_by_the_receiver),
        cmocka_unit_test(a_radix_that_makes_no_tree_is_refused),
        cmocka_unit_test(a_life_without_an_epoch_is_refused),
        cmocka_unit_test(a_greeting_of_nobody_or_of_several_is_refused),
        cmocka_unit_test(the_head_can_neither_join_nor_leave),
        cmocka_unit_test(a_request_for_another_size_that_makes_no_sense_is_refused),
        cmocka_unit_test(every_type_has_a_name_and_comes_back_as_it_was_sent),
        cmocka_unit_test(an_end_of_a_rank_that_nobody_knows_is_refused),
        cmocka_unit_test(the_fields_of_members_and_of_ranks_are_the_ones_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
