/* SPDX-License-Identifier: BSD-3-Clause */
/* Large frames between three daemons in a row, 0 - 1 - 3, whose links keep order and break. */
#include "dvm/protocol/rml/test/hop_net.h"

/* --- what another daemon cannot rightly send */

static void say_as(struct net *n, uint32_t from, uint32_t to, const struct msg *m)
{
    rml_transfer(n->rml[to], link_to(n, to, from), m);
    collect(n);
}

static void a_message_of_the_head_is_not_taken_from_a_child(void **state)
{
    struct net *n = net_new();
    struct msg m = {.type = MSG_RNDV,
                    .rndv = {.ref = {.from_end = 1, .series = 1, .number = 1},
                             .match = {.src = 0, .dst = 1, .src_epoch = {INC, 10}},
                             .size = LARGE}};

    say_as(n, 3, 1, &m);
    assert_int_equal(type_of(&n->way[0].bytes), MSG_RNDVRESTARTNACK);
    assert_int_equal(rml_stats(n->rml[1]).transfers.taking, 0);
    m.rndv.ref.number = 2;
    m.rndv.match.src = 3;
    say_as(n, 3, 1, &m);
    assert_int_equal(rml_stats(n->rml[1]).transfers.taking, 1);
    net_free(n);
}

static void a_message_longer_than_any_frame_is_not_taken(void **state)
{
    struct net *n = net_new();
    struct msg m = {.type = MSG_RNDV,
                    .rndv = {.ref = {.from_end = 1, .series = 1, .number = 1},
                             .match = {.src = 3, .dst = 1, .src_epoch = {INC, 13}},
                             .size = HOP_FRAME_BYTES + 1}};

    say_as(n, 3, 1, &m);
    assert_int_equal(rml_stats(n->rml[1]).transfers.taking, 0);
    m.rndv.ref.number++;
    m.rndv.size = HOP_FRAME_BYTES;
    say_as(n, 3, 1, &m);
    assert_int_equal(rml_stats(n->rml[1]).transfers.taking, 1);
    net_free(n);
}

static void a_frame_that_is_not_what_its_transfer_named_is_dropped(void **state)
{
    struct net *n = net_new();
    BUF_AUTO struct buf b = {0};
    struct frame f = {
        .type = MSG_APP, .src = 0, .dst = 1, .src_epoch = {INC, 10}, .version = 7, .seq = 1};
    struct msg app = {.type = MSG_APP, .app = {.data = n->content, .len = 10}};
    struct msg m = {.type = MSG_MATCH,
                    .match = {.ref = {.from_end = 1, .series = 1, .number = 1},
                              .match = {.src = 3, .dst = 1, .src_epoch = {INC, 13}, .seq = 1}}};

    buf_init(&b, 1024);
    frame_encode(&b, &f);
    msg_encode(&b, &app);
    m.match.data = b.data;
    m.match.len = b.len;
    say_as(n, 3, 1, &m);
    take_in(n, 1);
    assert_int_equal(n->got_small, 0);
    collect(n);
    assert_int_equal(n->nwarnings, 1);
    net_free(n);
}

static void a_count_of_frames_that_were_not_sent_changes_nothing(void **state)
{
    struct net *n = net_new();
    struct msg m = {.type = MSG_TAKEN, .taken = {2}};

    send_bytes(n, 0, 1, CLASS_BULK, LARGE);
    say_as(n, 1, 0, &m);
    assert_int_equal(rml_stats(n->rml[0]).transfers.outstanding, 1);
    run(n);
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

/* --- the way of large frames */

static void a_small_frame_goes_as_it_is(void **state)
{
    struct net *n = net_new();

    send_bytes(n, 0, 1, CLASS_CONTROL, 10);
    assert_int_equal(type_of(&n->way[0].bytes), MSG_APP);
    run(n);
    assert_int_equal(n->got_small, 1);
    assert_int_equal(rml_stats(n->rml[0]).transfers.ended, 0);
    net_free(n);
}

static void frames_go_as_match_rndv_or_rget_by_length_and_class(void **state)
{
    static const struct {
        size_t len;
        enum out_class traffic;
        enum msg_type type;
    } cases[] = {{HOP_DIRECT_BYTES, CLASS_BULK, MSG_MATCH},
                 {TRANSFER_EAGER_BYTES, CLASS_BULK, MSG_RNDV},
                 {TRANSFER_EAGER_BYTES, CLASS_LAUNCH, MSG_RGET}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct net *n = net_new();

        send_bytes(n, 0, 3, cases[i].traffic, cases[i].len);
        assert_int_equal(type_of(&n->way[0].bytes), cases[i].type);
        run(n);
        assert_int_equal(n->got_small, 1);
        assert_int_equal(rml_stats(n->rml[1]).transfers.ended, 2); /* taken, and passed on */
        net_free(n);
    }
}

static void a_large_message_arrives_whole_over_a_relay(void **state)
{
    struct net *n = net_new();
    struct transfer_stats st;

    send_bytes(n, 0, 3, CLASS_BULK, LARGE);
    send_bytes(n, 3, 0, CLASS_LAUNCH, LARGE);
    run(n);
    assert_int_equal(n->got_large, 2);
    for (uint32_t v = 0; v < DAEMONS; v++) {
        st = rml_stats(n->rml[v]).transfers;
        assert_int_equal(st.sending + st.taking + st.outstanding + st.illegal, 0);
    }
    net_free(n);
}

static void a_message_over_the_limit_is_refused_and_takes_no_number(void **state)
{
    struct net *n = net_new();
    FREE_AUTO uint8_t *data = xcalloc(1, HOP_FRAME_BYTES);
    struct msg m = {.type = MSG_APP, .app = {.data = data, .len = HOP_FRAME_BYTES}};
    struct err err = {0};

    assert_int_equal(rml_send(n->rml[0], 1, CLASS_BULK, &m, &err), -1);
    assert_non_null(strstr(err.msg, "too long"));
    assert_int_equal(rml_backlog(n->rml[0], 1, CLASS_BULK), 0);
    send_bytes(n, 0, 1, CLASS_BULK, 1);
    run(n);
    assert_int_equal(n->got_small, 1);
    net_free(n);
}

/* 64 MiB is the limit of one frame on a link, and none of a message. */
static void a_message_of_70_mib_arrives_whole_over_a_relay(void **state)
{
    size_t len = (size_t)70 << 20;
    struct net *n = net_new();

    n->large = len;
    n->content = xrealloc(n->content, len);
    for (size_t i = LARGE; i < len; i++)
        n->content[i] = (uint8_t)(i * 7 + (i >> 13));
    send_bytes(n, 0, 3, CLASS_MODEX, len);
    run(n);
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

static void a_message_longer_than_the_backlog_waits_alone(void **state)
{
    struct net *n = net_new();
    struct msg m = {.type = MSG_APP, .app = {.data = n->content, .len = 1}};
    struct err err = {0};

    rml_destroy(n->rml[0]);
    n->rml[0] = rml_create(&n->out[0], &n->members[0], n->neighbours[0], LARGE / 2);
    rml_set_epoch(n->rml[0], (struct epoch){INC, 10});
    send_bytes(n, 0, 3, CLASS_MODEX, LARGE);
    assert_int_equal(rml_send(n->rml[0], 3, CLASS_MODEX, &m, &err), -1);
    assert_non_null(strstr(err.msg, "bytes wait for it already"));
    run(n);
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

static void the_bytes_of_a_long_message_are_no_sign_of_a_lost_peer(void **state)
{
    struct net *n = net_new();
    struct msg app = {.type = MSG_APP, .app = {.data = n->content, .len = 1}};
    struct msg kill = {.type = MSG_KILL, .kill = {.nspace = "job", .signum = 15}};
    size_t limit, before, accepted[2] = {0};
    struct msg_target behind;
    struct err err = {0};

    rml_destroy(n->rml[0]);
    n->rml[0] = rml_create(&n->out[0], &n->members[0], n->neighbours[0], 4096);
    rml_set_epoch(n->rml[0], (struct epoch){INC, 10});
    for (int i = 0; i < 2; i++) { /* with and without a long message that waits */
        if (i == 0)
            send_bytes(n, 0, 3, CLASS_MODEX, LARGE);
        before = rml_backlog(n->rml[0], 3, CLASS_MODEX);
        assert_int_equal(before >= LARGE, i == 0);
        while (rml_send(n->rml[0], 3, CLASS_MODEX, &kill, &err) == 0)
            accepted[i]++;
        assert_in_range(rml_backlog(n->rml[0], 3, CLASS_MODEX) - before, 4097, 8192);
        assert_true(rml_behind(n->rml[0], &behind, &limit));
        assert_int_equal(behind.vpid, 3);
        assert_int_equal(rml_send(n->rml[0], 3, CLASS_MODEX, &app, &err), -1);
        for (int acks = 0; acks < 2; acks++) { /* the short ones are sent after the first */
            run(n);
            n->out[3].now_ms += RML_ACK_DELAY_MS;
            rml_tick(n->rml[3]);
            run(n);
        }
        assert_int_equal(rml_backlog(n->rml[0], 3, CLASS_MODEX), 0);
    }
    assert_int_equal(accepted[0], accepted[1]);
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

static void a_long_message_in_flight_has_longer_until_it_is_sent_again(void **state)
{
    static const struct {
        size_t mib;
        uint64_t ms;
    } rows[] = {{6, 1000}, {17, 2000}, {33, 4000}, {65, 8000}, {140, 8000}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct net *n = net_new();

        n->content = xrealloc(n->content, rows[i].mib << 20);
        send_bytes(n, 0, 3, CLASS_MODEX, rows[i].mib << 20);
        assert_int_equal(rml_deadline(n->rml[0]), n->out[0].now_ms + rows[i].ms);
        net_free(n);
    }
}

static void a_small_message_passes_a_large_one(void **state)
{
    struct net *n = net_new();

    send_bytes(n, 0, 1, CLASS_BULK, LARGE);
    while (n->frag_bytes == 0)
        arrive(n);
    n->frag_bytes_before = 0;
    send_bytes(n, 0, 1, CLASS_CONTROL, 10);
    run(n);
    assert_in_range(n->frag_bytes_before, 1, HOP_FRAGS_MAX * (TRANSFER_FRAG_BYTES + 1024));
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

static void a_link_that_breaks_costs_only_the_fragments_that_were_on_it(void **state)
{
    struct net *n = net_new();

    send_bytes(n, 0, 1, CLASS_BULK, LARGE);
    while (n->frag_bytes < LARGE / 2)
        arrive(n);
    break_link(n, 0, 1);
    assert_int_equal(rml_stats(n->rml[0]).transfers.restarts, 1); /* before there is a link */
    mend_link(n, 0, 1);
    run(n);
    assert_int_equal(n->got_large, 1);
    assert_int_equal(rml_stats(n->rml[0]).transfers.restarts, 1);
    assert_in_range(n->frag_bytes, LARGE, LARGE + LARGE / 50 + HOP_FRAGS_MAX * TRANSFER_FRAG_BYTES);
    net_free(n);
}

/* The caller is the same, and its link too: it has none of the frames of the former session. */
static void in_a_new_session_a_transfer_sends_again_what_was_on_its_way(void **state)
{
    struct net *n = net_new();

    send_bytes(n, 0, 1, CLASS_BULK, LARGE);
    while (n->frag_bytes < LARGE / 2)
        arrive(n);
    while (n->nway)
        buf_free(&n->way[--n->nway].bytes);
    assert_true(rml_stats(n->rml[0]).transfers.outstanding > 0);
    rml_new_session(n->rml[0], link_to(n, 0, 1));
    rml_new_session(n->rml[1], link_to(n, 1, 0));
    assert_int_equal(rml_stats(n->rml[0]).transfers.restarts, 1);
    run(n);
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

static void a_large_message_survives_links_that_break_again_and_again(void **state)
{
    for (size_t step = 1; step < 40; step++) {
        struct net *n = net_new();

        send_bytes(n, 0, 3, CLASS_LAUNCH, LARGE);
        send_bytes(n, 3, 0, CLASS_BULK, LARGE);
        for (int i = 0; i < 12 && n->nway; i++) {
            for (size_t s = 0; s < step && n->nway; s++)
                arrive(n);
            break_link(n, i % 2 ? 1 : 0, i % 2 ? 3 : 1);
            mend_link(n, i % 2 ? 1 : 0, i % 2 ? 3 : 1);
        }
        run(n);
        assert_int_equal(n->got_large, 2);
        for (uint32_t v = 0; v < DAEMONS; v++)
            assert_int_equal(rml_stats(n->rml[v]).transfers.illegal, 0);
        net_free(n);
    }
}

static void frames_wait_at_their_source_while_a_neighbour_has_enough(void **state)
{
    struct net *n = net_new();

    rml_set_hop_limits(n->rml[0], &(struct hop_limits){.waiting_bytes = LARGE});
    send_bytes(n, 0, 1, CLASS_BULK, LARGE / 2);
    send_bytes(n, 0, 1, CLASS_MODEX, LARGE);
    assert_int_equal(rml_stats(n->rml[0]).transfers.sending, 1);
    run(n);
    assert_int_equal(n->got_small, 1);
    assert_int_equal(n->got_large, 0);
    rml_room(n->rml[0]);
    run(n);
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

static void content_goes_as_bulk_and_the_rest_as_control(void **state)
{
    struct net *n = net_new();

    send_bytes(n, 0, 1, CLASS_LAUNCH, LARGE);
    while (n->nway) {
        struct cur c = cur_of(n->way[0].bytes.data, n->way[0].bytes.len);
        struct frame f;

        assert_int_equal(frame_decode(&c, &f, NULL), 0);
        assert_int_equal(f.traffic, f.type == MSG_FRAG ? CLASS_BULK : CLASS_CONTROL);
        assert_true(epoch_eq(f.src_epoch, (struct epoch){INC, 10 + n->way[0].from}));
        arrive(n);
    }
    assert_int_equal(n->got_large, 1);
    assert_true(n->frag_bytes >= LARGE);
    net_free(n);
}

static void a_frame_of_the_direct_length_goes_as_it_is_and_a_longer_one_does_not(void **state)
{
    for (uint32_t at = 0; at < 2; at++) { /* its source, its relay */
        for (size_t less = 0; less < 2; less++) {
            struct net *n = net_new();
            size_t bytes;

            send_bytes(n, 0, 3, CLASS_BULK, 1000);
            bytes = rml_backlog(n->rml[0], 3, CLASS_BULK);
            run(n);
            rml_set_hop_limits(n->rml[at], &(struct hop_limits){.direct_bytes = bytes - less});
            send_bytes(n, 0, 3, CLASS_MODEX, 1000);
            if (at)
                arrive(n);
            assert_int_equal(type_of(&n->way[0].bytes), less ? MSG_MATCH : MSG_APP);
            run(n);
            assert_int_equal(n->got_small, 2);
            net_free(n);
        }
    }
}

static void a_neighbour_has_enough_beyond_the_limit_and_not_at_it(void **state)
{
    for (size_t less = 0; less < 2; less++) {
        struct net *n = net_new();

        send_bytes(n, 0, 1, CLASS_BULK, LARGE);
        rml_set_hop_limits(n->rml[0],
                           &(struct hop_limits){
                               .waiting_bytes = 2 * rml_backlog(n->rml[0], 1, CLASS_BULK) - less});
        send_bytes(n, 0, 1, CLASS_MODEX, LARGE);
        assert_int_equal(rml_stats(n->rml[0]).transfers.sending, less ? 1 : 2);
        net_free(n);
    }
}

static void at_most_8_fragments_are_on_a_link(void **state)
{
    struct net *n = net_new();
    size_t most = 0;

    send_bytes(n, 0, 1, CLASS_BULK, LARGE);
    send_bytes(n, 0, 1, CLASS_MODEX, LARGE);
    assert_int_equal(rml_stats(n->rml[0]).transfers.sending, 2); /* both go at a time */
    while (n->nway) {
        size_t now = count_fragments(n);

        most = now > most ? now : most;
        arrive(n);
    }
    assert_int_equal(most, HOP_FRAGS_MAX);
    assert_int_equal(n->got_large, 2);
    net_free(n);
}

static void the_end_of_one_neighbour_leaves_the_transfers_with_others(void **state)
{
    struct net *n = net_new();
    struct msg_target gone = {3, {INC, 13}};

    send_bytes(n, 1, 3, CLASS_BULK, LARGE);
    send_bytes(n, 1, 0, CLASS_BULK, LARGE);
    for (int i = 0; i < 20; i++)
        arrive(n);
    members_remove(&n->members[1], &gone, 1, MEMBER_EV_LOSE);
    rml_forget(n->rml[1], 3);
    assert_int_equal(rml_stats(n->rml[1]).transfers.sending, 1);
    run(n);
    assert_int_equal(n->got_large, 1);
    net_free(n);
}

static void a_daemon_in_its_next_epoch_has_transfers_of_its_own(void **state)
{
    struct net *n = net_new();
    struct msg_member again = {1, {INC, 21}, "host", "address", 1, 1, 0, {0}, {0}};

    send_bytes(n, 0, 1, CLASS_BULK, LARGE);
    while (n->frag_bytes == 0)
        arrive(n);
    break_link(n, 0, 1);
    members_add(&n->members[0], &again, 1);
    link_pair(n, 0, 1);
    link_to(n, 0, 1)->epoch = again.epoch;
    send_bytes(n, 0, 1, CLASS_MODEX, LARGE);
    assert_int_equal(type_of(&n->way[n->nway - 1].bytes), MSG_RNDV);
    rml_routes_changed(n->rml[0]);
    collect(n);
    /* those with the former epoch have ended; BULK goes again with the new one */
    assert_int_equal(rml_stats(n->rml[0]).transfers.sending, 2);
    rml_forget(n->rml[0], 1);
    net_free(n);
}

static void the_transfers_of_a_daemon_end_with_its_epoch(void **state)
{
    struct net *n = net_new();
    struct msg_target gone = {1, {INC, 11}};

    send_bytes(n, 0, 1, CLASS_BULK, LARGE);
    members_remove(&n->members[0], &gone, 1, MEMBER_EV_LOSE);
    rml_forget(n->rml[0], 1);
    assert_int_equal(rml_stats(n->rml[0]).transfers.sending, 0);
    net_free(n);
}

/* A daemon may greet with its next epoch before the end of the one before is processed here. */
static void the_transfers_of_the_next_epoch_stay_when_the_one_before_ends(void **state)
{
    static const struct {
        struct epoch known; /* to the table of members */
        bool listed, stays;
    } rows[] = {{{INC, 11}, true, true},
                {{INC, 10}, true, true},
                {{INC, 12}, true, false},     /* the transfer is of an earlier epoch */
                {{INC + 1, 11}, true, false}, /* of another incarnation */
                {{INC, 11}, false, false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct net *n = net_new();
        struct msg_target gone = {1, {INC, 11}};
        struct msg_member facts = {1, rows[i].known, "host", "address", 1, 1, 0, {0}, {0}};

        send_bytes(n, 0, 1, CLASS_BULK, LARGE);
        members_remove(&n->members[0], &gone, 1, MEMBER_EV_LOSE);
        if (rows[i].listed)
            members_add(&n->members[0], &facts, 1);
        rml_forget(n->rml[0], 1);
        assert_int_equal(rml_stats(n->rml[0]).transfers.sending, rows[i].stays);
        net_free(n);
    }
}

static void a_daemon_that_is_no_neighbour_any_more_and_has_no_link_holds_no_memory(void **state)
{
    struct net *n = net_new();
    struct msg_target gone = {1, {INC, 11}};

    send_bytes(n, 3, 1, CLASS_BULK, LARGE);
    while (n->frag_bytes == 0)
        arrive(n);
    break_link(n, 1, 3);
    assert_int_equal(rml_stats(n->rml[3]).transfers.sending, 1); /* the link may come back */
    members_remove(&n->members[3], &gone, 1, MEMBER_EV_LOSE);
    rml_routes_changed(n->rml[3]);
    assert_int_equal(rml_stats(n->rml[3]).transfers.sending, 0);
    net_free(n);
}

/* Vpid 0 is the parent of vpid 3 while vpid 1 is not there. */
static void a_daemon_that_is_there_and_no_neighbour_any_more_holds_no_memory(void **state)
{
    struct net *n = net_new();
    struct msg_target gone = {1, {INC, 11}};
    struct msg_member back = {1, {INC, 21}, "host", "address", 1, 1, 0, {0}, {0}};

    members_remove(&n->members[3], &gone, 1, MEMBER_EV_LOSE);
    link_pair(n, 0, 3);
    send_bytes(n, 3, 0, CLASS_BULK, LARGE);
    while (n->frag_bytes == 0)
        arrive(n);
    break_link(n, 0, 3);
    assert_int_equal(rml_stats(n->rml[3]).transfers.sending, 1); /* the link may come back */
    members_add(&n->members[3], &back, 1);
    link_pair(n, 0, 3);
    rml_routes_changed(n->rml[3]);
    assert_int_equal(rml_stats(n->rml[3]).transfers.sending, 1); /* it has a link */
    break_link(n, 0, 3);
    rml_routes_changed(n->rml[3]);
    assert_int_equal(rml_stats(n->rml[3]).transfers.sending, 0);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_the_head_is_not_taken_from_a_child),
        cmocka_unit_test(a_message_longer_than_any_frame_is_not_taken),
        cmocka_unit_test(a_frame_that_is_not_what_its_transfer_named_is_dropped),
        cmocka_unit_test(a_count_of_frames_that_were_not_sent_changes_nothing),
        cmocka_unit_test(a_small_frame_goes_as_it_is),
        cmocka_unit_test(frames_go_as_match_rndv_or_rget_by_length_and_class),
        cmocka_unit_test(a_large_message_arrives_whole_over_a_relay),
        cmocka_unit_test(a_message_over_the_limit_is_refused_and_takes_no_number),
        cmocka_unit_test(a_message_of_70_mib_arrives_whole_over_a_relay),
        cmocka_unit_test(a_message_longer_than_the_backlog_waits_alone),
        cmocka_unit_test(the_bytes_of_a_long_message_are_no_sign_of_a_lost_peer),
        cmocka_unit_test(a_long_message_in_flight_has_longer_until_it_is_sent_again),
        cmocka_unit_test(a_small_message_passes_a_large_one),
        cmocka_unit_test(a_link_that_breaks_costs_only_the_fragments_that_were_on_it),
        cmocka_unit_test(in_a_new_session_a_transfer_sends_again_what_was_on_its_way),
        cmocka_unit_test(a_large_message_survives_links_that_break_again_and_again),
        cmocka_unit_test(frames_wait_at_their_source_while_a_neighbour_has_enough),
        cmocka_unit_test(content_goes_as_bulk_and_the_rest_as_control),
        cmocka_unit_test(a_frame_of_the_direct_length_goes_as_it_is_and_a_longer_one_does_not),
        cmocka_unit_test(a_neighbour_has_enough_beyond_the_limit_and_not_at_it),
        cmocka_unit_test(at_most_8_fragments_are_on_a_link),
        cmocka_unit_test(the_end_of_one_neighbour_leaves_the_transfers_with_others),
        cmocka_unit_test(a_daemon_in_its_next_epoch_has_transfers_of_its_own),
        cmocka_unit_test(the_transfers_of_a_daemon_end_with_its_epoch),
        cmocka_unit_test(the_transfers_of_the_next_epoch_stay_when_the_one_before_ends),
        cmocka_unit_test(a_daemon_that_is_no_neighbour_any_more_and_has_no_link_holds_no_memory),
        cmocka_unit_test(a_daemon_that_is_there_and_no_neighbour_any_more_holds_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
