/* SPDX-License-Identifier: BSD-3-Clause */
/* When a message is sent again or acknowledged, and the limits of a stream to the byte. */
#include "dvm/protocol/rml/test/rml_net.h"

/* Bytes of a message with a content of `len` that are no content. */
static size_t overhead(struct net *n, const char *content, size_t len)
{
    size_t bytes;

    say(n, 3, 1, CLASS_BULK, content, len);
    bytes = rml_backlog(n->d[3].rml, 1, CLASS_BULK);
    rml_forget(n->d[3].rml, 1);
    lose_all(n);
    return bytes - len;
}

static void new_session(struct net *n, uint32_t at, uint32_t with)
{
    neighbours_drop(n->d[at].neighbours,
                    neighbours_up(n->d[at].neighbours, &n->d[at].members, with));
    neighbour_up(&n->d[at], with);
    rml_routes_changed(n->d[at].rml);
}

static void after_a_change_of_its_route_a_message_is_sent_again_after_250_and_500_ms(void **state)
{
    static const uint64_t pauses[] = {250, 500, 1000, 2000, 4000, 8000, 8000};
    struct net *n = net_new();

    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    lose_all(n);
    new_session(n, 0, 1);
    for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
        lose_all(n);
        assert_int_equal(rml_deadline(n->d[0].rml), n->d[0].out.now_ms + pauses[i]);
        tick(n, pauses[i]);
        assert_int_equal(n->nway, 1);
    }
    net_free(n);
}

/* 16 MiB are not long yet. A long message that goes again takes its time again. */
static void
more_than_16_mib_in_flight_wait_as_long_as_at_first_after_a_change_of_their_route(void **state)
{
    static char data[RML_RESEND_BYTES];
    static const struct {
        size_t more;
        uint64_t ms;
    } rows[] = {{0, 250}, {1, 2000}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct net *n = net_new();
        size_t len = sizeof(data) - overhead(n, data, 1000) + rows[i].more;

        say(n, 0, 1, CLASS_BULK, data, len);
        assert_int_equal(rml_backlog(n->d[0].rml, 1, CLASS_BULK), sizeof(data) + rows[i].more);
        new_session(n, 0, 1);
        assert_int_equal(rml_deadline(n->d[0].rml), 1000 + rows[i].ms);
        net_free(n);
    }
}

/* The times double when more than 16, 32 and 64 MiB are in flight, not from there on. */
static void the_time_doubles_beyond_a_length_not_at_it(void **state)
{
    static char data[4 * (size_t)RML_RESEND_BYTES];

    for (size_t i = 0; i < 3; i++) {
        for (size_t more = 0; more < 2; more++) {
            struct net *n = net_new();
            size_t bytes = ((size_t)RML_RESEND_BYTES << i) + more;

            say(n, 0, 1, CLASS_BULK, data, bytes - overhead(n, data, 1000));
            assert_int_equal(rml_backlog(n->d[0].rml, 1, CLASS_BULK), bytes);
            assert_int_equal(rml_deadline(n->d[0].rml), 1000 + ((1000u << i) << more));
            net_free(n);
        }
    }
}

static void a_long_message_is_never_sent_again_sooner_than_at_first(void **state)
{
    static char data[4 * (size_t)RML_RESEND_BYTES];
    struct net *n = net_new();

    say(n, 0, 1, CLASS_BULK, data, sizeof(data));
    for (int i = 0; i < 3; i++) {
        lose_all(n);
        assert_int_equal(rml_deadline(n->d[0].rml), n->d[0].out.now_ms + 8000);
        tick(n, 8000);
        assert_int_equal(n->nway, 1);
    }
    net_free(n);
}

static void progress_of_a_stream_moves_its_own_time_only(void **state)
{
    struct net *n = net_new();

    say(n, 0, 1, CLASS_CONTROL, "a", 1);
    say(n, 0, 1, CLASS_CONTROL, "b", 1);
    say(n, 0, 1, CLASS_LAUNCH, "c", 1);
    collect(n);
    arrive(n, 1, true);
    arrive(n, 1, true);
    run(n);
    tick(n, RML_ACK_DELAY_MS);
    run(n); /* a is acknowledged */
    assert_true(rml_arrived(n->d[0].rml, 1, CLASS_CONTROL, 1));
    assert_int_equal(rml_deadline(n->d[0].rml), 2000);
    tick(n, 960);
    assert_int_equal(n->nway, 1);
    assert_int_equal(rml_deadline(n->d[0].rml), 2040);
    tick(n, 40);
    assert_int_equal(n->nway, 2);
    run(n);
    assert_got(n, 1, 0, CLASS_CONTROL, "ab");
    assert_got(n, 1, 0, CLASS_LAUNCH, "c");
    tick(n, RML_ACK_DELAY_MS);
    run(n);
    assert_int_equal(rml_deadline(n->d[0].rml), UINT64_MAX);
    net_free(n);
}

/* The link has none of the frames: sent again, they would wait twice. */
static void a_message_is_not_sent_again_while_its_neighbour_has_no_link(void **state)
{
    struct net *n = net_new();

    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    lose_all(n);
    neighbours_up(n->d[0].neighbours, &n->d[0].members, 1)->state = NEIGHBOUR_CUT;
    tick(n, 1000);
    assert_int_equal(n->nway, 0);
    assert_int_equal(rml_deadline(n->d[0].rml), 2000 + 2000);
    net_free(n);
}

static void say_end(struct net *n, enum out_class traffic)
{
    struct msg end = {.type = MSG_IOF_END, .iof_end = {.nspace = "job"}};

    assert_int_equal(rml_send(n->d[0].rml, 1, traffic, &end, NULL), 0);
}

static void an_acknowledgement_at_once_is_due_before_those_that_may_wait(void **state)
{
    for (int first = 0; first < 2; first++) {
        struct net *n = net_new();

        if (first)
            say_end(n, CLASS_BULK);
        say(n, 0, 1, CLASS_CONTROL, "x", 1);
        say(n, 0, 1, CLASS_LAUNCH, "x", 1);
        if (!first)
            say_end(n, CLASS_BULK);
        run(n);
        assert_int_equal(rml_deadline(n->d[1].rml), 1000);
        tick(n, 0);
        assert_int_equal(n->nway, 1);
        assert_int_equal(rml_deadline(n->d[1].rml), 1000 + RML_ACK_DELAY_MS);
        tick(n, RML_ACK_DELAY_MS);
        assert_int_equal(n->nway, 3);
        assert_int_equal(rml_deadline(n->d[1].rml), UINT64_MAX);
        net_free(n);
    }
}

static void an_acknowledgement_that_may_wait_is_sent_once_when_it_becomes_due_at_once(void **state)
{
    struct net *n = net_new();

    say(n, 0, 1, CLASS_BULK, "x", 1);
    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    say_end(n, CLASS_BULK);
    run(n);
    tick(n, 0);
    assert_int_equal(n->nway, 1);
    tick(n, RML_ACK_DELAY_MS);
    assert_int_equal(n->nway, 2);
    assert_int_equal(rml_deadline(n->d[1].rml), UINT64_MAX);
    net_free(n);
}

/* Also after an acknowledgement by itself, or in the header of an answer: the count begins anew. */
static void a_quarter_of_the_window_is_acknowledged_at_once_and_a_byte_less_is_not(void **state)
{
    static const char data[RML_WINDOW_BYTES / 4];

    for (int before = 0; before < 3; before++) {
        for (size_t less = 0; less < 2; less++) {
            struct net *n = net_new();
            size_t len = sizeof(data) - overhead(n, data, 1000) - less;

            if (before)
                say(n, 0, 1, CLASS_BULK, "x", 1);
            run(n);
            if (before == 1)
                tick(n, RML_ACK_DELAY_MS);
            if (before == 2)
                say(n, 1, 0, CLASS_BULK, "y", 1);
            run(n);
            say(n, 0, 1, CLASS_BULK, data, len);
            run(n);
            assert_int_equal(rml_deadline(n->d[1].rml),
                             n->d[1].out.now_ms + (less ? RML_ACK_DELAY_MS : 0));
            net_free(n);
        }
    }
}

static void a_window_has_room_for_its_last_byte_and_for_no_more(void **state)
{
    static const char data[RML_WINDOW_BYTES / 2];

    for (size_t more = 0; more < 2; more++) {
        struct net *n = net_new();
        size_t len = sizeof(data) - overhead(n, data, 1000);

        say(n, 0, 1, CLASS_BULK, data, len);
        say(n, 0, 1, CLASS_BULK, data, len + more);
        collect(n);
        assert_int_equal(n->nway, more ? 1 : 2);
        net_free(n);
    }
}

/* A sender keeps to its window; this one does not. */
static void early_frames_fill_a_window_to_its_last_byte(void **state)
{
    static const char data[RML_WINDOW_BYTES / 2];
    struct frame first = {
        .src = 0, .dst = 1, .traffic = CLASS_BULK, .src_epoch = {INC, 10}, .version = 7, .seq = 1};

    for (size_t more = 0; more < 2; more++) {
        struct net *n = net_new();
        size_t len = sizeof(data) - overhead(n, data, 1000);
        struct msg m = {.type = MSG_APP, .app = {.data = (const uint8_t *)data}};

        for (uint64_t seq = 2; seq <= 3; seq++) {
            m.app.len = len + (seq == 3 ? more : 0);
            forge_msg(n,
                      (struct frame){.src = 0,
                                     .dst = 1,
                                     .traffic = CLASS_BULK,
                                     .src_epoch = {INC, 10},
                                     .version = 7,
                                     .seq = seq},
                      &m);
        }
        m.app.len = 1;
        forge_msg(n, first, &m);
        assert_int_equal(n->d[1].got[CLASS_BULK].len, more ? 2 : 3);
        net_free(n);
    }
}

static void frames_of_a_later_version_wait_up_to_the_last_byte(void **state)
{
    static const char big[RML_DEFER_BYTES / 2];

    for (size_t more = 0; more < 2; more++) {
        struct net *n = net_new();
        size_t len = sizeof(big) - overhead(n, big, 1000);

        n->d[0].members.version = 8;
        say(n, 0, 1, CLASS_MODEX, big, len);
        run(n);
        say(n, 0, 1, CLASS_BULK, big, len + more);
        run(n);
        assert_int_equal(rml_stats(n->d[1].rml).ndeferred, more ? 1 : 2);
        net_free(n);
    }
}

static void what_is_owed_to_a_peer_ends_with_its_epoch(void **state)
{
    struct net *n = net_new();

    say(n, 0, 1, CLASS_LAUNCH, "x", 1);
    run(n);
    assert_int_equal(rml_deadline(n->d[1].rml), 1000 + RML_ACK_DELAY_MS);
    rml_forget(n->d[1].rml, 0);
    assert_int_equal(rml_deadline(n->d[1].rml), UINT64_MAX);
    tick(n, RML_ACK_DELAY_MS);
    assert_int_equal(n->nway, 0);
    net_free(n);
}

static void note_frame(void *arg, const uint8_t *data, size_t len)
{
    struct buf *seen = arg;
    struct cur c = cur_of(data, len);
    struct frame f;

    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    buf_put_u8(seen, (uint8_t)f.seq);
}

static void messages_that_are_not_acknowledged_are_given_in_their_order(void **state)
{
    struct net *n = net_new();
    BUF_AUTO struct buf seen = {0};

    buf_init(&seen, 16);
    for (int i = 0; i < 3; i++)
        say(n, 0, 1, CLASS_LAUNCH, "x", 1);
    rml_each_unacked(n->d[0].rml, 1, CLASS_LAUNCH, note_frame, &seen);
    assert_int_equal(seen.len, 3);
    assert_memory_equal(seen.data, "\1\2\3", 3);
    rml_each_unacked(n->d[0].rml, 3, CLASS_LAUNCH, note_frame, &seen);
    assert_int_equal(seen.len, 3);
    net_free(n);
}

static void the_number_of_the_last_message_taken_is_known(void **state)
{
    struct net *n = net_new();

    assert_int_equal(rml_taken(n->d[1].rml, 0, CLASS_LAUNCH), 0);
    say(n, 0, 1, CLASS_LAUNCH, "x", 1);
    say(n, 0, 1, CLASS_LAUNCH, "y", 1);
    run(n);
    assert_int_equal(rml_taken(n->d[1].rml, 0, CLASS_LAUNCH), 2);
    assert_int_equal(rml_taken(n->d[1].rml, 0, CLASS_BULK), 0);
    net_free(n);
}

static void a_daemon_has_a_next_message_until_it_has_taken_all(void **state)
{
    struct net *n = net_new();

    assert_false(rml_has_next(n->d[2].rml));
    say(n, 2, 2, CLASS_MODEX, "me", 2);
    assert_true(rml_has_next(n->d[2].rml));
    take_in(&n->d[2]);
    assert_false(rml_has_next(n->d[2].rml));
    net_free(n);
}

/* The neighbour has 256 MiB that are not acknowledged. */
static void an_acknowledgement_without_room_is_sent_later(void **state)
{
    FREE_AUTO char *mib = xcalloc(1, (size_t)64 << 20);
    struct net *n = net_new();
    struct neighbour *k = neighbours_up(n->d[1].neighbours, &n->d[1].members, 0);

    say(n, 0, 1, CLASS_CONTROL, "x", 1);
    run(n);
    for (int i = 0; i < 5; i++)
        (void)!neighbours_send_raw(n->d[1].neighbours, k, mib, (size_t)64 << 20);
    n->d[1].out.now_ms += RML_ACK_DELAY_MS;
    rml_tick(n->d[1].rml);
    assert_int_equal(rml_deadline(n->d[1].rml), 1000 + 2 * RML_ACK_DELAY_MS);
    net_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_change_of_its_route_a_message_is_sent_again_after_250_and_500_ms),
        cmocka_unit_test(
            more_than_16_mib_in_flight_wait_as_long_as_at_first_after_a_change_of_their_route),
        cmocka_unit_test(the_time_doubles_beyond_a_length_not_at_it),
        cmocka_unit_test(a_long_message_is_never_sent_again_sooner_than_at_first),
        cmocka_unit_test(progress_of_a_stream_moves_its_own_time_only),
        cmocka_unit_test(a_message_is_not_sent_again_while_its_neighbour_has_no_link),
        cmocka_unit_test(an_acknowledgement_at_once_is_due_before_those_that_may_wait),
        cmocka_unit_test(an_acknowledgement_that_may_wait_is_sent_once_when_it_becomes_due_at_once),
        cmocka_unit_test(a_quarter_of_the_window_is_acknowledged_at_once_and_a_byte_less_is_not),
        cmocka_unit_test(a_window_has_room_for_its_last_byte_and_for_no_more),
        cmocka_unit_test(early_frames_fill_a_window_to_its_last_byte),
        cmocka_unit_test(frames_of_a_later_version_wait_up_to_the_last_byte),
        cmocka_unit_test(what_is_owed_to_a_peer_ends_with_its_epoch),
        cmocka_unit_test(messages_that_are_not_acknowledged_are_given_in_their_order),
        cmocka_unit_test(the_number_of_the_last_message_taken_is_known),
        cmocka_unit_test(a_daemon_has_a_next_message_until_it_has_taken_all),
        cmocka_unit_test(an_acknowledgement_without_room_is_sent_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
