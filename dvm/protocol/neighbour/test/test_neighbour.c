/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of links and its actions for the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/neighbour/neighbour.h"

#include <stdio.h>
#include <stdlib.h>
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

static void a_hop_is_a_neighbour_that_is_up_or_cut_in_the_present_epoch(void **state)
{
    static const struct {
        enum neighbour_state state;
        bool is_hop;
    } rows[] = {{NEIGHBOUR_CONNECTING, false}, {NEIGHBOUR_GREETING, false},
                {NEIGHBOUR_UP, true},          {NEIGHBOUR_CUT, true},
                {NEIGHBOUR_CLOSING, false},    {NEIGHBOUR_REFUSED, false}};
    struct members m = five();
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbour_to(l, 1, 12);

    (void)neighbour_to(l, 2, 11);
    neighbour_to(l, 3, 12)->vpid = 6;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        k->state = rows[i].state;
        assert_int_equal(neighbour_is_greeted(k), rows[i].is_hop);
        assert_ptr_equal(neighbours_hop(l, &m, 5), rows[i].is_hop ? k : NULL);
    }
    k->state = NEIGHBOUR_CUT;
    assert_null(neighbours_hop(l, &m, 6)); /* no member */
    hwloc_bitmap_clr(m.live, 5);
    assert_null(neighbours_hop(l, &m, 5));
    neighbours_destroy(l);
    members_free(&m);
}

static void a_neighbour_is_found_by_its_id(void **state)
{
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *a = neighbours_accept(l, 7);
    struct neighbour *b = neighbours_accept(l, 8);

    assert_ptr_equal(neighbours_by_id(l, 7), a);
    assert_ptr_equal(neighbours_by_id(l, 8), b);
    assert_null(neighbours_by_id(l, 9));
    neighbours_drop(l, b);
    assert_null(neighbours_by_id(l, 8));
    assert_int_equal(neighbours_dropped(l), 1);
    neighbours_destroy(l);
    neighbours_destroy(NULL);
}

static void a_session_is_continued_by_a_caller_of_its_epoch_alone(void **state)
{
    const struct epoch e = {7, 12}, other = {7, 13};
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbours_accept(l, 1);
    uint64_t session;

    neighbours_begin_sessions(l, 40);
    session = neighbours_new_session(l);
    assert_int_equal(session, 41);
    assert_int_equal(neighbours_new_session(l), 42);
    k->vpid = 5;
    k->epoch = e;
    assert_null(neighbours_session(l, 5, e, 0)); /* it has none */
    neighbours_greeted(l, k, session);
    assert_ptr_equal(neighbours_session(l, 5, e, session), k);
    assert_null(neighbours_session(l, 6, e, session));
    assert_null(neighbours_session(l, 5, other, session));
    assert_null(neighbours_session(l, 5, e, 42));
    k->joining = true;
    assert_null(neighbours_session(l, 5, e, session));
    k->joining = false;
    k->incoming = false;
    assert_null(neighbours_session(l, 5, e, session));
    neighbours_destroy(l);
}

static const struct out_way three[] = {{.host = "a", .port = 1},
                                       {.host = "b", .port = 2, .from = "own", .named = true},
                                       {.host = "c", .port = 3}};

/* The connections that the driver has to make, as text: "CONN: host:port/index ...". */
static const char *asked(struct out *o, uint64_t conn)
{
    static char text[256];
    struct out_act act = next(o, OUT_CONNECT);
    size_t len = 0;

    assert_int_equal(act.connect.conn, conn);
    *text = '\0';
    for (size_t i = 0; i < act.connect.nways; i++) {
        const struct out_way *w = &act.connect.ways[i];

        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s:%u/%zu%s%s%s ", w->host,
                                w->port, w->index, w->from ? " from " : "", w->from ? w->from : "",
                                w->named ? " named" : "");
    }
    out_act_free(&act);
    return text;
}

static void a_neighbour_is_called_by_all_its_addresses_the_last_good_one_first(void **state)
{
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbours_connect(l, 3, three, 3);

    assert_string_equal(asked(&out, k->id), "a:1/0 b:2/1 from own named c:3/2 ");
    k->good = 2;
    neighbours_call(l, k);
    assert_string_equal(asked(&out, CONN_OUTGOING | 2), "c:3/2 a:1/0 b:2/1 from own named ");
    assert_int_equal(neighbour_count_way(k, 2), 1);
    neighbours_destroy(l);
}

static void a_further_connection_is_made_by_one_address_up_to_a_limit(void **state)
{
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbours_connect(l, 3, three, 3);
    struct peer_link *at = NULL;

    out_free(&out);
    assert_int_equal(neighbour_count_way(k, 0), 1);
    for (uint64_t i = 2; i <= PEER_LINKS_MAX; i++) {
        at = neighbours_dial(l, k, 1);
        assert_non_null(at);
        assert_int_equal(at->conn, CONN_OUTGOING | i);
        assert_int_equal(at->way, 1);
        assert_string_equal(asked(&out, at->conn), "b:2/1 from own named ");
    }
    assert_int_equal(neighbour_count_way(k, 0), 1);
    assert_int_equal(neighbour_count_way(k, 1), PEER_LINKS_MAX - 1);
    assert_null(neighbours_dial(l, k, 1));
    neighbours_call(l, k);
    assert_quiet(&out);
    k = neighbours_connect(l, 4, three, 1);
    assert_int_equal(k->id, CONN_OUTGOING | (PEER_LINKS_MAX + 1)); /* no two have one id */
    out_free(&out);
    neighbours_destroy(l);
}

static void equal_addresses_keep_what_is_known_of_them(void **state)
{
    static const struct out_way others[][3] = {
        {{.host = "x", .port = 1}, {.host = "b", .port = 2}, {.host = "c", .port = 3}},
        {{.host = "a", .port = 9}, {.host = "b", .port = 2}, {.host = "c", .port = 3}},
        {{.host = "a", .port = 1}, {.host = "b", .port = 2}, {.host = "c", .port = 9}}};
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbours_connect(l, 3, three, 3);

    for (size_t i = 0; i < 3; i++) {
        neighbour_set_ways(k, three, 3);
        k->ways[1].redial_at = 77;
        neighbour_set_ways(k, three, 3);
        assert_int_equal(k->ways[1].redial_at, 77);
        neighbour_set_ways(k, others[i], 3);
        assert_int_equal(k->ways[1].redial_at, 0);
        assert_string_equal(k->ways[0].to.host, others[i][0].host);
        assert_int_equal(k->ways[2].to.port, others[i][2].port);
    }
    k->good = 1;
    neighbour_set_ways(k, three, 2);
    assert_int_equal(k->good, 1);
    assert_int_equal(k->nways, 2);
    k->good = 1;
    neighbour_set_ways(k, three, 1); /* there is no such address any more */
    assert_int_equal(k->good, 0);
    out_free(&out);
    neighbours_destroy(l);
}

static void a_caller_that_continues_a_session_gives_its_connection(void **state)
{
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbour_to(l, 1, 12);
    struct peer_link *at = neighbours_adopt(l, k, neighbours_accept(l, 2));
    struct neighbour *caller;

    assert_int_equal(at->conn, 2);
    assert_int_equal(neighbours_count(l), 1);
    assert_ptr_equal(neighbours_by_conn(l, 2, &at), k);
    for (uint64_t i = 3; i <= PEER_LINKS_MAX; i++)
        assert_non_null(neighbours_adopt(l, k, neighbours_accept(l, i)));
    caller = neighbours_accept(l, 99);
    assert_null(neighbours_adopt(l, k, caller)); /* no room: it stays */
    assert_ptr_equal(neighbours_by_conn(l, 99, NULL), caller);
    assert_quiet(&out);
    neighbours_destroy(l);
}

static void the_connection_in_use_is_forgotten_with_its_end_only(void **state)
{
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbour_to(l, 1, 12);
    struct neighbour *other = neighbours_accept(l, 3);
    struct peer_link *in = peer_links(k->peer);
    struct peer_link *at = neighbours_adopt(l, k, neighbours_accept(l, 2));
    struct out_act act;

    neighbours_set_in(l, in);
    neighbours_close_conn(l, k, at, true);
    assert_ptr_equal(neighbours_in(l), in);
    act = next(&out, OUT_CLOSE);
    assert_int_equal(act.close.conn, 2);
    assert_true(act.close.flush);
    assert_null(peer_link_of(k->peer, 2));
    neighbours_drop(l, other);
    assert_ptr_equal(neighbours_in(l), in);
    neighbours_drop_conn(l, k, in);
    assert_null(neighbours_in(l));
    assert_null(peer_links(k->peer));
    k = neighbour_to(l, 4, 12);
    neighbours_set_in(l, peer_links(k->peer));
    neighbours_drop(l, k);
    assert_null(neighbours_in(l));
    neighbours_destroy(l);
}

static uint64_t sent_on(struct out *o, struct frame *f)
{
    struct out_act act = next(o, OUT_SEND);
    struct cur c = cur_of(act.send.frame.data, act.send.frame.len);
    uint64_t conn = act.send.conn;

    assert_int_equal(frame_decode(&c, f, NULL), 0);
    out_act_free(&act);
    return conn;
}

/* A probe is answered where it came from. */
static void a_message_outside_of_the_sequence_goes_over_the_connection_in_use(void **state)
{
    const struct frame from = {.src = 1, .src_epoch = {5, 9}};
    const struct msg ping = {.type = MSG_PING}, xack = {.type = MSG_XACK, .xack = {4}};
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbour_to(l, 1, 12);
    struct peer_link *second = neighbours_adopt(l, k, neighbours_accept(l, 2));
    struct frame f;

    neighbours_send(l, k, &from, &ping);
    assert_int_equal(sent_on(&out, &f), 1); /* the one that is up */
    assert_int_equal(f.hop_seq, 0);
    neighbours_set_in(l, second);
    neighbours_send(l, k, &from, &ping);
    assert_int_equal(sent_on(&out, &f), 2);
    neighbours_send(l, k, &from, &xack); /* numbered: over a connection that is up */
    assert_int_equal(sent_on(&out, &f), 1);
    assert_int_equal(f.hop_seq, 1);
    neighbours_set_in(l, NULL);
    neighbours_send_on(l, k, second, &from, &ping);
    assert_int_equal(sent_on(&out, &f), 2);
    assert_quiet(&out);
    neighbours_destroy(l);
}

static void a_relayed_frame_has_one_hop_more_and_the_same_body(void **state)
{
    const struct frame from = {.type = MSG_APP, .src = 1, .dst = 9, .hops = 3, .seq = 7};
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbour_to(l, 1, 12);
    struct out_act act;
    struct frame f;
    struct cur c;

    assert_int_equal(neighbours_relay(l, k, &from, "body", 4), 0);
    act = next(&out, OUT_SEND);
    assert_int_equal(act.send.frame.len, FRAME_HEADER_BYTES + 4);
    assert_memory_equal(act.send.frame.data + FRAME_HEADER_BYTES, "body", 4);
    c = cur_of(act.send.frame.data, act.send.frame.len);
    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    assert_int_equal(f.hops, 4);
    assert_int_equal(f.dst, 9);
    assert_int_equal(f.seq, 7);
    out_act_free(&act);
    neighbours_destroy(l);
}

static void a_full_neighbour_takes_broadcasts_alone(void **state)
{
    const size_t quarter = PEER_BACKLOG_MAX / 4;
    FREE_AUTO uint8_t *frame = xcalloc(1, quarter);
    const struct frame from = {.type = MSG_APP};
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbour_to(l, 1, 12);

    for (int i = 0; i < 4; i++)
        assert_int_equal(neighbours_send_raw(l, k, frame, quarter), 0);
    assert_int_equal(neighbours_send_raw(l, k, frame, FRAME_HEADER_BYTES), -1);
    assert_int_equal(neighbours_relay(l, k, &from, "body", 4), -1);
    assert_int_equal(peer_stats(k->peer).sent, 4);
    neighbours_send_op(l, k, frame, FRAME_HEADER_BYTES);
    assert_int_equal(peer_stats(k->peer).sent, 5);
    out_free(&out);
    neighbours_destroy(l);
}

static void frames_sent_again_are_counted_also_of_neighbours_that_are_gone(void **state)
{
    const struct frame from = {.type = MSG_APP, .dst = 5};
    struct out out = {0};
    struct neighbours *l = neighbours_create(&out);
    struct neighbour *k = neighbour_to(l, 1, 12);
    struct peer_link *second = neighbours_adopt(l, k, neighbours_accept(l, 2));

    assert_int_equal(peer_link_greeted(k->peer, second, 0, false), 0);
    assert_int_equal(neighbours_relay(l, k, &from, "body", 4), 0);
    assert_int_equal(neighbours_again(l), 0);
    neighbours_drop_conn(l, k, peer_links(k->peer));
    assert_int_equal(neighbours_again(l), 1);
    neighbours_drop(l, k);
    assert_int_equal(neighbours_again(l), 1);
    out_free(&out);
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
        cmocka_unit_test(a_hop_is_a_neighbour_that_is_up_or_cut_in_the_present_epoch),
        cmocka_unit_test(a_neighbour_is_found_by_its_id),
        cmocka_unit_test(a_session_is_continued_by_a_caller_of_its_epoch_alone),
        cmocka_unit_test(a_neighbour_is_called_by_all_its_addresses_the_last_good_one_first),
        cmocka_unit_test(a_further_connection_is_made_by_one_address_up_to_a_limit),
        cmocka_unit_test(equal_addresses_keep_what_is_known_of_them),
        cmocka_unit_test(a_caller_that_continues_a_session_gives_its_connection),
        cmocka_unit_test(the_connection_in_use_is_forgotten_with_its_end_only),
        cmocka_unit_test(a_message_outside_of_the_sequence_goes_over_the_connection_in_use),
        cmocka_unit_test(a_relayed_frame_has_one_hop_more_and_the_same_body),
        cmocka_unit_test(a_full_neighbour_takes_broadcasts_alone),
        cmocka_unit_test(frames_sent_again_are_counted_also_of_neighbours_that_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
