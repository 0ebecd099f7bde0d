/* SPDX-License-Identifier: BSD-3-Clause */
/* A malformed, truncated or old frame is refused with a reason and changes nothing: every type, at
 * the head and at a member, from a member, the parent, a child, an unknown daemon, a keeper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/origin.h"
#include "dvm/protocol/core/test/scene.h"
#include "dvm/protocol/wire/msg/test/samples.h"

#include <string.h>

#define FRAME_MAX (1u << 20)

static bool routed(unsigned type)
{
    return msg_is_routed(type);
}

/* Its sender may not send it here: the frame is refused before it is decoded. */
static bool is_forged(enum scene_kind kind, unsigned type)
{
    enum origin_who who = origin_of(type);

    return who != ORIGIN_ANY && (who != ORIGIN_TO_HEAD || kind != SCENE_HEAD_MEMBER);
}

static struct buf frame_of(const struct scene *s, unsigned type)
{
    struct buf b;

    buf_init(&b, FRAME_MAX);
    scene_frame(s, type, &b);
    assert_false(b.failed);
    return b;
}

static struct buf digest(const struct scene *s)
{
    struct buf b;

    buf_init(&b, 16u << 20);
    scene_digest(s, &b);
    return b;
}

static void assert_unchanged(const struct scene *s, const struct buf *before, const char *what)
{
    BUF_AUTO struct buf after = digest(s);

    if (after.len != before->len || memcmp(after.data, before->data, after.len) != 0)
        fail_msg("%s: changed something in scene %d", what, (int)s->kind);
}

/* A malformed frame ends the link; the reason is logged. */
static void assert_link_refuses(struct scene *s, const uint8_t *data, size_t len, const char *why)
{
    BUF_AUTO struct buf before = digest(s);
    uint64_t stale = core_stats(s->core).stale_frames;
    struct scene_answer a;

    scene_input(s, data, len, &a);
    if (!a.closed)
        fail_msg("%s: the link stays in scene %d", why, (int)s->kind);
    if (!strstr(a.why, why))
        fail_msg("'%s' does not say '%s'", a.why, why);
    assert_int_equal(core_stats(s->core).stale_frames, stale + 1);
    assert_unchanged(s, &before, why);
    scene_again(s);
}

/* A frame for another epoch, or out of its place, is dropped; the link stays. */
static void assert_dropped(struct scene *s, const uint8_t *data, size_t len, const char *why)
{
    BUF_AUTO struct buf before = digest(s);
    uint64_t stale = core_stats(s->core).stale_frames;
    struct scene_answer a;

    scene_input(s, data, len, &a);
    assert_false(a.closed);
    if (!strstr(a.why, why))
        fail_msg("'%s' does not say '%s'", a.why, why);
    assert_int_equal(core_stats(s->core).stale_frames, stale + 1);
    assert_unchanged(s, &before, why);
}

/* Scenes that are made anew for each frame are tested with a few lengths only. */
static bool skip_length(const struct scene *s, size_t len, size_t whole)
{
    bool anew = s->kind == SCENE_MEMBER_PARENT || s->kind == SCENE_JOINER ||
                s->kind == SCENE_KEEPER_HEAD || s->kind == SCENE_KEEPER_CALLER;

    return anew && len > 1 && len != FRAME_HEADER_BYTES - 1 && len + 1 != whole;
}

static void truncations(enum scene_kind kind)
{
    struct scene s;

    scene_open(&s, kind);
    for (unsigned type = 1; type < MSG_TYPES; type++) {
        BUF_AUTO struct buf b = frame_of(&s, type);

        for (size_t len = 0; len < b.len; len++) {
            if (len >= FRAME_HEADER_BYTES && routed(type))
                break;
            if (!skip_length(&s, len, b.len))
                assert_link_refuses(&s, b.data, len,
                                    len < FRAME_HEADER_BYTES ? "cut in its header" : "message");
        }
    }
    scene_close(&s);
}

static void a_truncated_frame_of_any_type_is_refused_everywhere(void **state)
{
    for (unsigned kind = 0; kind < SCENES; kind++)
        truncations(kind);
}

/* A routed message is decoded only in its turn: here each is the first of its stream. */
static void a_truncated_routed_message_of_any_type_is_refused_in_its_turn(void **state)
{
    static const enum scene_kind kinds[] = {SCENE_HEAD_MEMBER, SCENE_MEMBER_CHILD};

    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        uint64_t seq = 0;

        scene_open(&s, kinds[i]);
        for (unsigned type = MSG_RACK + 1; type < MSG_TYPES; type++) {
            BUF_AUTO struct buf b = frame_of(&s, type);

            if (is_forged(kinds[i], type))
                continue;
            b.data[1] = CLASS_MODEX; /* so that the members of this scene have sent nothing yet */
            for (size_t len = FRAME_HEADER_BYTES; len < b.len; len++) {
                uint64_t n = ++seq;

                for (int byte = 7; byte >= 0; byte--, n >>= 8)
                    b.data[40 + byte] = (uint8_t)n;
                assert_dropped(&s, b.data, len, "refused from vpid");
            }
        }
        scene_close(&s);
    }
}

static void another_version_class_type_or_vpid_is_refused_everywhere(void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
        const char *why;
    } flips[] = {{0, WIRE_VERSION + 1, "version"},
                 {0, 0, "version"},
                 {1, CLASSES, "traffic class"},
                 {5, 0xff, "vpid out of range"},
                 {9, 0xff, "vpid out of range"}};

    for (unsigned kind = 0; kind < SCENES; kind++) {
        struct scene s;

        scene_open(&s, kind);
        for (unsigned type = 1; type < MSG_TYPES; type++) {
            for (size_t i = 0; i < sizeof(flips) / sizeof(*flips); i++) {
                BUF_AUTO struct buf b = frame_of(&s, type);

                b.data[flips[i].at] = flips[i].byte;
                assert_link_refuses(&s, b.data, b.len, flips[i].why);
            }
        }
        scene_close(&s);
    }
}

static void old_epochs(enum scene_kind kind)
{
    struct scene s;

    scene_open(&s, kind);
    for (unsigned type = MSG_REFUSE + 1; type < MSG_TYPES; type++) {
        BUF_AUTO struct buf b = frame_of(&s, type);

        b.data[31]--; /* an earlier epoch of the sender */
        assert_dropped(&s, b.data, b.len, "epoch");
        b.data[31]++;
        b.data[23]--; /* of an earlier head */
        assert_dropped(&s, b.data, b.len, "epoch");
        b.data[23]++;
        if (!routed(type))
            continue;
        b.data[15]++; /* for another epoch of this daemon */
        assert_dropped(&s, b.data, b.len, "epoch");
    }
    scene_close(&s);
}

static void a_frame_of_an_old_epoch_of_any_type_is_refused(void **state)
{
    old_epochs(SCENE_HEAD_MEMBER);
    old_epochs(SCENE_MEMBER_PARENT);
    old_epochs(SCENE_MEMBER_CHILD);
}

/* A link carries frames of its own peer only, whatever sender the frame names. */
static void a_frame_in_the_name_of_another_daemon_is_refused(void **state)
{
    struct scene s;

    scene_open(&s, SCENE_HEAD_MEMBER);
    for (unsigned type = MSG_REFUSE + 1; type < MSG_TYPES; type++) {
        if (msg_is_routed(type))
            continue;
        BUF_AUTO struct buf b = frame_of(&s, type);

        b.data[7] = 2;
        assert_dropped(&s, b.data, b.len, "epoch");
    }
    scene_close(&s);
}

static void messages_before_the_greeting_change_nothing(void **state)
{
    static const enum scene_kind kinds[] = {SCENE_HEAD_STRANGER, SCENE_MEMBER_STRANGER,
                                            SCENE_JOINER};

    for (size_t i = 0; i < 3; i++) {
        for (unsigned type = MSG_REFUSE + 1; type < MSG_TYPES; type++) {
            struct scene s;
            struct scene_answer a;

            scene_open(&s, kinds[i]);
            BUF_AUTO struct buf before = digest(&s);
            BUF_AUTO struct buf b = frame_of(&s, type);

            scene_input(&s, b.data, b.len, &a);
            assert_unchanged(&s, &before, msg_name(type));
            scene_close(&s);
        }
    }
}

static void a_member_takes_no_broadcast_from_below_or_before_it_has_the_table(void **state)
{
    for (unsigned type = MSG_ADD; type <= MSG_SHUTDOWN; type++) {
        struct scene s;
        struct scene_answer a;

        scene_open(&s, SCENE_MEMBER_CHILD);
        BUF_AUTO struct buf before = digest(&s);
        BUF_AUTO struct buf b = frame_of(&s, type);

        scene_input(&s, b.data, b.len, &a);
        assert_unchanged(&s, &before, "from below");
        scene_close(&s);

        scene_open(&s, SCENE_JOINER);
        BUF_AUTO struct buf welcome = frame_of(&s, MSG_WELCOME);
        BUF_AUTO struct buf op = frame_of(&s, type);

        scene_input(&s, welcome.data, welcome.len, &a);
        assert_int_equal(core_inspect_epoch(s.core).ctr, 77);
        scene_input(&s, op.data, op.len, &a);
        assert_int_equal(core_stats(s.core).version, 0);
        assert_int_equal(core_state(s.core), CORE_JOINING);
        scene_close(&s);
    }
}

static void a_malformed_table_of_members_is_refused(void **state)
{
    struct msg m = sample_msg(MSG_SNAPSHOT); /* its data is no table */
    struct scene s;
    BUF_AUTO struct buf b = {0};
    struct frame f;
    struct cur cur;

    scene_open(&s, SCENE_MEMBER_PARENT);
    BUF_AUTO struct buf good = frame_of(&s, MSG_SNAPSHOT);

    cur = cur_of(good.data, good.len);
    assert_int_equal(frame_decode(&cur, &f, NULL), 0);
    m.snapshot.op = core_stats(s.core).version + 1;
    buf_init(&b, MSG_DATA_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, &m);
    assert_link_refuses(&s, b.data, b.len, "malformed");
    scene_close(&s);
}

static struct scene_answer send_whole(struct scene *s, unsigned type)
{
    BUF_AUTO struct buf b = frame_of(s, type);
    struct scene_answer a;

    scene_input(s, b.data, b.len, &a);
    assert_false(a.closed);
    return a;
}

/* The head waits for its keeper, and the next group is on its way. */
static void hold_actions(struct scene *s)
{
    struct api_size out, in = {.sequence = 1, .members = 2};
    enum api_reason reason;

    assert_int_equal(core_size_put(s->core, &in, &out, &reason, NULL), 0);
    assert_true(send_whole(s, MSG_KEPT).held); /* of the group before */
}

static void whole_messages_of_keepers_are_taken(void **state)
{
    struct scene s;

    scene_open(&s, SCENE_HEAD_KEEPER);
    hold_actions(&s);
    assert_false(send_whole(&s, MSG_KEPT).held);
    scene_close(&s);
    scene_open(&s, SCENE_KEEPER_HEAD);
    assert_int_equal(send_whole(&s, MSG_RECORDS).acts, 1); /* KEPT */
    scene_close(&s);
    scene_open(&s, SCENE_KEEPER_CALLER);
    assert_int_equal(send_whole(&s, MSG_RECORDS_ASK).acts, 1); /* RECORDS */
    scene_close(&s);
    scene_open(&s, SCENE_NEW_HEAD);
    assert_int_equal(send_whole(&s, MSG_KEPT).acts, 1); /* RECORDS_ASK for all of them */
    (void)send_whole(&s, MSG_RECORDS);
    assert_true(core_inherited(s.core));
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_frame_of_any_type_is_refused_everywhere),
        cmocka_unit_test(a_malformed_table_of_members_is_refused),
        cmocka_unit_test(whole_messages_of_keepers_are_taken),
        cmocka_unit_test(a_truncated_routed_message_of_any_type_is_refused_in_its_turn),
        cmocka_unit_test(another_version_class_type_or_vpid_is_refused_everywhere),
        cmocka_unit_test(a_frame_of_an_old_epoch_of_any_type_is_refused),
        cmocka_unit_test(a_frame_in_the_name_of_another_daemon_is_refused),
        cmocka_unit_test(messages_before_the_greeting_change_nothing),
        cmocka_unit_test(a_member_takes_no_broadcast_from_below_or_before_it_has_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
