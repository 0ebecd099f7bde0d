/* SPDX-License-Identifier: BSD-3-Clause */
/* One peer: its limits to the byte, and when its links are asked, compared and used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/peer/peer.h"

#include <stdlib.h>
#include <string.h>

struct one {
    struct out out;
    struct peer *peer;
    struct peer_link *link[3]; /* up, with the connections 1, 2 and 3 */
};

static struct one *open_peer(size_t links)
{
    struct one *o = xcalloc(1, sizeof(*o));

    o->out.now_ms = 1000;
    o->peer = peer_create(&o->out);
    peer_begin(o->peer, 7);
    for (size_t i = 0; i < links; i++) {
        o->link[i] = peer_link_add(o->peer, i + 1, PEER_LINK_GREETING);
        assert_int_equal(peer_link_greeted(o->peer, o->link[i], 0, false), 0);
    }
    return o;
}

static void close_peer(struct one *o)
{
    peer_destroy(o->peer);
    out_free(&o->out);
    free(o);
}

/* A frame of `len` bytes with its header. */
static void send_bytes(struct one *o, size_t len)
{
    FREE_AUTO uint8_t *data = xcalloc(1, len);
    struct frame f = {.type = 1, .traffic = CLASS_BULK, .dst = 1};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, FRAME_HEADER_BYTES);
    frame_encode(&b, &f);
    memcpy(data, b.data, b.len);
    peer_send(o->peer, data, len);
}

/* How many frames have gone out since the last time, and the last one's header and connection. */
static size_t take_sent(struct one *o, struct frame *last, uint64_t *conn)
{
    struct out_act act;
    size_t n = 0;

    for (; out_take(&o->out, &act); n++) {
        struct cur c = cur_of(act.send.frame.data, act.send.frame.len);

        assert_int_equal(act.kind, OUT_SEND);
        assert_int_equal(frame_decode(&c, last, NULL), 0);
        *conn = act.send.conn;
        out_act_free(&act);
    }
    return n;
}

static size_t count_sent(struct one *o)
{
    struct frame f;
    uint64_t conn;

    return take_sent(o, &f, &conn);
}

static enum peer_taken take(struct one *o, size_t link, uint64_t seq, size_t len)
{
    static const uint8_t data[PEER_ACK_BYTES];
    struct frame f = {.hop_seq = seq};

    return peer_take(o->peer, o->link[link], &f, data, len);
}

static void take_ack(struct one *o, uint64_t ack)
{
    struct frame f = {.hop_ack = ack};

    assert_int_equal(peer_take(o->peer, o->link[0], &f, NULL, 0), PEER_DELIVER);
}

/* --- acknowledgements */

static void an_acknowledgement_is_due_at_once_at_its_limits_and_not_before(void **state)
{
    static const struct {
        size_t frames, bytes;
        bool at_once;
    } rows[] = {{1, PEER_ACK_BYTES, true},
                {1, PEER_ACK_BYTES - 1, false},
                {PEER_ACK_FRAMES, 100, true},
                {PEER_ACK_FRAMES - 1, 100, false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct one *o = open_peer(1);

        for (size_t n = 1; n <= rows[i].frames; n++)
            assert_int_equal(take(o, 0, n, rows[i].bytes), PEER_DELIVER);
        assert_int_equal(peer_ack_due(o->peer), rows[i].at_once);
        assert_int_equal(peer_deadline(o->peer), 1000 + (rows[i].at_once ? 0 : PEER_ACK_DELAY_MS));
        close_peer(o);
    }
}

static void a_frame_in_the_other_direction_acknowledges_all(void **state)
{
    struct one *o = open_peer(1);

    assert_int_equal(take(o, 0, 1, PEER_ACK_BYTES - 1), PEER_DELIVER);
    send_bytes(o, 100);
    o->out.now_ms += 60000;
    assert_false(peer_ack_due(o->peer));
    assert_int_equal(peer_deadline(o->peer), UINT64_MAX);
    assert_int_equal(take(o, 0, 2, PEER_ACK_BYTES - 1), PEER_DELIVER); /* the count begins anew */
    assert_false(peer_ack_due(o->peer));
    close_peer(o);
}

static void an_acknowledgement_goes_over_the_link_of_the_last_frame_if_it_is_up(void **state)
{
    struct one *o = open_peer(3);

    o->link[0]->delay_ms = 30;
    o->link[1]->delay_ms = 10;
    o->link[2]->delay_ms = 20;
    assert_ptr_equal(peer_best(o->peer), o->link[1]);
    assert_ptr_equal(peer_ack_link(o->peer), o->link[1]); /* none has come */
    assert_int_equal(take(o, 0, 1, 100), PEER_DELIVER);
    assert_ptr_equal(peer_ack_link(o->peer), o->link[0]);
    peer_link_drop(o->peer, o->link[1]);
    assert_ptr_equal(peer_best(o->peer), o->link[2]);
    assert_ptr_equal(peer_ack_link(o->peer), o->link[0]);
    assert_true(peer_link_fail(o->peer, o->link[0]));
    assert_ptr_equal(peer_ack_link(o->peer), o->link[2]);
    peer_link_drop(o->peer, o->link[0]);
    assert_ptr_equal(peer_ack_link(o->peer), o->link[2]);
    peer_link_drop(o->peer, o->link[2]);
    assert_null(peer_best(o->peer));
    assert_null(peer_ack_link(o->peer));
    close_peer(o);
}

static void early_frames_are_acknowledged_as_ranges(void **state)
{
    static const uint64_t early[] = {3, 4, 9, 6, 7, 11};
    static const struct hop_range want[] = {{3, 4}, {6, 7}, {9, 9}, {11, 11}};
    struct one *o = open_peer(1);
    struct hop_range *got = xcalloc(HOP_RANGES_MAX, sizeof(*got));
    uint64_t next = 13;

    for (size_t i = 0; i < sizeof(early) / sizeof(*early); i++)
        assert_int_equal(take(o, 0, early[i], 100), PEER_KEPT);
    assert_int_equal(take(o, 0, 6, 100), PEER_KEPT); /* again */
    assert_int_equal(peer_stats(o->peer).early, 6);
    assert_int_equal(peer_ranges(o->peer, got), 4);
    assert_memory_equal(got, want, sizeof(want));
    for (size_t i = 4; i < HOP_RANGES_MAX + 2; i++, next += 2)
        assert_int_equal(take(o, 0, next, 100), PEER_KEPT);
    assert_int_equal(peer_ranges(o->peer, got), HOP_RANGES_MAX);
    free(got);
    close_peer(o);
}

static void ranges_free_their_frames_and_no_others(void **state)
{
    struct one *o = open_peer(1);
    struct hop_range *list = xcalloc(1, sizeof(*list));

    for (int i = 0; i < 4; i++)
        send_bytes(o, 100);
    *list = (struct hop_range){2, 2};
    peer_acked(o->peer, list, 1);
    assert_int_equal(peer_stats(o->peer).bytes, 300);
    assert_int_equal(peer_stats(o->peer).acked, 0);
    assert_int_equal(o->link[0]->in_flight, 300);
    free(list);
    close_peer(o);
}

/* --- limits */

static void a_link_carries_8_mib_to_the_last_byte_or_one_longer_frame(void **state)
{
    for (size_t more = 0; more < 2; more++) {
        struct one *o = open_peer(1);

        send_bytes(o, PEER_LINK_WINDOW_BYTES - 100);
        send_bytes(o, 100 + more);
        assert_int_equal(count_sent(o), more ? 1 : 2);
        take_ack(o, 1); /* then there is room */
        assert_int_equal(count_sent(o), more ? 1 : 0);
        close_peer(o);
    }
    struct one *o = open_peer(1);

    send_bytes(o, PEER_LINK_WINDOW_BYTES + 1);
    assert_int_equal(count_sent(o), 1);
    peer_begin(o->peer, 8); /* with no frame */
    assert_int_equal(o->link[0]->in_flight, 0);
    send_bytes(o, PEER_LINK_WINDOW_BYTES + 1);
    assert_int_equal(count_sent(o), 1);
    close_peer(o);
}

static void frames_that_wait_go_when_ranges_make_room(void **state)
{
    struct hop_range list[] = {{2, 2}};
    struct one *o = open_peer(1);

    send_bytes(o, 100);
    send_bytes(o, PEER_LINK_WINDOW_BYTES - 100);
    send_bytes(o, 1000);
    assert_int_equal(count_sent(o), 2);
    peer_acked(o->peer, list, 1);
    assert_int_equal(count_sent(o), 1);
    close_peer(o);
}

static void a_peer_is_full_at_its_last_byte(void **state)
{
    struct one *o = open_peer(0);

    for (int i = 0; i < 3; i++)
        send_bytes(o, PEER_BACKLOG_MAX / 4);
    send_bytes(o, PEER_BACKLOG_MAX / 4 - 100);
    assert_false(peer_full(o->peer));
    send_bytes(o, 100);
    assert_true(peer_full(o->peer));
    close_peer(o);
}

static void a_number_within_the_window_is_kept_and_a_later_one_is_wrong(void **state)
{
    struct one *o = open_peer(1);

    assert_int_equal(take(o, 0, PEER_WINDOW_FRAMES + 1, 100), PEER_WRONG);
    assert_int_equal(take(o, 0, PEER_WINDOW_FRAMES, 100), PEER_KEPT);
    assert_int_equal(peer_stats(o->peer).early, 1);
    assert_int_equal(take(o, 0, 1, 100), PEER_DELIVER);
    assert_int_equal(take(o, 0, 1, 100), PEER_KEPT); /* it was here: it is not kept */
    assert_int_equal(peer_stats(o->peer).early, 1);
    close_peer(o);
}

static void a_peer_has_8_links(void **state)
{
    struct one *o = open_peer(0);
    struct peer *other = peer_create(&o->out);
    struct peer_link *k;

    assert_null(peer_link_move(o->peer, other)); /* it has none */
    for (uint64_t i = 1; i < PEER_LINKS_MAX; i++)
        assert_non_null(peer_link_add(o->peer, i, PEER_LINK_GREETING));
    k = peer_link_add(other, 99, PEER_LINK_GREETING);
    assert_ptr_equal(peer_link_move(o->peer, other), k);
    assert_null(peer_links(other));
    assert_null(peer_link_add(o->peer, 100, PEER_LINK_GREETING));
    assert_non_null(peer_link_add(other, 101, PEER_LINK_GREETING));
    assert_null(peer_link_move(o->peer, other));
    assert_non_null(peer_links(other));
    peer_destroy(other);
    peer_destroy(NULL);
    close_peer(o);
}

/* --- the states of a link */

static void a_link_that_was_dialled_is_greeted_when_it_is_open(void **state)
{
    struct one *o = open_peer(0);
    struct peer_link *k = peer_link_add(o->peer, 1, PEER_LINK_DIALING);

    send_bytes(o, 100);
    o->out.now_ms += 5;
    peer_link_opened(o->peer, k);
    assert_int_equal(k->state, PEER_LINK_GREETING);
    assert_int_equal(k->opened_ms, 1005);
    assert_int_equal(count_sent(o), 0);
    assert_int_equal(peer_link_greeted(o->peer, k, 0, false), 0);
    assert_int_equal(k->state, PEER_LINK_UP);
    assert_int_equal(count_sent(o), 1);
    k = peer_link_add(o->peer, 2, PEER_LINK_DIALING); /* its opening was not reported */
    assert_int_equal(peer_link_greeted(o->peer, k, 0, false), 0);
    assert_int_equal(k->state, PEER_LINK_UP);
    close_peer(o);
}

static void a_link_is_found_by_its_number(void **state)
{
    struct one *o = open_peer(2);

    o->link[0]->number = peer_next_number(o->peer);
    o->link[1]->number = peer_next_number(o->peer);
    assert_ptr_equal(peer_link_numbered(o->peer, 1), o->link[0]);
    assert_ptr_equal(peer_link_numbered(o->peer, 2), o->link[1]);
    assert_null(peer_link_numbered(o->peer, 3));
    close_peer(o);
}

static void a_link_on_probation_is_probed_unless_it_is_the_only_one(void **state)
{
    struct one *o = open_peer(1);
    struct peer_link *k = peer_link_add(o->peer, 2, PEER_LINK_GREETING);

    assert_int_equal(peer_link_greeted(o->peer, k, 0, true), 0);
    assert_int_equal(k->state, PEER_LINK_OUT);
    assert_int_equal(peer_deadline(o->peer), 1000 + PEER_PROBE_MIN_MS);
    peer_link_drop(o->peer, o->link[0]);
    assert_int_equal(k->state, PEER_LINK_UP);
    assert_int_equal(k->asked_ms, 0);
    assert_int_equal(peer_deadline(o->peer), UINT64_MAX); /* nothing is owed, and no probe is due */
    peer_link_drop(o->peer, k);
    k = peer_link_add(o->peer, 3, PEER_LINK_GREETING);
    assert_int_equal(peer_link_greeted(o->peer, k, 0, true), 0);
    assert_int_equal(k->state, PEER_LINK_UP);
    close_peer(o);
}

static void a_link_that_is_mapped_out_begins_with_nothing(void **state)
{
    struct one *o = open_peer(2);
    struct peer_link *k = o->link[0];

    send_bytes(o, 100);
    assert_int_equal(k->in_flight, 100);
    k->asked_ms = k->slow = k->missed = 9;
    assert_true(peer_link_fail(o->peer, k));
    assert_int_equal(k->in_flight + k->asked_ms + k->slow + k->missed, 0);
    assert_int_equal(o->link[1]->in_flight, 100);
    close_peer(o);
}

static void frames_that_wait_go_over_a_link_that_is_taken_back(void **state)
{
    struct one *o = open_peer(2);
    struct frame f;
    uint64_t conn;

    assert_true(peer_link_fail(o->peer, o->link[1]));
    send_bytes(o, PEER_LINK_WINDOW_BYTES);
    send_bytes(o, 100);
    assert_int_equal(count_sent(o), 1);
    for (int i = 1; i <= PEER_PROOFS; i++)
        assert_int_equal(peer_link_answered(o->peer, o->link[1], 1), i == PEER_PROOFS);
    assert_int_equal(take_sent(o, &f, &conn), 1);
    assert_int_equal(conn, 2);
    close_peer(o);
}

/* The lost link may have carried the last acknowledgement. */
static void after_a_loss_of_a_link_what_has_come_is_acknowledged_again(void **state)
{
    struct one *o = open_peer(3);

    peer_link_drop(o->peer, o->link[2]);
    assert_int_equal(peer_deadline(o->peer), UINT64_MAX); /* nothing has come */
    assert_int_equal(take(o, 0, 1, 100), PEER_DELIVER);
    o->out.now_ms += 5;
    peer_link_drop(o->peer, o->link[1]);
    assert_int_equal(peer_deadline(o->peer), 1000 + PEER_ACK_DELAY_MS); /* it was due already */
    close_peer(o);
}

/* --- frames without a number */

static void a_frame_outside_of_the_sequence_has_no_number_and_its_link(void **state)
{
    struct one *o = open_peer(2);
    struct frame f = {.type = 1, .dst = 1};
    BUF_AUTO struct buf b = {0};
    uint64_t conn;

    buf_init(&b, FRAME_HEADER_BYTES);
    frame_encode(&b, &f);
    peer_send_on(o->peer, o->link[1], b.data, b.len);
    assert_int_equal(take_sent(o, &f, &conn), 1);
    assert_int_equal(f.hop_seq, 0);
    assert_int_equal(conn, 2);
    assert_int_equal(peer_stats(o->peer).sent, 0);
    close_peer(o);
}

/* --- rounds and probes */

static void links_are_compared_while_one_of_several_owes_an_answer(void **state)
{
    struct one *one = open_peer(1), *two = open_peer(2);

    send_bytes(one, 100);
    assert_int_equal(peer_deadline(one->peer), UINT64_MAX); /* with which one? */
    peer_link_asked(two->peer, two->link[0]);
    assert_ptr_equal(peer_link_probe(two->peer), two->link[1]);
    assert_int_equal(peer_deadline(two->peer), 1000 + PEER_ROUND_MS);
    two->out.now_ms += PEER_ROUND_MS - 1;
    assert_null(peer_link_slow(two->peer));
    assert_int_equal(two->link[0]->probe_at, 0); /* the round has not ended */
    two->out.now_ms++;
    assert_null(peer_link_slow(two->peer));
    assert_int_equal(two->link[0]->probe_at, 1000 + PEER_ROUND_MS); /* it is behind */
    assert_int_equal(two->link[1]->probe_at, 1000 + PEER_ROUND_MS);
    two->link[0]->probe_at = two->link[1]->probe_at = 0;
    assert_int_equal(peer_deadline(two->peer), 1000 + 2 * PEER_ROUND_MS);
    close_peer(one);
    close_peer(two);
}

static void a_round_in_which_all_made_progress_asks_nobody(void **state)
{
    struct one *o = open_peer(2);

    send_bytes(o, 100);
    send_bytes(o, 100);
    send_bytes(o, 100);
    take_ack(o, 2);
    o->link[0]->probe_at = o->link[1]->probe_at = 0;
    o->link[0]->missed = 3;
    o->out.now_ms += PEER_ROUND_MS;
    assert_null(peer_link_slow(o->peer));
    assert_int_equal(o->link[0]->probe_at + o->link[1]->probe_at, 0);
    assert_int_equal(o->link[0]->missed, 0);
    close_peer(o);
}

static void frames_in_flight_or_a_probe_alone_make_a_link_be_behind(void **state)
{
    for (int probe = 0; probe < 2; probe++) {
        struct one *o = open_peer(2);

        if (probe)
            peer_link_asked(o->peer, o->link[0]);
        else
            send_bytes(o, 100);
        o->link[0]->probe_at = o->link[1]->probe_at = 0;
        o->out.now_ms += PEER_ROUND_MS;
        assert_null(peer_link_slow(o->peer));
        assert_int_equal(o->link[1]->probe_at, o->out.now_ms);
        close_peer(o);
    }
}

static void a_measurement_asks_only_links_that_are_up_and_not_asked_yet(void **state)
{
    struct one *o = open_peer(3);

    assert_true(peer_link_fail(o->peer, o->link[2]));
    o->link[1]->asked_ms = 900;
    send_bytes(o, 100);
    assert_int_equal(o->link[0]->probe_at, 1000);
    assert_int_equal(o->link[1]->probe_at, 0);
    assert_int_equal(o->link[2]->probe_at, 1000 + PEER_PROBE_MIN_MS);
    assert_int_equal(peer_deadline(o->peer), 1000); /* the probe of a link that is up */
    assert_ptr_equal(peer_link_probe(o->peer), o->link[0]);
    assert_null(peer_link_probe(o->peer));
    close_peer(o);
}

static void slow_answers_count_once_in_a_second_and_a_prompt_one_ends_the_count(void **state)
{
    struct one *o = open_peer(2);
    struct peer_link *k = o->link[0];

    (void)peer_link_answered(o->peer, o->link[1], 1);
    (void)peer_link_answered(o->peer, k, 500);
    (void)peer_link_answered(o->peer, k, 500);
    assert_int_equal(k->slow, 1);
    o->out.now_ms += 10;
    (void)peer_link_answered(o->peer, k, 1);
    assert_int_equal(k->slow, 0);
    (void)peer_link_answered(o->peer, k, 500); /* the first one again */
    assert_int_equal(k->slow, 1);
    for (int i = 2; i <= PEER_SLOW_MEASURES; i++) {
        assert_null(peer_link_slow(o->peer));
        o->out.now_ms += PEER_MEASURE_MS;
        (void)peer_link_answered(o->peer, k, 500);
    }
    assert_int_equal(peer_deadline(o->peer), o->out.now_ms);
    assert_ptr_equal(peer_link_slow(o->peer), k);
    assert_int_equal(k->slow, 0);
    close_peer(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acknowledgement_is_due_at_once_at_its_limits_and_not_before),
        cmocka_unit_test(a_frame_in_the_other_direction_acknowledges_all),
        cmocka_unit_test(an_acknowledgement_goes_over_the_link_of_the_last_frame_if_it_is_up),
        cmocka_unit_test(early_frames_are_acknowledged_as_ranges),
        cmocka_unit_test(ranges_free_their_frames_and_no_others),
        cmocka_unit_test(a_link_carries_8_mib_to_the_last_byte_or_one_longer_frame),
        cmocka_unit_test(frames_that_wait_go_when_ranges_make_room),
        cmocka_unit_test(a_peer_is_full_at_its_last_byte),
        cmocka_unit_test(a_number_within_the_window_is_kept_and_a_later_one_is_wrong),
        cmocka_unit_test(a_peer_has_8_links),
        cmocka_unit_test(a_link_that_was_dialled_is_greeted_when_it_is_open),
        cmocka_unit_test(a_link_is_found_by_its_number),
        cmocka_unit_test(a_link_on_probation_is_probed_unless_it_is_the_only_one),
        cmocka_unit_test(a_link_that_is_mapped_out_begins_with_nothing),
        cmocka_unit_test(frames_that_wait_go_over_a_link_that_is_taken_back),
        cmocka_unit_test(after_a_loss_of_a_link_what_has_come_is_acknowledged_again),
        cmocka_unit_test(a_frame_outside_of_the_sequence_has_no_number_and_its_link),
        cmocka_unit_test(links_are_compared_while_one_of_several_owes_an_answer),
        cmocka_unit_test(a_round_in_which_all_made_progress_asks_nobody),
        cmocka_unit_test(frames_in_flight_or_a_probe_alone_make_a_link_be_behind),
        cmocka_unit_test(a_measurement_asks_only_links_that_are_up_and_not_asked_yet),
        cmocka_unit_test(slow_answers_count_once_in_a_second_and_a_prompt_one_ends_the_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
