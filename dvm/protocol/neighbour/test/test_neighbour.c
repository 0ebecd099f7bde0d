/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of links and its actions for the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/link/link.h"

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
    struct links *l;
    struct out_act act;

    l = links_create(&out);
    for (uint64_t i = 1; i <= LINKS_MAX; i++)
        assert_non_null(links_accept(l, i));
    assert_null(links_accept(l, LINKS_MAX + 1));
    act = next(&out, OUT_CLOSE);
    assert_int_equal(act.close.conn, LINKS_MAX + 1);
    out_act_free(&act);
    assert_quiet(&out);
    assert_int_equal(links_count(l), LINKS_MAX);
    assert_null(links_by_conn(l, LINKS_MAX + 1, NULL));
    links_drop(l, links_by_conn(l, 1, NULL));
    assert_non_null(links_accept(l, LINKS_MAX + 2)); /* there is room again */
    links_destroy(l);
}

static void an_incoming_connection_is_nobodys_until_it_greets(void **state)
{
    struct out out = {.now_ms = 5};
    struct members nobody;
    struct links *l;
    struct link *k;

    members_init(&nobody, 0, 2);
    l = links_create(&out);
    k = links_accept(l, 7);
    assert_true(k->incoming);
    assert_int_equal(k->state, LINK_GREETING);
    assert_int_equal(k->vpid, VPID_NONE);
    assert_int_equal(peer_links(k->peer)->heard_ms, 5);
    assert_int_equal(k->opened_ms, 5);
    assert_ptr_equal(links_by_conn(l, 7, NULL), k);
    assert_null(links_by_conn(l, 8, NULL));
    assert_null(links_up(l, &nobody, VPID_NONE)); /* not up */
    members_free(&nobody);
    assert_quiet(&out);
    links_destroy(l);
}

static void an_outgoing_connection_has_an_id_of_our_own_and_asks_the_driver(void **state)
{
    struct out out = {0};
    struct links *l;
    struct link *a, *b;
    struct out_act act;

    l = links_create(&out);
    a = links_connect(l, 3, "x-3", 7001);
    b = links_connect(l, 3, "x-3", 7001);
    assert_true(a->id & LINK_OUTGOING);
    assert_true(a->id != b->id);
    assert_false(a->incoming);
    assert_int_equal(a->state, LINK_CONNECTING);
    act = next(&out, OUT_CONNECT);
    assert_int_equal(act.connect.conn, a->id);
    assert_string_equal(act.connect.host, "x-3");
    assert_int_equal(act.connect.port, 7001);
    out_act_free(&act);
    out_free(&out);
    links_destroy(l);
}

static struct link *link_to(struct links *l, uint64_t conn, uint64_t life)
{
    struct link *k = links_accept(l, conn);

    k->vpid = 5;
    k->epoch = (struct epoch){7, life};
    links_greeted(l, k, 1);
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
    static const enum link_state others[] = {LINK_CONNECTING, LINK_GREETING, LINK_CLOSING,
                                             LINK_REFUSED};
    struct members m = five();
    struct out out = {0};
    struct links *l;
    struct link *first, *second;

    l = links_create(&out);
    first = link_to(l, 1, 12);
    second = link_to(l, 2, 12);
    for (size_t i = 0; i < 4; i++) {
        second->state = others[i];
        assert_ptr_equal(links_up(l, &m, 5), first);
    }
    second->state = LINK_UP;
    assert_ptr_equal(links_up(l, &m, 5), second);
    assert_null(links_up(l, &m, 4));
    links_destroy(l);
    members_free(&m);
}

static void a_link_of_an_earlier_epoch_does_not_count_for_a_later_epoch(void **state)
{
    struct members m = five();
    struct out out = {0};
    struct links *l;
    struct link *k;

    l = links_create(&out);
    (void)link_to(l, 1, 11);
    assert_null(links_up(l, &m, 5));
    k = link_to(l, 2, 12);
    assert_ptr_equal(links_up(l, &m, 5), k);
    (void)link_to(l, 3, 11); /* a late link of the earlier epoch, newer in the list */
    assert_ptr_equal(links_up(l, &m, 5), k);
    hwloc_bitmap_clr(m.live, 5); /* removed */
    assert_null(links_up(l, &m, 5));
    links_destroy(l);
    members_free(&m);
}

static void a_drop_is_silent_and_a_close_notifies_the_driver(void **state)
{
    struct out out = {0};
    struct links *l;
    struct out_act act;

    l = links_create(&out);
    links_drop(l, links_accept(l, 1));
    assert_quiet(&out);
    for (int flush = 0; flush <= 1; flush++) {
        links_close(l, links_accept(l, 2), flush);
        act = next(&out, OUT_CLOSE);
        assert_int_equal(act.close.conn, 2);
        assert_int_equal(act.close.flush, flush);
        out_act_free(&act);
        assert_null(links_by_conn(l, 2, NULL));
    }
    assert_int_equal(links_count(l), 0);
    links_destroy(l);
}

static void a_message_goes_out_with_its_type_and_receiver_and_no_number(void **state)
{
    struct frame from = {.src = 1, .src_epoch = {5, 9}, .version = 4, .seq = 77, .type = 99};
    struct msg m = {.type = MSG_XACK, .xack = {4}};
    struct out out = {0};
    struct links *l;
    struct link *k;
    struct out_act act;
    struct frame f;
    struct msg back;
    struct cur c;

    l = links_create(&out);
    k = links_accept(l, 1);
    k->vpid = 6;
    links_send(l, k, &from, &m);
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
    links_greeted(l, k, 1);
    assert_int_equal(links_send_raw(l, k, act.send.frame.data, act.send.frame.len), 0);
    struct out_act raw = next(&out, OUT_SEND);
    assert_int_equal(raw.send.frame.len, act.send.frame.len);
    frame_set_hop(act.send.frame.data, 1, 0); /* the first one of the hop */
    assert_memory_equal(raw.send.frame.data, act.send.frame.data, act.send.frame.len);
    out_act_free(&raw);
    out_act_free(&act);
    links_destroy(l);
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
