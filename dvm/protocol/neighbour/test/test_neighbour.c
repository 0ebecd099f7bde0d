/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of links and its actions for the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/neighbour/neighbour.h"

#include <string.h>

static struct out_act next(struct out *o, enum out_kind kind)
{
    struct out_act act;

    assert_true(out_take(o, &act));
    assert_int_equal(act.kind, kind);
    return act;
}

static void assert_quiet(struct out *o)
{
    assert_null(o->head);
}

static void a_connection_over_the_limit_is_closed_and_leaves_nothing(void **state)
{
    struct out out = {.now_ms = 5};
    struct neighbours *l;
    struct out_act act;

    l = neighbours_create(&out);
    for (uint64_t i = 1; i <= NEIGHBOURS_MAX; i++)
        assert_non_null(neighbours_accept(l, i));
    assert_null(neighbours_accept(l, NEIGHBOURS_MAX + 1));
    act = next(&out, OUT_CLOSE);
    assert_int_equal(act.close.conn, NEIGHBOURS_MAX + 1);
    out_act_free(&act);
    assert_quiet(&out);
    assert_int_equal(neighbours_count(l), NEIGHBOURS_MAX);
    assert_null(neighbours_by_conn(l, NEIGHBOURS_MAX + 1, NULL));
    neighbours_drop(l, neighbours_by_conn(l, 1, NULL));
    assert_non_null(neighbours_accept(l, NEIGHBOURS_MAX + 2)); /* there is room again */
    neighbours_destroy(l);
}

static void an_incoming_connection_is_nobodys_until_it_greets(void **state)
{
    struct out out = {.now_ms = 5};
    struct members nobody;
    struct neighbours *l;
    struct neighbour *k;

    members_init(&nobody, 0, 2);
    l = neighbours_create(&out);
    k = neighbours_accept(l, 7);
    assert_true(k->incoming);
    assert_int_equal(k->state, NEIGHBOUR_GREETING);
    assert_int_equal(k->vpid, VPID_NONE);
    assert_int_equal(peer_links(k->peer)->heard_ms, 5);
    assert_int_equal(k->opened_ms, 5);
    assert_ptr_equal(neighbours_by_conn(l, 7, NULL), k);
    assert_null(neighbours_by_conn(l, 8, NULL));
    assert_null(neighbours_up(l, &nobody, VPID_NONE)); /* not up */
    members_free(&nobody);
    assert_quiet(&out);
    neighbours_destroy(l);
}

static void an_outgoing_connection_has_an_id_of_our_own_and_asks_the_driver(void **state)
{
    const struct out_way to = {.host = "x-3", .port = 7001};
    struct out out = {0};
    struct neighbours *l;
    struct neighbour *a, *b;
    struct out_act act;

    l = neighbours_create(&out);
    a = neighbours_connect(l, 3, &to, 1);
    b = neighbours_connect(l, 3, &to, 1);
    assert_true(a->id & CONN_OUTGOING);
    assert_true(a->id != b->id);
    assert_false(a->incoming);
    assert_int_equal(a->state, NEIGHBOUR_CONNECTING);
    act = next(&out, OUT_CONNECT);
    assert_int_equal(act.connect.conn, a->id);
    assert_int_equal(act.connect.nways, 1);
    assert_string_equal(act.connect.ways[0].host, "x-3");
    assert_int_equal(act.connect.ways[0].port, 7001);
    out_act_free(&act);
    out_free(&out);
    neighbours_destroy(l);
}

static struct neighbour *neighbour_to(struct neighbours *l, uint64_t conn, uint64_t life)
{
    struct neighbour *k = neighbours_accept(l, conn);

    k->vpid = 5;
    k->epoch = (struct epoch){7, life};
    neighbours_greeted(l, k, 1);
    return k;
}

/* A table in which vpid 5 has its 12th epoch. */
static struct members five(void)
{
    struct msg_member m = {.vpid = 5, .epoch = {7, 12}, .host = "", .address = ""};
    struct members members;

    members_init(&members, 1, 2);
    members_add(&members, &m, 1);
    return members;
}

static void only_a_link_that_is_up_counts_and_the_newest_wins(void **state)
{
    static const enum neighbour_state others[] = {NEIGHBOUR_CONNECTING, NEIGHBOUR_GREETING,
                                                  NEIGHBOUR_CLOSING, NEIGHBOUR_REFUSED};
    struct members m = five();
    struct out out = {0};
    struct neighbours *l;
    struct neighbour *first, *second;

    l = neighbours_create(&out);
    first = neighbour_to(l, 1, 12);
    second = neighbour_to(l, 2, 12);
    for (size_t i = 0; i < 4; i++) {
        second->state = others[i];
        assert_ptr_equal(neighbours_up(l, &m, 5), first);
    }
    second->state = NEIGHBOUR_UP;
    assert_ptr_equal(neighbours_up(l, &m, 5), second);
    assert_null(neighbours_up(l, &m, 4));
    neighbours_destroy(l);
    members_free(&m);
}

static void a_link_of_an_earlier_epoch_does_not_count_for_a_later_epoch(void **state)
{
    struct members m = five();
    struct out out = {0};
    struct neighbours *l;
    struct neighbour *k;

    l = neighbours_create(&out);
    (void)neighbour_to(l, 1, 11);
    assert_null(neighbours_up(l, &m, 5));
    k = neighbour_to(l, 2, 12);
    assert_ptr_equal(neighbours_up(l, &m, 5), k);
    (void)neighbour_to(l, 3, 11); /* a late link of the earlier epoch, newer in the list */
    assert_ptr_equal(neighbours_up(l, &m, 5), k);
    hwloc_bitmap_clr(m.live, 5); /* removed */
    assert_null(neighbours_up(l, &m, 5));
    neighbours_destroy(l);
    members_free(&m);
}

static void a_drop_is_silent_and_a_close_notifies_the_driver(void **state)
{
    struct out out = {0};
    struct neighbours *l;
    struct out_act act;

    l = neighbours_create(&out);
    neighbours_drop(l, neighbours_accept(l, 1));
    assert_quiet(&out);
    for (int flush = 0; flush <= 1; flush++) {
        neighbours_close(l, neighbours_accept(l, 2), flush);
        act = next(&out, OUT_CLOSE);
        assert_int_equal(act.close.conn, 2);
        assert_int_equal(act.close.flush, flush);
        out_act_free(&act);
        assert_null(neighbours_by_conn(l, 2, NULL));
    }
    assert_int_equal(neighbours_count(l), 0);
    neighbours_destroy(l);
}

static void a_message_goes_out_with_its_type_and_receiver_and_no_number(void **state)
{
    struct frame from = {.src = 1, .src_epoch = {5, 9}, .version = 4, .seq = 77, .type = 99};
    struct msg m = {.type = MSG_XACK, .xack = {4}};
    struct out out = {0};
    struct neighbours *l;
    struct neighbour *k;
    struct out_act act;
    struct frame f;
    struct msg back;
    struct cur c;

    l = neighbours_create(&out);
    k = neighbours_accept(l, 1);
    k->vpid = 6;
    neighbours_send(l, k, &from, &m);
    act = next(&out, OUT_SEND);
    assert_int_equal(act.send.conn, 1);
    c = cur_of(act.send.frame.data, act.send.frame.len);
    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    assert_int_equal(f.type, MSG_XACK);
    assert_int_equal(f.dst, 6);
    assert_int_equal(f.seq, 0);
    assert_int_equal(f.version, 4);
    assert_int_equal(f.src_epoch.ctr, 9);
    assert_int_equal(msg_decode(&c, f.type, &back, NULL), 0);
    assert_int_equal(back.xack.op, 4);
    msg_free(&back);
    neighbours_greeted(l, k, 1);
    assert_int_equal(neighbours_send_raw(l, k, act.send.frame.data, act.send.frame.len), 0);
    struct out_act raw = next(&out, OUT_SEND);
    assert_int_equal(raw.send.frame.len, act.send.frame.len);
    frame_set_hop(act.send.frame.data, 1, 0); /* the first one of the hop */
    assert_memory_equal(raw.send.frame.data, act.send.frame.data, act.send.frame.len);
    out_act_free(&raw);
    out_act_free(&act);
    neighbours_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_over_the_limit_is_closed_and_leaves_nothing),
        cmocka_unit_test(an_incoming_connection_is_nobodys_until_it_greets),
        cmocka_unit_test(an_outgoing_connection_has_an_id_of_our_own_and_asks_the_driver),
        cmocka_unit_test(only_a_link_that_is_up_counts_and_the_newest_wins),
        cmocka_unit_test(a_link_of_an_earlier_epoch_does_not_count_for_a_later_epoch),
        cmocka_unit_test(a_drop_is_silent_and_a_close_notifies_the_driver),
        cmocka_unit_test(a_message_goes_out_with_its_type_and_receiver_and_no_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
