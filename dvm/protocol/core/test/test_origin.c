/* SPDX-License-Identifier: BSD-3-Clause */
/* Each message is accepted from the daemons that may send it, and refused and counted from all
 * others. One row per message type; the rows are those of the documentation, not of the code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/scene.h"
#include "dvm/protocol/wire/msg/test/samples.h"

#include <string.h>

enum who { NEIGHBOUR = 1, CALLER, CALLED, ABOVE, BELOW, HEAD, TO_HEAD, ANY };

static const struct {
    enum msg_type type;
    enum who who;
} rows[] = {
    {MSG_HELLO, CALLER},
    {MSG_WELCOME, CALLED},
    {MSG_REFUSE, NEIGHBOUR},
    {MSG_BYE, NEIGHBOUR},
    {MSG_PING, NEIGHBOUR},
    {MSG_PONG, NEIGHBOUR},
    {MSG_HOP_ACK, NEIGHBOUR},
    {MSG_LINK_OUT, NEIGHBOUR},
    {MSG_ADD, ABOVE},
    {MSG_REMOVE, ABOVE},
    {MSG_SHUTDOWN, ABOVE},
    {MSG_SNAPSHOT, ABOVE},
    {MSG_XACK, BELOW},
    {MSG_LEFT, BELOW},
    {MSG_RACK, ANY},
    {MSG_SUBMIT, TO_HEAD},
    {MSG_SIGNAL, TO_HEAD},
    {MSG_LAUNCHED, TO_HEAD},
    {MSG_REGISTERED, TO_HEAD},
    {MSG_EXITED, TO_HEAD},
    {MSG_LOCAL_GONE, TO_HEAD},
    {MSG_ABORT, TO_HEAD},
    {MSG_LOST, TO_HEAD},
    {MSG_GONE, TO_HEAD},
    {MSG_RELEASE_ME, TO_HEAD},
    {MSG_REPORT, TO_HEAD},
    {MSG_LOCAL_JOB, TO_HEAD},
    {MSG_READY, TO_HEAD},
    {MSG_NO_FILES, TO_HEAD},
    {MSG_HELD, TO_HEAD},
    {MSG_CONTINUE_ASK, TO_HEAD},
    {MSG_RESIZE_ASK, TO_HEAD},
    {MSG_JOB_ASK, TO_HEAD},
    {MSG_ASK, HEAD},
    {MSG_LAUNCH, HEAD},
    {MSG_START, HEAD},
    {MSG_KILL, HEAD},
    {MSG_CONTINUE, HEAD},
    {MSG_RANKS_LOST, HEAD},
    {MSG_JOB_ENDED, HEAD},
    {MSG_ACCEPTED, HEAD},
    {MSG_JOB_STATE, HEAD},
    {MSG_JOB_MAP, HEAD},
    {MSG_FILES, HEAD},
    {MSG_DONE, HEAD},
    {MSG_RESIZE_ANSWER, HEAD},
    {MSG_RESIZE_ENDED, HEAD},
    {MSG_ORPHANED, HEAD},
    {MSG_RECORDS, NEIGHBOUR},
    {MSG_KEPT, NEIGHBOUR},
    {MSG_RECORDS_ASK, CALLED},
    {MSG_TABLE, NEIGHBOUR},
    {MSG_IOF_END, ANY},
    {MSG_APP, ANY},
    {MSG_GATHER_UP, ANY},
    {MSG_GATHER_DOWN, ANY},
    {MSG_MATCH, NEIGHBOUR},
    {MSG_RNDV, NEIGHBOUR},
    {MSG_RGET, NEIGHBOUR},
    {MSG_FRAG, NEIGHBOUR},
    {MSG_ACK, NEIGHBOUR},
    {MSG_PUT, NEIGHBOUR},
    {MSG_GET, NEIGHBOUR},
    {MSG_TRANSFER_FIN, NEIGHBOUR},
    {MSG_RNDVRESTARTNOTIFY, NEIGHBOUR},
    {MSG_RECVERRNOTIFY, NEIGHBOUR},
    {MSG_RNDVRESTARTACK, NEIGHBOUR},
    {MSG_RNDVRESTARTNACK, NEIGHBOUR},
    {MSG_ANEW, NEIGHBOUR},
    {MSG_TAKEN, NEIGHBOUR},
};

/* A frame: the scene names its sender and the link; src and dst are those of its header. */
struct case_of {
    enum scene_kind kind;
    uint32_t src, dst;
};

/* The tree has radix 2: vpids 1 and 2 below the head, 3 and 4 below vpid 1. */
static const struct case_of to_head = {SCENE_HEAD_MEMBER, 1, 0};
static const struct case_of to_head_through = {SCENE_HEAD_MEMBER, 3, 0};
static const struct case_of other_to_head = {SCENE_HEAD_MEMBER, 2, 0};
static const struct case_of head_to_head = {SCENE_HEAD_MEMBER, 0, 0};
static const struct case_of through_head = {SCENE_HEAD_MEMBER, 1, 2};
static const struct case_of from_head = {SCENE_MEMBER_PARENT, 0, 1};
static const struct case_of head_to_child = {SCENE_MEMBER_PARENT, 0, 3};
static const struct case_of other_from_above = {SCENE_MEMBER_PARENT, 2, 1};
static const struct case_of from_child = {SCENE_MEMBER_CHILD, 3, 1};
static const struct case_of child_to_head = {SCENE_MEMBER_CHILD, 3, 0};
static const struct case_of head_from_child = {SCENE_MEMBER_CHILD, 0, 1};
static const struct case_of other_from_child = {SCENE_MEMBER_CHILD, 2, 1};

static struct epoch epoch_of(const struct scene *s, uint32_t vpid)
{
    const struct members *m = core_inspect_members(s->core);

    return members_epoch(m, members_get(m, vpid));
}

static void frame_of(const struct scene *s, enum msg_type type, const struct case_of *x,
                     struct frame *f, struct buf *b)
{
    BUF_AUTO struct buf frame = {0};
    struct cur c;

    buf_init(&frame, 1u << 20);
    buf_init(b, 1u << 20);
    scene_frame(s, type, &frame);
    c = cur_of(frame.data, frame.len);
    assert_int_equal(frame_decode(&c, f, NULL), 0);
    if (msg_is_routed(type)) {
        f->src = x->src;
        f->dst = x->dst;
        f->src_epoch = epoch_of(s, x->src);
        f->dst_ctr = (uint32_t)epoch_of(s, x->dst).ctr;
    }
    frame_encode(b, f);
    buf_put_raw(b, frame.data + FRAME_HEADER_BYTES, frame.len - FRAME_HEADER_BYTES);
}

/* True if the daemon neither takes nor relays the frame when it comes as a transfer. */
static bool is_refused_in_transfer(enum msg_type type, const struct case_of *x)
{
    BUF_AUTO struct buf inner = {0}, sample = {0}, b = {0};
    struct msg m = {.type = MSG_MATCH, .match.ref = {.from_end = 1, .number = 1}};
    struct scene_answer a;
    struct frame f, outer;
    struct scene s;
    uint64_t routed;

    scene_open(&s, x->kind);
    frame_of(&s, type, x, &f, &inner);
    m.match.match = (struct transfer_match){
        .src = f.src, .dst = f.dst, .src_epoch = f.src_epoch, .traffic = f.traffic, .seq = f.seq};
    m.match.data = inner.data;
    m.match.len = inner.len;
    frame_of(&s, MSG_MATCH, x, &outer, &sample);
    buf_init(&b, 1u << 20);
    frame_encode(&b, &outer);
    msg_encode(&b, &m);
    routed = core_stats(s.core).routed_frames;
    scene_input(&s, b.data, b.len, &a);
    routed = core_stats(s.core).routed_frames - routed;
    scene_close(&s);
    return routed == 0;
}

/* True if the frame was refused for its sender; then it has changed nothing. */
static bool is_refused(enum msg_type type, const struct case_of *x)
{
    BUF_AUTO struct buf before = {0}, after = {0}, b = {0};
    struct scene_answer a;
    struct frame f;
    struct scene s;
    uint64_t forged;

    scene_open(&s, x->kind);
    buf_init(&before, 1u << 20);
    buf_init(&after, 1u << 20);
    frame_of(&s, type, x, &f, &b);
    scene_digest(&s, &before);
    forged = core_stats(s.core).forged_frames;
    scene_input(&s, b.data, b.len, &a);
    forged = core_stats(s.core).forged_frames - forged;
    scene_digest(&s, &after);
    if (forged && (before.len != after.len || memcmp(before.data, after.data, after.len) != 0))
        fail_msg("%s was refused, and changed something", msg_name(type));
    scene_close(&s);
    if (msg_is_routed(type) && is_refused_in_transfer(type, x) != forged)
        fail_msg("%s is %srefused as it is, not so in a transfer", msg_name(type),
                 forged ? "" : "not ");
    return forged;
}

static void must_refuse(enum msg_type type, const struct case_of *x)
{
    if (!is_refused(type, x))
        fail_msg("%s of vpid %u to vpid %u was not refused in scene %d", msg_name(type), x->src,
                 x->dst, (int)x->kind);
}

static void must_accept(enum msg_type type, const struct case_of *x)
{
    if (is_refused(type, x))
        fail_msg("%s of vpid %u to vpid %u was refused in scene %d", msg_name(type), x->src, x->dst,
                 (int)x->kind);
}

static void each_row(enum who who, void (*check)(enum msg_type type))
{
    size_t n = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (rows[i].who != who)
            continue;
        check(rows[i].type);
        n++;
    }
    assert_true(n > 0);
}

static void each_message_type_has_a_row(void **state)
{
    assert_int_equal(sizeof(rows) / sizeof(*rows), MSG_TYPES - 1);
    for (unsigned type = 1; type < MSG_TYPES; type++) {
        size_t n = 0;

        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
            n += rows[i].type == type;
        if (n != 1)
            fail_msg("%s has %zu rows", msg_name(type), n);
    }
}

static void check_above(enum msg_type type)
{
    must_accept(type, &from_head);
    must_refuse(type, &from_child);
    must_refuse(type, &to_head);
}

static void broadcasts_come_from_above_only(void **state)
{
    each_row(ABOVE, check_above);
}

static void check_below(enum msg_type type)
{
    must_accept(type, &to_head);
    must_accept(type, &from_child);
    must_refuse(type, &from_head);
}

static void acknowledgements_and_departures_come_from_below_only(void **state)
{
    each_row(BELOW, check_below);
}

static void check_caller(enum msg_type type)
{
    must_accept(type, &from_child);
    must_refuse(type, &from_head);
}

static void check_called(enum msg_type type)
{
    must_accept(type, &from_head);
    must_refuse(type, &from_child);
    must_refuse(type, &to_head);
}

static void a_greeting_comes_from_the_caller_and_its_answer_from_the_called_daemon(void **state)
{
    each_row(CALLER, check_caller);
    each_row(CALLED, check_called);
}

static void check_neighbour(enum msg_type type)
{
    must_accept(type, &from_head);
    must_accept(type, &from_child);
    must_accept(type, &to_head);
}

static void both_ends_of_a_link_keep_it_alive_and_end_it(void **state)
{
    each_row(NEIGHBOUR, check_neighbour);
}

static void check_head(enum msg_type type)
{
    must_accept(type, &from_head);
    must_accept(type, &head_to_child);
    must_refuse(type, &from_child);
    must_refuse(type, &child_to_head);
    must_refuse(type, &head_from_child);
    must_refuse(type, &other_from_above);
    must_refuse(type, &to_head);
    must_refuse(type, &through_head);
    must_refuse(type, &head_to_head);
}

static void c25_a_member_does_not_speak_for_the_head(void **state)
{
    each_row(HEAD, check_head);
}

static void check_to_head(enum msg_type type)
{
    must_accept(type, &to_head);
    must_accept(type, &to_head_through);
    must_accept(type, &child_to_head);
    must_refuse(type, &other_to_head);
    must_refuse(type, &head_to_head);
    must_refuse(type, &from_child);
    must_refuse(type, &through_head);
    must_refuse(type, &other_from_above);
}

static void c25_a_member_reports_to_the_head_in_its_own_name_only(void **state)
{
    each_row(TO_HEAD, check_to_head);
}

static void check_any(enum msg_type type)
{
    must_accept(type, &from_head);
    must_accept(type, &from_child);
    must_accept(type, &child_to_head);
    must_accept(type, &other_from_above);
    must_accept(type, &through_head);
    must_refuse(type, &other_to_head);
    must_refuse(type, &head_to_head);
    must_refuse(type, &head_from_child);
    must_refuse(type, &other_from_child);
}

static void c25_a_member_sends_to_other_members_in_its_own_name_only(void **state)
{
    each_row(ANY, check_any);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_type_has_a_row),
        cmocka_unit_test(broadcasts_come_from_above_only),
        cmocka_unit_test(acknowledgements_and_departures_come_from_below_only),
        cmocka_unit_test(a_greeting_comes_from_the_caller_and_its_answer_from_the_called_daemon),
        cmocka_unit_test(both_ends_of_a_link_keep_it_alive_and_end_it),
        cmocka_unit_test(c25_a_member_does_not_speak_for_the_head),
        cmocka_unit_test(c25_a_member_reports_to_the_head_in_its_own_name_only),
        cmocka_unit_test(c25_a_member_sends_to_other_members_in_its_own_name_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
