/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames and messages between daemons: bad input of every type first, then what comes back whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/wire/msg/test/samples.h"

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

    memset(&f, UNTOUCHED, sizeof(f));
    memset(&m, UNTOUCHED, sizeof(m));
    memcpy(exact, data, len);
    c = cur_of(exact, len);
    if (frame_decode(&c, &f, &err) < 0)
        assert_untouched(&f, sizeof(f));
    else if (msg_decode(&c, f.type, &m, &err) == 0)
        fail_msg("%s of %zu bytes was taken", msg_name(f.type), len);
    free(exact);
    assert_untouched(&m, sizeof(m));
    if (!strstr(err.msg, why) || !*err.msg)
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void assert_msg_refused(const struct msg *m, const char *why)
{
    BUF_AUTO struct buf b = body_of(m);
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
        BUF_AUTO struct buf b = frame_of(type);

        for (size_t len = 0; len < b.len; len++)
            assert_refused(b.data, len, len < FRAME_HEADER_BYTES ? "cut in its header" : "");
    }
}

static void a_byte_too_many_is_refused_in_every_type(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        BUF_AUTO struct buf b = frame_of(type);

        buf_put_u8(&b, 0);
        assert_refused(b.data, b.len, "bytes left over");
    }
}

static void another_version_class_or_vpid_is_refused_in_every_type(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        BUF_AUTO struct buf b = frame_of(type);
        uint8_t *h = b.data;

        h[0] = WIRE_VERSION + 1;
        assert_refused(h, b.len, "this daemon speaks 4");
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

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        BUF_AUTO struct buf b = frame_of(MSG_PING);

        b.data[2] = (uint8_t)(types[i] >> 8);
        b.data[3] = (uint8_t)types[i];
        assert_refused(b.data, b.len, "unknown message type");
        assert_string_equal(msg_name(types[i]), "?");
    }
}

/* No decoder may read past the end, believe a count, or leave something behind. */
static void any_flipped_bit_is_refused_with_a_reason_or_gives_a_complete_message(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        BUF_AUTO struct buf b = frame_of(type);

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

static void a_count_larger_than_the_input_is_refused_before_any_allocation(void **state)
{
    static const unsigned types[] = {MSG_ADD, MSG_REMOVE, MSG_EXITED, MSG_GATHER_UP};
    static const size_t at[] = {8, 9, 8, 16}; /* of the count in the body */

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        BUF_AUTO struct buf b = frame_of(types[i]);

        memcpy(b.data + FRAME_HEADER_BYTES + at[i], "\0\x0f\xff\xff", 4);
        assert_refused(b.data, b.len, "cut or out of its limits");
        memcpy(b.data + FRAME_HEADER_BYTES + at[i], "\xff\xff\xff\xff", 4);
        assert_refused(b.data, b.len, "cut or out of its limits");
    }
}

static void a_vpid_over_the_limit_is_refused_in_every_list(void **state)
{
    struct msg_member member = {VPID_MAX + 1, {5, 1}, "h", "a", 1, 1, 0, {0}, {0}};
    struct msg_target target = {VPID_MAX + 1, {5, 1}};
    uint32_t vpid = VPID_MAX + 1;

    assert_msg_refused(&(struct msg){.type = MSG_ADD, .add = {.nmembers = 1, .members = &member}},
                       "out of its limits");
    assert_msg_refused(&(struct msg){.type = MSG_LOST, .lost = {.who = target}},
                       "out of its limits");
    assert_msg_refused(
        &(struct msg){.type = MSG_REMOVE, .remove = {.ntargets = 1, .targets = &target}},
        "out of its limits");
    assert_msg_refused(
        &(struct msg){.type = MSG_GATHER_UP, .gather_up = {.nvpids = 1, .vpids = &vpid}},
        "out of its limits");
}

static void names_over_their_limits_are_refused(void **state)
{
    static char text[300];
    struct msg_member host = {1, {5, 1}, text, "a", 1, 1, 0, {0}, {0}};
    struct msg_member address = {1, {5, 1}, "h", text, 1, 1, 0, {0}, {0}};

    memset(text, 'x', sizeof(text) - 1);
    assert_msg_refused(&(struct msg){.type = MSG_REGISTERED, .registered = {text}},
                       "out of its limits");
    assert_msg_refused(&(struct msg){.type = MSG_ADD, .add = {.nmembers = 1, .members = &host}},
                       "out of its limits");
    assert_msg_refused(&(struct msg){.type = MSG_ADD, .add = {.nmembers = 1, .members = &address}},
                       "out of its limits");
}

static void addresses_that_no_daemon_has_are_refused(void **state)
{
    struct msg_member m = {.vpid = 3, .epoch = {5, 9}, .host = "h", .address = "10.0.0.3"};
    struct msg add = {.type = MSG_ADD, .add = {.nmembers = 1, .members = &m}};
    struct msg hello = sample_msg(MSG_HELLO);
    struct msg welcome = sample_msg(MSG_WELCOME);

    m.nmore = 1;
    m.more[0] = "10.0.0.3";
    hello.hello.self = welcome.welcome.self = m;
    assert_msg_refused(&add, "vpid 3 has the address 10.0.0.3 twice");
    assert_msg_refused(&hello, "vpid 3 has the address 10.0.0.3 twice");
    assert_msg_refused(&welcome, "vpid 3 has the address 10.0.0.3 twice");
    m.more[0] = "";
    assert_msg_refused(&add, "address 2 of vpid 3 is empty");
    m.address = "";
    m.more[0] = "10.1.0.3";
    assert_msg_refused(&add, "address 1 of vpid 3 is empty");
    m = (struct msg_member){.vpid = 3, .epoch = {5, 9}, .host = "h", .address = "a,b,c,d,e"};
    assert_msg_refused(&add, "out of its limits");
    m.address = "a,,c";
    assert_msg_refused(&add, "address 2 of vpid 3 is empty");
}

static void encode_add(struct buf *b, struct msg_member *list, size_t n)
{
    buf_init(b, 1u << 20);
    msg_encode(b, &(struct msg){.type = MSG_ADD, .add = {.op = 1, .nmembers = n, .members = list}});
}

static void keys_of_all_members_or_of_none_are_written(void **state)
{
    struct msg_member list[2] = {
        {.vpid = 3, .epoch = {5, 9}, .host = "h", .address = "a", .key = {1, 2}},
        {.vpid = 4, .epoch = {5, 10}, .host = "h", .address = "b", .key = {0, 3}}};
    BUF_AUTO struct buf all = {0}, some = {0};
    struct err err = {0};
    struct msg out;
    struct cur c;

    encode_add(&all, list, 2);
    c = cur_of(all.data, all.len);
    assert_int_equal(msg_decode(&c, MSG_ADD, &out, &err), 0);
    assert_true(key_id_eq(out.add.members[0].key, list[0].key));
    assert_true(key_id_eq(out.add.members[1].key, list[1].key));
    msg_free(&out);
    for (size_t cut = 1; cut < 32; cut++) {
        c = cur_of(all.data, all.len - cut);
        assert_int_equal(msg_decode(&c, MSG_ADD, &out, &err), -1);
    }
    memset(all.data + all.len - 16, 0, 16); /* the second one has none */
    c = cur_of(all.data, all.len);
    assert_int_equal(msg_decode(&c, MSG_ADD, &out, &err), -1);
    list[1].key = (struct key_id){0, 0};
    encode_add(&some, list, 2);
    assert_int_equal(some.len, all.len - 32);
}

static void up_to_four_addresses_arrive_and_a_single_one_is_written_as_ever(void **state)
{
    struct msg_member m = {.vpid = 3, .epoch = {5, 9}, .host = "h", .address = "10.0.0.3"};
    static const char *const more[] = {"fd00::3", "10.1.0.3", "x-3.fast"};

    for (m.nmore = 0; m.nmore <= MEMBER_MORE_MAX; m.nmore++) {
        struct msg add = {.type = MSG_ADD, .add = {.op = 1, .nmembers = 1, .members = &m}};
        BUF_AUTO struct buf b = {0};
        struct err err = {0};
        struct msg out;
        struct cur c;

        buf_init(&b, 1u << 20);
        msg_encode(&b, &add);
        c = cur_of(b.data, b.len);
        if (msg_decode(&c, MSG_ADD, &out, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(msg_member_addresses(&out.add.members[0]), 1 + m.nmore);
        for (size_t i = 0; i <= m.nmore; i++)
            assert_string_equal(msg_member_address(&out.add.members[0], i),
                                msg_member_address(&m, i));
        msg_free(&out);
        if (m.nmore < MEMBER_MORE_MAX)
            m.more[m.nmore] = (char *)more[m.nmore];
    }
}

/* The decoder refuses a longer text, and with it the message: an application may have chosen it. */
static void a_text_over_the_limit_is_cut_by_the_sender(void **state)
{
    FREE_AUTO char *text = xmalloc(MSG_TEXT_MAX + 2);
    struct msg m = {.type = MSG_ABORT, .abort = {.text = text}};
    BUF_AUTO struct buf b = {0};
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
    assert_int_equal(strlen(out.abort.text), MSG_TEXT_MAX);
    msg_free(&out);
}

static void a_text_over_the_limit_is_refused_by_the_receiver(void **state)
{
    FREE_AUTO char *text = xcalloc(1, MSG_TEXT_MAX + 1);
    BUF_AUTO struct buf b = {0};
    struct err err = {0};
    struct msg out;
    struct cur c;

    memset(text, 'x', MSG_TEXT_MAX + 1);
    buf_init(&b, BUF_MAX);
    buf_put_u8(&b, 0);
    buf_put_bytes(&b, text, MSG_TEXT_MAX + 1);
    c = cur_of(b.data, b.len);
    assert_int_equal(msg_decode(&c, MSG_REFUSE, &out, &err), -1);
    assert_non_null(strstr(err.msg, "out of its limits"));
}

static void a_moment_beyond_all_clocks_is_refused(void **state)
{
    struct msg m = {.type = MSG_RECORDS, .records = {.now_ms = MSG_MOMENT_MAX + 1}};

    assert_msg_refused(&m, "cut");
}

static void a_radix_that_makes_no_tree_is_refused(void **state)
{
    static const uint32_t bad[] = {0, 1, 1025, UINT32_MAX};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct msg welcome = sample_msg(MSG_WELCOME);
        struct msg snapshot = sample_msg(MSG_SNAPSHOT);

        welcome.welcome.radix = snapshot.snapshot.radix = bad[i];
        assert_msg_refused(&welcome, "radix");
        assert_msg_refused(&snapshot, "radix");
    }
}

static void epoch_0_is_refused(void **state)
{
    struct msg_member dead = {.vpid = 3, .host = "h", .address = "a"};
    struct msg welcome = sample_msg(MSG_WELCOME);
    struct msg add = {.type = MSG_ADD, .add = {.nmembers = 1, .members = &dead}};

    welcome.welcome.epoch.inc = 0;
    assert_msg_refused(&welcome, "epoch");
    assert_msg_refused(&add, "vpid 3 without an epoch");
}

/* The byte at `at` of the body, which holds an enum, becomes one that has no name. */
static void assert_enum_refused(unsigned type, size_t at, uint8_t value)
{
    BUF_AUTO struct buf b = frame_of(type);

    b.data[FRAME_HEADER_BYTES + at] = value;
    assert_refused(b.data, b.len, "");
}

static void a_reason_that_does_not_exist_is_refused(void **state)
{
    assert_enum_refused(MSG_HELLO, 0, HELLO_WHYS);
    assert_enum_refused(MSG_REFUSE, 0, REFUSE_WHYS);
    assert_enum_refused(MSG_REMOVE, 8, REMOVE_WHYS);
    assert_enum_refused(MSG_SHUTDOWN, 8, SHUTDOWN_WHYS);
    assert_enum_refused(MSG_JOB_STATE, 12, JOB_UNTERMINATED);
    assert_enum_refused(MSG_GATHER_DOWN, 15, GATHER_OUTCOMES);
    assert_enum_refused(MSG_LEFT, 20, 2); /* neither true nor false */
}

/* A new process of the head is an operation of its own. */
static void the_head_can_neither_join_with_others_nor_leave(void **state)
{
    struct msg_member both[] = {{0, {5, 1}, "h", "a", 1, 0, 0, {0}, {0}},
                                {1, {5, 2}, "h", "a", 1, 0, 0, {0}, {0}}};
    struct msg_target target = {0, {5, 1}};

    assert_msg_refused(&(struct msg){.type = MSG_ADD, .add = {.nmembers = 2, .members = both}},
                       "head");
    assert_msg_refused(
        &(struct msg){.type = MSG_REMOVE, .remove = {.ntargets = 1, .targets = &target}}, "head");
}

static void a_request_for_another_size_that_makes_no_sense_is_refused(void **state)
{
    uint32_t twice[] = {3, 3}, down[] = {4, 3};
    struct msg m = {.type = MSG_RESIZE_ASK, .resize_ask = {.deadline_s = -2}};
    struct msg_resize_ask *ask = &m.resize_ask;

    assert_msg_refused(&m, "within -2 s");
    ask->deadline_s = 1ll << 40;
    assert_msg_refused(&m, "within");
    ask->deadline_s = -1;
    ask->count = VPID_MAX + 1;
    assert_msg_refused(&m, "65536 daemons");
    ask->count = 1;
    ask->nvpids = 2;
    ask->vpids = twice;
    assert_msg_refused(&m, "2 and 1 daemons");
    ask->count = 0;
    assert_msg_refused(&m, "vpid 3 after 3");
    ask->vpids = down;
    assert_msg_refused(&m, "vpid 3 after 4");
    ask->vpids = NULL;
    ask->nvpids = 0;
    ask->kind = RESIZE_KINDS;
    assert_msg_refused(&m, "out of its limits");
    m = (struct msg){.type = MSG_RESIZE_ANSWER, .resize_answer = {.status = RESIZE_STATUSES}};
    assert_msg_refused(&m, "out of its limits");
    m = (struct msg){.type = MSG_RESIZE_ANSWER, .resize_answer = {.phase = API_PHASES}};
    assert_msg_refused(&m, "out of its limits");
    m = (struct msg){.type = MSG_RESIZE_ENDED, .resize_ended = {.status = RESIZE_STATUSES}};
    assert_msg_refused(&m, "out of its limits");
}

static void a_message_is_refused_without_a_place_for_the_reason(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        struct msg m = sample_msg(type);
        struct msg out;
        BUF_AUTO struct buf b = body_of(&m);

        for (size_t len = 0; len < b.len; len++) {
            struct cur c = cur_of(b.data, len);

            assert_int_equal(msg_decode(&c, type, &out, NULL), -1);
        }
    }
}

/* A message without a sample would be encoded as zeros; so the corpus has every type. */
static void every_type_with_fields_has_a_sample(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        struct msg m = sample_msg(type);
        BUF_AUTO struct buf b = body_of(&m);
        size_t zeros = 0;

        while (zeros < b.len && b.data[zeros] == 0)
            zeros++;
        if (b.len && zeros == b.len)
            fail_msg("%s has no sample in samples.c", msg_name(type));
    }
}

static void every_type_has_a_name_and_is_decoded_as_it_was_encoded(void **state)
{
    for (unsigned type = FIRST_TYPE; type < MSG_TYPES; type++) {
        BUF_AUTO struct buf b = frame_of(type);
        BUF_AUTO struct buf again = {0};
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

static struct msg_rank **ranks_of(struct msg *m)
{
    return m->type == MSG_RANKS_LOST ? &m->ranks_lost.ranks : &m->launched.ranks;
}

static void set_nranks(struct msg *m, size_t n)
{
    *(m->type == MSG_RANKS_LOST ? &m->ranks_lost.nranks : &m->launched.nranks) = n;
}

static void a_message_is_sent_by_the_way_of_its_row(void **state)
{
    assert_int_equal(msg_way(MSG_HELLO), MSG_WAY_ON_LINK);
    assert_int_equal(msg_way(MSG_HOP_ACK), MSG_WAY_ON_LINK);
    assert_int_equal(msg_way(MSG_RECORDS), MSG_WAY_ON_LINK);
    assert_int_equal(msg_way(MSG_ADD), MSG_WAY_NUMBERED);
    assert_int_equal(msg_way(MSG_TAKEN), MSG_WAY_NUMBERED);
    assert_int_equal(msg_way(MSG_RACK), MSG_WAY_ROUTED);
    assert_int_equal(msg_way(MSG_ORPHANED), MSG_WAY_ROUTED);
    assert_false(msg_is_routed(MSG_NO_TYPE));
    assert_true(msg_is_routed(MSG_TYPES)); /* of a later edition: a relay passes it on */
}

static void the_end_of_an_unknown_rank_is_refused(void **state)
{
    static const unsigned types[] = {MSG_LAUNCHED, MSG_EXITED, MSG_RANKS_LOST};

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct msg_rank rank = {.how = RANK_HOWS - 1, .text = ""};
        struct msg m = sample_msg(types[i]);
        BUF_AUTO struct buf b = {0};
        struct cur c;
        struct msg_rank **ranks = ranks_of(&m);
        struct msg out;

        *ranks = &rank;
        set_nranks(&m, 1);
        buf_init(&b, 4096);
        msg_encode(&b, &m);
        c = cur_of(b.data, b.len);
        assert_int_equal(msg_decode(&c, types[i], &out, NULL), 0);
        assert_int_equal((*ranks_of(&out))[0].how, RANK_HOWS - 1);
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
    BUF_AUTO struct buf b = frame_of(MSG_ADD);
    struct frame f;
    struct msg m;

    assert_int_equal(decode_frame(b.data, b.len, &f, &m, NULL), 0);
    assert_int_equal(f.seq, 17);
    assert_int_equal(f.ack, 16);
    assert_int_equal(f.version, 4);
    assert_int_equal(f.src_epoch.ctr, 9);
    assert_int_equal(m.add.nmembers, 1);
    assert_int_equal(m.add.members[0].vpid, 3);
    assert_int_equal(m.add.members[0].epoch.ctr, 9);
    assert_string_equal(m.add.members[0].address, "x-3");
    assert_int_equal(m.add.members[0].port, 7001);
    msg_free(&m);
    buf_reset(&b);
    sample_frame(&b, MSG_EXITED);
    assert_int_equal(decode_frame(b.data, b.len, &f, &m, NULL), 0);
    assert_int_equal(m.exited.nranks, 2);
    assert_true(m.exited.ranks[1].failed);
    assert_int_equal(m.exited.ranks[0].how, RANK_WO_SYNC);
    assert_int_equal(m.exited.ranks[1].value, 2);
    assert_string_equal(m.exited.ranks[1].text, "exec of prog");
    msg_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_of_every_type_is_refused),
        cmocka_unit_test(a_byte_too_many_is_refused_in_every_type),
        cmocka_unit_test(another_version_class_or_vpid_is_refused_in_every_type),
        cmocka_unit_test(a_type_that_does_not_exist_is_refused),
        cmocka_unit_test(any_flipped_bit_is_refused_with_a_reason_or_gives_a_complete_message),
        cmocka_unit_test(a_count_larger_than_the_input_is_refused_before_any_allocation),
        cmocka_unit_test(a_vpid_over_the_limit_is_refused_in_every_list),
        cmocka_unit_test(names_over_their_limits_are_refused),
        cmocka_unit_test(addresses_that_no_daemon_has_are_refused),
        cmocka_unit_test(keys_of_all_members_or_of_none_are_written),
        cmocka_unit_test(up_to_four_addresses_arrive_and_a_single_one_is_written_as_ever),
        cmocka_unit_test(a_text_over_the_limit_is_cut_by_the_sender),
        cmocka_unit_test(a_text_over_the_limit_is_refused_by_the_receiver),
        cmocka_unit_test(a_moment_beyond_all_clocks_is_refused),
        cmocka_unit_test(a_radix_that_makes_no_tree_is_refused),
        cmocka_unit_test(epoch_0_is_refused),
        cmocka_unit_test(a_reason_that_does_not_exist_is_refused),
        cmocka_unit_test(the_head_can_neither_join_with_others_nor_leave),
        cmocka_unit_test(a_request_for_another_size_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_message_is_refused_without_a_place_for_the_reason),
        cmocka_unit_test(every_type_with_fields_has_a_sample),
        cmocka_unit_test(every_type_has_a_name_and_is_decoded_as_it_was_encoded),
        cmocka_unit_test(a_message_is_sent_by_the_way_of_its_row),
        cmocka_unit_test(the_end_of_an_unknown_rank_is_refused),
        cmocka_unit_test(the_fields_of_members_and_of_ranks_are_the_ones_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
