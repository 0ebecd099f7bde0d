/* SPDX-License-Identifier: BSD-3-Clause */
/* Routed messages between three daemons in a row, 0 - 1 - 3, over wires that lose, repeat and
 * reorder. */
#include "dvm/protocol/rml/test/rml_net.h"

static void a_message_without_a_receiver_is_refused_and_not_queued(void **state)
{
    struct net *n = net_new();
    struct msg_target gone = {3, {INC, 13}};
    struct msg m = {.type = MSG_ASK};
    struct err err = {0};

    members_remove(&n->d[0].members, &gone, 1, MEMBER_EV_LOSE);
    assert_int_equal(rml_send(n->d[0].rml, 3, CLASS_CONTROL, &m, &err), -1);
    assert_non_null(strstr(err.msg, "ASK to vpid 3: not a member"));
    assert_int_equal(rml_send(n->d[0].rml, 77, CLASS_CONTROL, &m, &err), -1);
    assert_int_equal(rml_sent(n->d[0].rml, 3, CLASS_CONTROL), 0);
    assert_null(n->d[0].out.head);
    net_free(n);
}

static void a_frame_of_another_epoch_is_refused_with_a_reason(void **state)
{
    static const struct frame old[] = {
        {.src = 0, .dst = 1, .src_epoch = {INC, 9}, .version = 7, .seq = 1},
        {.src = 0, .dst = 1, .src_epoch = {INC - 1, 10}, .version = 9, .seq = 1},
        {.src = 0, .dst = 1, .src_epoch = {INC, 10}, .dst_ctr = 10, .version = 7, .seq = 1},
        {.src = 9, .dst = 1, .src_epoch = {INC, 19}, .version = 7, .seq = 1},
    };
    struct net *n = net_new();

    for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++) {
        struct out_act act;

        forge(n, old[i]);
        assert_int_equal(rml_stats(n->d[1].rml).stale, i + 1);
        assert_true(out_take(&n->d[1].out, &act));
        assert_int_equal(act.kind, OUT_LOG);
        assert_non_null(strstr(act.log.text, "APP from vpid"));
        out_act_free(&act);
    }
    assert_got(n, 1, 0, CLASS_CONTROL, "");
    assert_int_equal(rml_deadline(n->d[1].rml), UINT64_MAX); /* nothing is owed to it either */
    forge(n,
          (struct frame){
              .src = 0, .dst = 1, .src_epoch = {INC, 10}, .dst_ctr = 11, .version = 7, .seq = 1});
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    net_free(n);
}

static void an_acknowledgement_of_an_unsent_message_is_refused(void **state)
{
    struct net *n = net_new();
    struct frame f = {.src = 0, .dst = 1, .src_epoch = {INC, 10}, .version = 7, .seq = 1, .ack = 2};

    say(n, 1, 0, CLASS_CONTROL, "x", 1);
    forge(n, f);
    assert_int_equal(rml_stats(n->d[1].rml).stale, 1);
    assert_got(n, 1, 0, CLASS_CONTROL, "");
    assert_false(rml_arrived(n->d[1].rml, 0, CLASS_CONTROL, 1));
    f.ack = 1;
    forge(n, f);
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    assert_true(rml_arrived(n->d[1].rml, 0, CLASS_CONTROL, 1));
    net_free(n);
}

static void a_repeated_frame_is_dropped(void **state)
{
    struct net *n = net_new();
    struct frame f = {.src = 0, .dst = 1, .src_epoch = {INC, 10}, .version = 7, .seq = 1};

    forge(n, f);
    forge(n, f);
    f.seq = 3;
    forge(n, f);
    forge(n, f);
    f.seq = 0;
    forge(n, f);
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    f.seq = 2;
    forge(n, f);
    assert_got(n, 1, 0, CLASS_CONTROL, "xxx");
    net_free(n);
}

static void frames_that_came_too_early_are_dropped_at_the_limit_and_come_again(void **state)
{
    struct net *n = net_new();

    for (int i = 0; i < RML_REORDER_MAX + 10; i++)
        say(n, 0, 1, CLASS_CONTROL, "x", 1);
    collect(n);
    arrive(n, 0, true); /* the first is lost */
    run(n);
    assert_got(n, 1, 0, CLASS_CONTROL, "");
    tick(n, RML_RESEND_MS);
    arrive(n, 0, false);
    assert_int_equal(n->d[1].got[CLASS_CONTROL].len, RML_REORDER_MAX + 1);
    run(n);
    assert_int_equal(n->d[1].got[CLASS_CONTROL].len, RML_REORDER_MAX + 10);
    net_free(n);
}

static void messages_arrive_once_and_in_order_whatever_the_wires_do(void **state)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct net *n = net_new();
        unsigned rng = seed;
        char want[41] = "";

        for (int i = 0; i < 40; i++) {
            char c = (char)('A' + i);

            want[i] = c;
            say(n, 0, 3, CLASS_LAUNCH, &c, 1);
            say(n, 3, 0, CLASS_LAUNCH, &c, 1);
        }
        want[40] = '\0';
        for (int step = 0; step < 4000; step++) {
            unsigned dice = (unsigned)rand_r(&rng);

            if (n->nway == 0 || dice % 50 == 0)
                tick(n, RML_ACK_DELAY_MS);
            if (n->nway)
                arrive(n, (unsigned)rand_r(&rng) % n->nway, dice % 4 == 0);
        }
        assert_got(n, 3, 0, CLASS_LAUNCH, want);
        assert_got(n, 0, 3, CLASS_LAUNCH, want);
        assert_true(rml_arrived(n->d[0].rml, 3, CLASS_LAUNCH, 40));
        assert_int_equal(rml_backlog(n->d[0].rml, 3, CLASS_LAUNCH), 0);
        net_free(n);
    }
}

static void one_window_is_in_flight_and_the_rest_follows_its_acknowledgement(void **state)
{
    struct net *n = net_new();
    size_t len = RML_WINDOW_BYTES / 4;
    FREE_AUTO char *data = xcalloc(1, len);

    for (int i = 0; i < 8; i++)
        say(n, 0, 1, CLASS_BULK, data, len);
    collect(n);
    assert_int_equal(n->nway, 3); /* with their headers, four are more than the window */
    assert_true(rml_backlog(n->d[0].rml, 1, CLASS_BULK) > 8 * len);
    assert_false(rml_arrived(n->d[0].rml, 1, CLASS_BULK, 1));
    run(n);
    assert_int_equal(n->d[1].got[CLASS_BULK].len, 3);
    tick(n, RML_ACK_DELAY_MS);
    run(n);
    assert_int_equal(n->d[1].got[CLASS_BULK].len, 6);
    assert_true(rml_arrived(n->d[0].rml, 1, CLASS_BULK, 3));
    assert_false(rml_arrived(n->d[0].rml, 1, CLASS_BULK, 4));
    net_free(n);
}

static void a_message_larger_than_the_window_goes_alone(void **state)
{
    struct net *n = net_new();
    FREE_AUTO char *data = xcalloc(1, RML_WINDOW_BYTES + 1);

    say(n, 0, 1, CLASS_BULK, data, RML_WINDOW_BYTES + 1);
    say(n, 0, 1, CLASS_BULK, data, RML_WINDOW_BYTES + 1);
    collect(n);
    assert_int_equal(n->nway, 1);
    run(n);
    tick(n, RML_ACK_DELAY_MS);
    run(n);
    assert_int_equal(n->d[1].got[CLASS_BULK].len, 2);
    net_free(n);
}

static void classes_do_not_wait_for_each_other(void **state)
{
    struct net *n = net_new();
    FREE_AUTO char *data = xcalloc(1, RML_WINDOW_BYTES);

    for (int i = 0; i < 4; i++)
        say(n, 0, 1, CLASS_BULK, data, RML_WINDOW_BYTES);
    lose_all(n);
    for (unsigned traffic = CLASS_CONTROL; traffic < CLASS_BULK; traffic++)
        say(n, 0, 1, traffic, "x", 1);
    run(n);
    for (unsigned traffic = CLASS_CONTROL; traffic < CLASS_BULK; traffic++)
        assert_got(n, 1, 0, traffic, "x");
    assert_got(n, 1, 0, CLASS_BULK, "");
    net_free(n);
}

static void an_acknowledgement_rides_on_an_answer_or_follows_after_a_while(void **state)
{
    struct net *n = net_new();

    say(n, 0, 1, CLASS_LAUNCH, "a", 1);
    run(n);
    say(n, 1, 0, CLASS_LAUNCH, "b", 1);
    run(n);
    assert_true(rml_arrived(n->d[0].rml, 1, CLASS_LAUNCH, 1)); /* it was in the header of b */
    assert_false(rml_arrived(n->d[1].rml, 0, CLASS_LAUNCH, 1));
    assert_int_equal(rml_deadline(n->d[0].rml), 1000 + RML_ACK_DELAY_MS);
    tick(n, RML_ACK_DELAY_MS - 1);
    assert_int_equal(n->nway, 0);
    tick(n, 1);
    assert_int_equal(n->nway, 1);
    run(n);
    assert_true(rml_arrived(n->d[1].rml, 0, CLASS_LAUNCH, 1));
    assert_int_equal(rml_deadline(n->d[0].rml), UINT64_MAX);
    net_free(n);
}

static void without_progress_a_message_is_sent_again_after_1_s_doubling_to_8_s(void **state)
{
    static const uint64_t pauses[] = {1, 2, 4, 8, 8, 8};
    struct net *n = net_new();

    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
        lose_all(n);
        tick(n, pauses[i] * RML_RESEND_MS - 1);
        assert_int_equal(n->nway, 0);
        tick(n, 1);
        assert_int_equal(n->nway, 1);
    }
    run(n);
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    tick(n, RML_ACK_DELAY_MS);
    run(n);
    say(n, 0, 1, CLASS_CONTROL, "y", 1); /* progress: from 1 s again */
    lose_all(n);
    tick(n, RML_RESEND_MS);
    assert_int_equal(n->nway, 1);
    net_free(n);
}

static void a_lost_message_is_sent_again_at_once_in_another_session_with_the_next_hop(void **state)
{
    struct net *n = net_new();

    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    lose_all(n);
    neighbours_drop(n->d[0].neighbours, neighbours_up(n->d[0].neighbours, &n->d[0].members, 1));
    neighbour_up(&n->d[0], 1);
    rml_routes_changed(n->d[0].rml);
    run(n);
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    net_free(n);
}

static void
a_lost_message_is_sent_again_at_once_when_a_relay_on_its_way_is_another_one(void **state)
{
    struct net *n = net_new();
    struct msg_member again = facts_of(1, 99);

    say(n, 0, 3, CLASS_CONTROL, "x", 1);
    lose_all(n);
    members_add(&n->d[0].members, &again, 1);
    neighbours_by_conn(n->d[0].neighbours, conn_of(1), NULL)->epoch = again.epoch;
    rml_routes_changed(n->d[0].rml);
    collect(n);
    assert_int_equal(n->nway, 1);
    net_free(n);
}

static void no_message_is_sent_again_while_its_route_is_the_same(void **state)
{
    struct net *n = net_new();

    say(n, 0, 3, CLASS_CONTROL, "x", 1);
    collect(n);
    assert_int_equal(n->nway, 1);
    rml_routes_changed(n->d[0].rml);
    collect(n);
    assert_int_equal(n->nway, 1);
    net_free(n);
}

static void without_a_link_a_message_waits_for_one(void **state)
{
    struct net *n = net_new();

    neighbours_drop(n->d[0].neighbours, neighbours_up(n->d[0].neighbours, &n->d[0].members, 1));
    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    collect(n);
    assert_int_equal(n->nway, 0);
    assert_int_equal(rml_sent(n->d[0].rml, 1, CLASS_CONTROL), 1);
    neighbour_up(&n->d[0], 1);
    rml_routes_changed(n->d[0].rml);
    run(n);
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    net_free(n);
}

/* An acknowledgement that cannot be sent is repeated with the next message. */
static void a_receiver_without_a_link_acknowledges_later(void **state)
{
    struct net *n = net_new();

    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    run(n);
    neighbours_drop(n->d[1].neighbours, neighbours_up(n->d[1].neighbours, &n->d[1].members, 0));
    tick(n, RML_ACK_DELAY_MS);
    assert_int_equal(n->nway, 0);
    neighbour_up(&n->d[1], 0);
    tick(n, RML_RESEND_MS);
    run(n);
    tick(n, RML_ACK_DELAY_MS);
    run(n);
    assert_true(rml_arrived(n->d[0].rml, 1, CLASS_CONTROL, 1));
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    net_free(n);
}

static void a_relay_passes_frames_on_and_keeps_no_state(void **state)
{
    struct net *n = net_new();

    say(n, 0, 3, CLASS_CONTROL, "x", 1);
    collect(n);
    assert_int_equal(n->way[0].to, 1);
    arrive(n, 0, false);
    assert_int_equal(n->way[0].from, 1);
    assert_int_equal(n->way[0].to, 3);
    assert_int_equal(rml_stats(n->d[1].rml).nstreams, 0);
    neighbours_drop(n->d[1].neighbours, neighbours_up(n->d[1].neighbours, &n->d[1].members, 3));
    run(n);
    say(n, 0, 3, CLASS_CONTROL, "y", 1);
    run(n); /* lost at the relay */
    neighbour_up(&n->d[1], 3);
    tick(n, RML_RESEND_MS);
    run(n);
    assert_got(n, 3, 0, CLASS_CONTROL, "xy");
    net_free(n);
}

static void a_frame_that_runs_in_a_circle_ends_and_its_message_comes_again(void **state)
{
    struct net *n = net_new();

    n->d[1].members.radix = 64; /* in its tree the way to 3 leads back to the head */
    say(n, 0, 3, CLASS_CONTROL, "x", 1);
    run(n);
    assert_int_equal(n->sent, 1 + FRAME_HOPS_MAX);
    assert_int_equal(rml_stats(n->d[0].rml).circled + rml_stats(n->d[1].rml).circled, 1);
    assert_got(n, 3, 0, CLASS_CONTROL, "");
    n->d[1].members.radix = 2;
    tick(n, RML_RESEND_MS);
    run(n);
    assert_got(n, 3, 0, CLASS_CONTROL, "x");
    net_free(n);
}

static void a_message_to_oneself_needs_no_link(void **state)
{
    struct net *n = net_new();

    say(n, 2, 2, CLASS_MODEX, "me", 2);
    take_in(&n->d[2]);
    assert_got(n, 2, 2, CLASS_MODEX, "me");
    assert_null(n->d[2].out.head);
    net_free(n);
}

static void a_message_of_a_newer_version_waits_until_the_receiver_has_caught_up(void **state)
{
    struct net *n = net_new();

    n->d[0].members.version = 9;
    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    run(n);
    assert_got(n, 1, 0, CLASS_CONTROL, "");
    n->d[1].members.version = 8;
    rml_routes_changed(n->d[1].rml);
    take_in(&n->d[1]);
    assert_got(n, 1, 0, CLASS_CONTROL, "");
    n->d[1].members.version = 9;
    rml_routes_changed(n->d[1].rml);
    take_in(&n->d[1]);
    assert_got(n, 1, 0, CLASS_CONTROL, "x");
    assert_int_equal(rml_stats(n->d[1].rml).ndeferred, 0);
    net_free(n);
}

static void messages_that_wait_for_a_version_are_bounded_and_the_rest_is_sent_again(void **state)
{
    struct net *n = net_new();

    n->d[0].members.version = 8;
    for (int i = 0; i < RML_DEFER_MAX + 5; i++)
        say(n, 0, 1, CLASS_CONTROL, "x", 1);
    run(n);
    assert_int_equal(rml_stats(n->d[1].rml).ndeferred, RML_DEFER_MAX);
    n->d[1].members.version = 8;
    rml_routes_changed(n->d[1].rml);
    take_in(&n->d[1]);
    tick(n, RML_RESEND_MS);
    run(n);
    assert_int_equal(n->d[1].got[CLASS_CONTROL].len, RML_DEFER_MAX + 5);
    net_free(n);
}

static void the_bytes_that_wait_for_a_version_are_bounded_too(void **state)
{
    static const char big[RML_DEFER_BYTES / 2];
    struct net *n = net_new();

    n->d[0].members.version = 8;
    say(n, 0, 1, CLASS_MODEX, big, sizeof(big));
    run(n);
    say(n, 0, 1, CLASS_BULK, big, sizeof(big));
    run(n);
    assert_int_equal(rml_stats(n->d[1].rml).ndeferred,
                     1); /* with its header the other is too much */
    n->d[1].members.version = 8;
    rml_routes_changed(n->d[1].rml);
    assert_int_equal(rml_stats(n->d[1].rml).deferred_bytes, 0);
    tick(n, RML_ACK_DELAY_MS);
    run(n);
    tick(n, 4ull * RML_RESEND_MS); /* it is long */
    collect(n);
    assert_int_equal(n->nway, 1); /* it comes again */
    assert_true(n->way[0].bytes.len > sizeof(big));
    net_free(n);
}

static struct rml *limited_rml(struct daemon *d, size_t backlog_max)
{
    rml_destroy(d->rml);
    d->rml = rml_create(&d->out, &d->members, d->neighbours, backlog_max);
    rml_set_epoch(d->rml, (struct epoch){INC, 10});
    return d->rml;
}

static void a_message_without_room_is_refused_or_its_peer_is_declared_lost(void **state)
{
    struct net *n = net_new();
    struct rml *r = limited_rml(&n->d[0], 4096);
    struct msg_target who;
    size_t limit;
    struct msg app = {.type = MSG_APP, .app = {.data = (const uint8_t *)"x", .len = 1}};
    struct msg kill = {.type = MSG_KILL, .kill = {.nspace = "job", .signum = 15}};
    struct err err = {0};
    size_t before;

    while (rml_send(r, 1, CLASS_LAUNCH, &app, &err) == 0)
        assert_true(rml_backlog(r, 1, CLASS_LAUNCH) <= 4096);
    before = rml_sent(r, 1, CLASS_LAUNCH);
    assert_int_equal(rml_send(r, 1, CLASS_BULK, &app, &err), 0); /* another stream */
    assert_int_equal(rml_send(r, 1, CLASS_LAUNCH, &kill, &err), 0);
    assert_false(rml_behind(r, &who, &limit));
    while (rml_send(r, 1, CLASS_LAUNCH, &kill, &err) == 0)
        assert_true(rml_backlog(r, 1, CLASS_LAUNCH) <= 8192);
    assert_true(rml_sent(r, 1, CLASS_LAUNCH) > before);
    assert_true(rml_behind(r, &who, &limit));
    assert_int_equal(who.vpid, 1);
    assert_int_equal(limit, 8192);
    assert_false(rml_behind(r, &who, &limit)); /* once */
    run(n);                                    /* all is acknowledged */
    tick(n, RML_ACK_DELAY_MS);
    run(n);
    assert_int_equal(rml_waiting(r), 0);
    assert_int_equal(rml_send(r, 1, CLASS_LAUNCH, &app, &err), 0);
    net_free(n);
}

static void of_a_collective_only_contributions_are_refused(void **state)
{
    struct net *n = net_new();
    struct rml *r = limited_rml(&n->d[0], 4096);
    struct msg_gather g = {.sig = (const uint8_t *)"s", .siglen = 1};
    struct msg up = {.type = MSG_GATHER_UP, .gather_up = g};
    struct msg down = {.type = MSG_GATHER_DOWN, .gather_down = g};
    struct err err = {0};

    while (rml_send(r, 1, CLASS_MODEX, &up, &err) == 0)
        assert_true(rml_backlog(r, 1, CLASS_MODEX) <= 4096);
    assert_int_equal(rml_send(r, 1, CLASS_MODEX, &down, &err), 0);
    up.gather_up.outcome = GATHER_LOST;
    assert_int_equal(rml_send(r, 1, CLASS_MODEX, &up, &err), 0);
    up.gather_up.outcome = GATHER_OK;
    assert_int_equal(rml_send(r, 1, CLASS_MODEX, &up, &err), -1);
    net_free(n);
}

static void the_streams_of_an_epoch_end_with_it(void **state)
{
    struct net *n = net_new();
    struct msg_member again = facts_of(1, 99);

    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    say(n, 0, 1, CLASS_BULK, "x", 1);
    lose_all(n);
    rml_forget(n->d[0].rml, 1);
    assert_int_equal(rml_backlog(n->d[0].rml, 1, CLASS_CONTROL), 0);
    assert_true(rml_arrived(n->d[0].rml, 1, CLASS_BULK, 1)); /* or will never */
    assert_int_equal(rml_deadline(n->d[0].rml), UINT64_MAX);
    members_add(&n->d[0].members, &again, 1);
    members_add(&n->d[1].members, &again, 1);
    rml_set_epoch(n->d[1].rml, again.epoch);
    say(n, 0, 1, CLASS_CONTROL, "y", 1);
    collect(n);
    assert_int_equal(n->nway, 0); /* the existing link is one to the earlier epoch */
    neighbours_by_conn(n->d[0].neighbours, conn_of(1), NULL)->epoch = again.epoch;
    rml_routes_changed(n->d[0].rml);
    run(n);
    assert_int_equal(rml_sent(n->d[0].rml, 1, CLASS_CONTROL), 1);
    assert_got(n, 1, 0, CLASS_CONTROL, "y");
    net_free(n);
}

static void an_acknowledgement_is_sent_at_once_for_much_or_for_the_end_of_output(void **state)
{
    static char much[RML_WINDOW_BYTES / 4];
    static const struct {
        uint32_t from, to;
        size_t len; /* 0: the end of a job's output */
        unsigned times;
        bool at_once;
    } rows[] = {{0, 1, sizeof(much), 1, true},
                {0, 1, sizeof(much) / 4, 3, false},
                {0, 1, sizeof(much) / 4, 4, true},
                {0, 1, 0, 1, true},
                {1, 0, 0, 1, false}}; /* the head keeps that order itself */
    struct msg end = {.type = MSG_IOF_END, .iof_end = {.nspace = "job"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct net *n = net_new();

        for (unsigned k = 0; k < rows[i].times && rows[i].len; k++)
            say(n, rows[i].from, rows[i].to, CLASS_BULK, much, rows[i].len);
        if (!rows[i].len)
            assert_int_equal(rml_send(n->d[rows[i].from].rml, rows[i].to, CLASS_BULK, &end, NULL),
                             0);
        run(n);
        assert_int_equal(rml_deadline(n->d[rows[i].to].rml),
                         1000 + (rows[i].at_once ? 0 : RML_ACK_DELAY_MS));
        net_free(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_without_a_receiver_is_refused_and_not_queued),
        cmocka_unit_test(a_frame_of_another_epoch_is_refused_with_a_reason),
        cmocka_unit_test(an_acknowledgement_of_an_unsent_message_is_refused),
        cmocka_unit_test(a_repeated_frame_is_dropped),
        cmocka_unit_test(frames_that_came_too_early_are_dropped_at_the_limit_and_come_again),
        cmocka_unit_test(messages_arrive_once_and_in_order_whatever_the_wires_do),
        cmocka_unit_test(one_window_is_in_flight_and_the_rest_follows_its_acknowledgement),
        cmocka_unit_test(a_message_larger_than_the_window_goes_alone),
        cmocka_unit_test(classes_do_not_wait_for_each_other),
        cmocka_unit_test(an_acknowledgement_rides_on_an_answer_or_follows_after_a_while),
        cmocka_unit_test(an_acknowledgement_is_sent_at_once_for_much_or_for_the_end_of_output),
        cmocka_unit_test(without_progress_a_message_is_sent_again_after_1_s_doubling_to_8_s),
        cmocka_unit_test(a_lost_message_is_sent_again_at_once_in_another_session_with_the_next_hop),
        cmocka_unit_test(
            a_lost_message_is_sent_again_at_once_when_a_relay_on_its_way_is_another_one),
        cmocka_unit_test(no_message_is_sent_again_while_its_route_is_the_same),
        cmocka_unit_test(without_a_link_a_message_waits_for_one),
        cmocka_unit_test(a_receiver_without_a_link_acknowledges_later),
        cmocka_unit_test(a_relay_passes_frames_on_and_keeps_no_state),
        cmocka_unit_test(a_frame_that_runs_in_a_circle_ends_and_its_message_comes_again),
        cmocka_unit_test(a_message_to_oneself_needs_no_link),
        cmocka_unit_test(a_message_of_a_newer_version_waits_until_the_receiver_has_caught_up),
        cmocka_unit_test(messages_that_wait_for_a_version_are_bounded_and_the_rest_is_sent_again),
        cmocka_unit_test(the_bytes_that_wait_for_a_version_are_bounded_too),
        cmocka_unit_test(a_message_without_room_is_refused_or_its_peer_is_declared_lost),
        cmocka_unit_test(of_a_collective_only_contributions_are_refused),
        cmocka_unit_test(the_streams_of_an_epoch_end_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
