/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon's part in a broadcast: what it forwards, keeps and acknowledges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/xcast/xcast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INC 5u

/* Radix 2, vpids 0..6: 0: 1 2, 1: 3 4, 2: 5 6. */
struct fixture {
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct xcast *x;
    struct frame from;
    char said[4096]; /* "3:ADD 7 ": receiver, type, number; since it was read last */
};

static struct epoch life(uint32_t vpid)
{
    return (struct epoch){INC, 10 + vpid};
}

static struct fixture *fixture_new(uint32_t self)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    members_init(&f->members, self, 2);
    f->neighbours = neighbours_create(&f->out);
    f->x = xcast_create(&f->out, &f->members, f->neighbours);
    for (uint32_t v = 0; v < 7; v++) {
        struct msg_member facts = {v, life(v), "h", "a", 1, 1, 0, {0}, {0}};

        members_add(&f->members, &facts, 1);
    }
    f->from = (struct frame){.src = self, .src_epoch = life(self)};
    return f;
}

static void fixture_free(struct fixture *f)
{
    xcast_destroy(f->x);
    neighbours_destroy(f->neighbours);
    members_free(&f->members);
    out_free(&f->out);
    free(f);
}

static struct neighbour *neighbour_to(struct fixture *f, uint32_t vpid, bool incoming)
{
    struct neighbour *k = neighbours_accept(f->neighbours, vpid + 1);

    k->vpid = vpid;
    k->epoch = life(vpid);
    neighbours_greeted(f->neighbours, k, 1);
    k->incoming = incoming;
    return k;
}

static const char *said(struct fixture *f)
{
    struct out_act act;

    *f->said = '\0';
    while (out_take(&f->out, &act)) {
        struct cur c = cur_of(act.send.frame.data, act.send.frame.len);
        size_t len = strlen(f->said);
        struct frame h;
        struct msg m;

        assert_int_equal(act.kind, OUT_SEND);
        assert_int_equal(frame_decode(&c, &h, NULL), 0);
        assert_int_equal(msg_decode(&c, h.type, &m, NULL), 0);
        snprintf(f->said + len, sizeof(f->said) - len, "%u:%s %llu ", h.dst, msg_name(h.type),
                 (unsigned long long)(m.type == MSG_XACK ? m.xack.op : msg_op(&m)));
        msg_free(&m);
        out_act_free(&act);
    }
    return f->said;
}

/* As core/apply.c does it: forward, then handle. */
static void operate(struct fixture *f, uint64_t op)
{
    struct msg m = {.type = MSG_SHUTDOWN, .shutdown = {.op = op, .text = "t"}};

    xcast_forward(f->x, &f->from, &m);
    f->members.version = op;
    xcast_check(f->x, &f->from);
}

static void a_child_that_has_not_acknowledged_holds_the_acknowledgement_up(void **state)
{
    struct fixture *f = fixture_new(1);

    neighbour_to(f, 0, false);
    neighbour_to(f, 3, true);
    neighbour_to(f, 4, true);
    operate(f, 1);
    assert_string_equal(said(f), "3:SHUTDOWN 1 4:SHUTDOWN 1 ");
    xcast_ack(f->x, 3, life(3), 1);
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "");
    assert_true(xcast_waits_for(f->x, 4));
    xcast_ack(f->x, 4, life(4), 1);
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "0:XACK 1 ");
    xcast_check(f->x, &f->from); /* once */
    assert_string_equal(said(f), "");
    fixture_free(f);
}

static void an_acknowledgement_of_an_earlier_version_does_not_count(void **state)
{
    struct fixture *f = fixture_new(1);

    neighbour_to(f, 0, false);
    xcast_ack(f->x, 3, life(3), 1);
    xcast_ack(f->x, 4, life(4), 1);
    operate(f, 1);
    (void)said(f);
    operate(f, 2);
    xcast_ack(f->x, 3, life(3), 2);
    xcast_ack(f->x, 4, life(4), 1);
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "");
    xcast_ack(f->x, 3, life(3), 1); /* late: its acknowledgement stays in force */
    xcast_ack(f->x, 4, life(4), 2);
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "0:XACK 2 ");
    fixture_free(f);
}

static void an_acknowledgement_of_another_epoch_does_not_count(void **state)
{
    struct fixture *f = fixture_new(0);
    struct epoch old = {INC, 3};

    neighbour_to(f, 1, true);
    operate(f, 1);
    xcast_ack(f->x, 1, old, 1);
    xcast_ack(f->x, 2, life(2), 1);
    xcast_check(f->x, &f->from);
    assert_int_equal(xcast_completed(f->x), 0);
    xcast_ack(f->x, 1, life(1), 1);
    xcast_check(f->x, &f->from);
    assert_int_equal(xcast_completed(f->x), 1);
    (void)said(f);
    fixture_free(f);
}

static void a_late_acknowledgement_of_a_former_epoch_changes_nothing(void **state)
{
    struct fixture *f = fixture_new(0);
    struct epoch old = {INC, 1};

    neighbour_to(f, 1, true);
    operate(f, 1);
    xcast_ack(f->x, 1, life(1), 1);
    xcast_ack(f->x, 1, old, 1);
    xcast_ack(f->x, 2, life(2), 1);
    xcast_check(f->x, &f->from);
    assert_int_equal(xcast_completed(f->x), 1);
    (void)said(f);
    fixture_free(f);
}

/* A child may be ahead of its next parent, which keeps the acknowledgement until it has that
 * version too. */
static void an_acknowledgement_ahead_of_us_is_remembered(void **state)
{
    struct fixture *f = fixture_new(1);
    struct msg_target gone = {2, life(2)};

    neighbour_to(f, 0, false);
    xcast_ack(f->x, 3, life(3), 1);
    xcast_ack(f->x, 4, life(4), 1);
    xcast_ack(f->x, 5, life(5), 1); /* not our child yet */
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "");
    members_remove(&f->members, &gone, 1, MEMBER_EV_LOSE);
    operate(f, 1);
    assert_string_equal(said(f), "0:XACK 1 ");
    assert_false(xcast_waits_for(f->x, 3));
    fixture_free(f);
}

static void an_acknowledgement_of_a_peer_that_is_no_child_is_ignored(void **state)
{
    struct fixture *f = fixture_new(1);

    operate(f, 1);
    xcast_ack(f->x, 6, life(6), 1);
    xcast_ack(f->x, 3, life(3), 1);
    xcast_check(f->x, &f->from);
    assert_true(xcast_waits_for(f->x, 6));
    assert_false(xcast_waits_for(f->x, 3));
    fixture_free(f);
}

static void a_new_epoch_of_a_child_has_acknowledged_nothing(void **state)
{
    struct fixture *f = fixture_new(1);
    struct epoch next = {INC, 30};
    struct msg_member facts = {3, next, "h", "a", 1, 1, 0, {0}, {0}};

    xcast_ack(f->x, 3, life(3), 1);
    members_add(&f->members, &facts, 1);
    operate(f, 1);
    xcast_ack(f->x, 3, next, 0);
    assert_true(xcast_waits_for(f->x, 3));
    xcast_ack(f->x, 3, next, 1);
    assert_false(xcast_waits_for(f->x, 3));
    fixture_free(f);
}

static void after_a_change_of_parent_it_acknowledges_again(void **state)
{
    struct fixture *f = fixture_new(3);

    neighbour_to(f, 1, false);
    operate(f, 1);
    assert_string_equal(said(f), "1:XACK 1 ");
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "");
    xcast_parent_changed(f->x);
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "1:XACK 1 ");
    fixture_free(f);
}

static void without_a_link_to_the_parent_the_acknowledgement_waits(void **state)
{
    struct fixture *f = fixture_new(3);

    operate(f, 1);
    assert_string_equal(said(f), "");
    neighbour_to(f, 1, false);
    xcast_check(f->x, &f->from);
    assert_string_equal(said(f), "1:XACK 1 ");
    fixture_free(f);
}

static void a_non_member_acknowledges_nothing_and_has_no_children(void **state)
{
    struct fixture *f = fixture_new(1);
    struct msg_target self = {1, life(1)};

    neighbour_to(f, 0, false);
    xcast_ack(f->x, 3, life(3), 1); /* a former child */
    members_remove(&f->members, &self, 1, MEMBER_EV_REMOVE);
    operate(f, 1);
    assert_string_equal(said(f), "");
    fixture_free(f);
}

static void the_heads_completion_of_a_version_completes_all_before_it(void **state)
{
    struct fixture *f = fixture_new(0);

    for (uint64_t op = 1; op <= 3; op++)
        operate(f, op);
    assert_int_equal(xcast_completed(f->x), 0);
    xcast_ack(f->x, 1, life(1), 3);
    xcast_ack(f->x, 2, life(2), 3);
    xcast_check(f->x, &f->from);
    assert_int_equal(xcast_completed(f->x), 3);
    fixture_free(f);
}

/* On its way it is below us, above its own place in the tree. Every daemon linked to us gets the
 * broadcast, except one that is not wired. */
static void
a_broadcast_is_forwarded_to_children_and_attached_daemons_and_not_to_joiners(void **state)
{
    struct fixture *f = fixture_new(1);
    struct msg m = {.type = MSG_SHUTDOWN, .shutdown = {.op = 1, .text = "t"}};

    neighbour_to(f, 0, false); /* the parent */
    neighbour_to(f, 3, true);  /* a child; the other has no link now */
    neighbour_to(f, 6, true);  /* on its way to its place */
    neighbour_to(f, 5, true)->joining = true;
    neighbour_to(f, 2, true)->state = NEIGHBOUR_CLOSING;
    xcast_forward(f->x, &f->from, &m);
    assert_string_equal(said(f), "3:SHUTDOWN 1 6:SHUTDOWN 1 ");
    fixture_free(f);
}

/* The tree before the operation counts: a child that the operation removes gets it first. */
static void a_broadcast_is_forwarded_before_the_operation_is_handled(void **state)
{
    struct fixture *f = fixture_new(1);
    struct msg_target gone[] = {{3, life(3)}, {4, life(4)}};
    struct msg m = {.type = MSG_REMOVE,
                    .remove = {.op = 1, .text = "c", .ntargets = 2, .targets = gone}};

    neighbour_to(f, 3, true);
    neighbour_to(f, 4, true);
    xcast_forward(f->x, &f->from, &m);
    members_remove(&f->members, gone, 2, MEMBER_EV_REMOVE);
    assert_string_equal(said(f), "3:REMOVE 1 4:REMOVE 1 ");
    fixture_free(f);
}

static void a_member_that_returns_gets_its_missed_messages_in_order(void **state)
{
    struct fixture *f = fixture_new(1);
    struct neighbour *k;

    for (uint64_t op = 1; op <= 5; op++)
        operate(f, op);
    k = neighbour_to(f, 3, true);
    assert_true(xcast_replay(f->x, k, &f->from, 5));
    assert_string_equal(said(f), "");
    assert_true(xcast_replay(f->x, k, &f->from, 2));
    assert_string_equal(said(f), "3:SHUTDOWN 3 3:SHUTDOWN 4 3:SHUTDOWN 5 ");
    fixture_free(f);
}

static void a_daemon_too_far_behind_gets_no_replay_at_all(void **state)
{
    struct fixture *f = fixture_new(1);
    struct neighbour *k = neighbour_to(f, 3, true);

    for (uint64_t op = 1; op <= XCAST_RING + 2; op++)
        operate(f, op);
    out_free(&f->out);
    assert_false(xcast_replay(f->x, k, &f->from, 0));
    assert_false(xcast_replay(f->x, k, &f->from, 1));
    assert_string_equal(said(f), "");
    assert_true(xcast_replay(f->x, k, &f->from, 2));
    assert_int_equal(strncmp(said(f), "3:SHUTDOWN 3 ", 13), 0);
    fixture_free(f);
}

/* It was joined by a snapshot of this version, and keeps none of the broadcasts before it. */
static void a_daemon_without_the_last_broadcast_replays_none(void **state)
{
    struct fixture *f = fixture_new(1);
    struct neighbour *k = neighbour_to(f, 3, true);

    f->members.version = 5;
    assert_false(xcast_replay(f->x, k, &f->from, 4));
    assert_string_equal(said(f), "");
    assert_true(xcast_replay(f->x, k, &f->from, 5));
    fixture_free(f);
}

static uint32_t epoch_said(struct fixture *f)
{
    struct out_act act;
    struct frame h;
    struct cur c;

    assert_true(out_take(&f->out, &act));
    c = cur_of(act.send.frame.data, act.send.frame.len);
    assert_int_equal(frame_decode(&c, &h, NULL), 0);
    out_act_free(&act);
    return h.dst_ctr;
}

/* So the next process of a head is not taken for the one that has sent the broadcast. */
static void a_broadcast_names_the_heads_epoch_to_a_child_that_can_read_it(void **state)
{
    struct fixture *f = fixture_new(1);

    neighbour_to(f, 3, true)->speaks = 0;
    neighbour_to(f, 4, true)->speaks = 1;
    operate(f, 1);
    assert_int_equal(epoch_said(f), 0);
    assert_int_equal(epoch_said(f), life(VPID_HEAD).ctr);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_has_not_acknowledged_holds_the_acknowledgement_up),
        cmocka_unit_test(an_acknowledgement_of_an_earlier_version_does_not_count),
        cmocka_unit_test(an_acknowledgement_of_another_epoch_does_not_count),
        cmocka_unit_test(a_late_acknowledgement_of_a_former_epoch_changes_nothing),
        cmocka_unit_test(an_acknowledgement_ahead_of_us_is_remembered),
        cmocka_unit_test(an_acknowledgement_of_a_peer_that_is_no_child_is_ignored),
        cmocka_unit_test(a_new_epoch_of_a_child_has_acknowledged_nothing),
        cmocka_unit_test(after_a_change_of_parent_it_acknowledges_again),
        cmocka_unit_test(without_a_link_to_the_parent_the_acknowledgement_waits),
        cmocka_unit_test(a_non_member_acknowledges_nothing_and_has_no_children),
        cmocka_unit_test(the_heads_completion_of_a_version_completes_all_before_it),
        cmocka_unit_test(
            a_broadcast_is_forwarded_to_children_and_attached_daemons_and_not_to_joiners),
        cmocka_unit_test(a_broadcast_is_forwarded_before_the_operation_is_handled),
        cmocka_unit_test(a_member_that_returns_gets_its_missed_messages_in_order),
        cmocka_unit_test(a_daemon_too_far_behind_gets_no_replay_at_all),
        cmocka_unit_test(a_daemon_without_the_last_broadcast_replays_none),
        cmocka_unit_test(a_broadcast_names_the_heads_epoch_to_a_child_that_can_read_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
