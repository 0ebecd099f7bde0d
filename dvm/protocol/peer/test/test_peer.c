/* SPDX-License-Identifier: BSD-3-Clause */
/* Two peers and the links between them: what arrives, in which order, and what is sent again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/peer/peer.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define LINKS 3
#define ON_WAY_MAX 8192

struct sent { /* a frame on its way to the other side */
    uint64_t conn;
    struct buf bytes;
};

struct side {
    struct out out;
    struct peer *peer;
    char got[256]; /* one letter for each frame that was handed up */
    size_t ngot;
};

struct pair {
    struct side a, b;
    struct sent way[ON_WAY_MAX]; /* from a to b, in the order of sending */
    size_t nway;
};

static void join_link(struct side *s, uint64_t conn)
{
    struct peer_link *k = peer_link_add(s->peer, conn, PEER_LINK_GREETING);

    k->number = (uint32_t)conn;
    assert_int_equal(peer_link_greeted(s->peer, k, 0, false), 0);
}

static struct pair *open_pair(size_t links)
{
    struct pair *p = xcalloc(1, sizeof(*p));

    p->a.out.now_ms = p->b.out.now_ms = 1000;
    p->a.peer = peer_create(&p->a.out);
    p->b.peer = peer_create(&p->b.out);
    peer_begin(p->a.peer, 7);
    peer_begin(p->b.peer, 7);
    for (size_t i = 1; i <= links; i++) {
        join_link(&p->a, i);
        join_link(&p->b, i);
    }
    return p;
}

static void close_pair(struct pair *p)
{
    while (p->nway)
        buf_free(&p->way[--p->nway].bytes);
    peer_destroy(p->a.peer);
    peer_destroy(p->b.peer);
    out_free(&p->a.out);
    out_free(&p->b.out);
    free(p);
}

static void collect_frames(struct pair *p)
{
    struct out_act act;

    while (out_take(&p->a.out, &act)) {
        assert_int_equal(act.kind, OUT_SEND);
        assert_true(p->nway < ON_WAY_MAX);
        p->way[p->nway++] = (struct sent){act.send.conn, act.send.frame};
    }
}

/* A frame whose body is `len` bytes of one letter. */
static void send_letter(struct pair *p, char letter, enum out_class traffic, size_t len)
{
    struct frame f = {.type = 1, .traffic = (uint8_t)traffic, .dst = 1};
    FREE_AUTO char *body = xmalloc(len);
    BUF_AUTO struct buf b = {0};

    memset(body, letter, len);
    buf_init(&b, FRAME_HEADER_BYTES + len);
    frame_encode(&b, &f);
    buf_put_raw(&b, body, len);
    peer_send(p->a.peer, b.data, b.len);
    collect_frames(p);
}

static void send_text(struct pair *p, const char *text, enum out_class traffic)
{
    for (; *text; text++)
        send_letter(p, *text, traffic, 10);
}

static void hand_up(struct side *s, const uint8_t *data)
{
    assert_true(s->ngot < sizeof(s->got) - 1);
    s->got[s->ngot++] = (char)data[FRAME_HEADER_BYTES];
}

static enum peer_taken arrive_copy(struct pair *p, const struct sent *w)
{
    struct peer_link *k = peer_link_of(p->b.peer, w->conn);
    struct cur c = cur_of(w->bytes.data, w->bytes.len);
    enum peer_taken taken;
    struct frame f;
    struct buf early;

    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    if (!k)
        return PEER_KEPT; /* its connection is gone */
    k->heard_ms = p->b.out.now_ms;
    taken = peer_take(p->b.peer, k, &f, w->bytes.data, w->bytes.len);
    if (taken == PEER_DELIVER)
        hand_up(&p->b, w->bytes.data);
    while (peer_next(p->b.peer, &early)) {
        hand_up(&p->b, early.data);
        buf_free(&early);
    }
    return taken;
}

/* Frame i arrives, or is lost. */
static void deliver_frame(struct pair *p, size_t i, bool lost)
{
    struct sent w = p->way[i];

    memmove(&p->way[i], &p->way[i + 1], (p->nway - i - 1) * sizeof(*p->way));
    p->nway--;
    if (!lost)
        (void)arrive_copy(p, &w);
    buf_free(&w.bytes);
}

static void arrive_all(struct pair *p)
{
    while (p->nway)
        deliver_frame(p, 0, false);
}

static size_t count_on(const struct pair *p, uint64_t conn)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nway; i++)
        n += p->way[i].conn == conn;
    return n;
}

/* The link fails: what is on it is lost, and both sides notice. */
static void fail_link(struct pair *p, uint64_t conn)
{
    for (size_t i = p->nway; i-- > 0;) {
        if (p->way[i].conn == conn)
            deliver_frame(p, i, true);
    }
    peer_link_drop(p->a.peer, peer_link_of(p->a.peer, conn));
    peer_link_drop(p->b.peer, peer_link_of(p->b.peer, conn));
    collect_frames(p);
}

/* All that b has received is acknowledged. */
static void acknowledge_all(struct pair *p)
{
    struct hop_range ranges[HOP_RANGES_MAX];
    struct frame f = {.hop_ack = peer_received(p->b.peer)};
    size_t n = peer_ranges(p->b.peer, ranges);

    assert_int_equal(peer_take(p->a.peer, peer_links(p->a.peer), &f, NULL, 0), PEER_DELIVER);
    peer_acked(p->a.peer, ranges, n);
    collect_frames(p);
}

static void pass_ms(struct pair *p, uint64_t ms)
{
    p->a.out.now_ms += ms;
    p->b.out.now_ms += ms;
}

static void assert_got(struct pair *p, const char *text)
{
    p->b.got[p->b.ngot] = '\0';
    assert_string_equal(p->b.got, text);
}

static void frames_that_links_reorder_are_handed_up_in_order(void **state)
{
    struct pair *p = open_pair(2);

    send_text(p, "abcdef", CLASS_BULK);
    assert_int_equal(count_on(p, 1), 3);
    assert_int_equal(count_on(p, 2), 3);
    while (p->nway)
        deliver_frame(p, p->nway - 1, false);
    assert_got(p, "abcdef");
    close_pair(p);
}

static void frames_of_a_lost_link_go_over_another_and_no_other_frame_goes_again(void **state)
{
    struct pair *p = open_pair(2);

    send_text(p, "abcdefgh", CLASS_BULK);
    deliver_frame(p, 0, false); /* a, on the first link, and not acknowledged yet */
    fail_link(p, 1);
    assert_int_equal(peer_stats(p->a.peer).again, 4); /* a, c, e, g; not those of the other link */
    assert_int_equal(count_on(p, 2), 8);
    arrive_all(p);
    assert_got(p, "abcdefgh");
    acknowledge_all(p);
    assert_int_equal(peer_stats(p->a.peer).bytes, 0);
    close_pair(p);
}

static void acknowledged_frames_of_a_lost_link_are_not_sent_again(void **state)
{
    struct pair *p = open_pair(2);

    send_text(p, "abcd", CLASS_BULK);
    deliver_frame(p, 0, false);
    deliver_frame(p, 1, false); /* c, which is early */
    acknowledge_all(p);
    fail_link(p, 1);
    assert_int_equal(peer_stats(p->a.peer).again, 0);
    arrive_all(p);
    assert_got(p, "abcd");
    close_pair(p);
}

static void a_frame_that_comes_twice_is_handed_up_once(void **state)
{
    struct pair *p = open_pair(2);

    send_text(p, "abc", CLASS_CONTROL);
    assert_int_equal(arrive_copy(p, &p->way[2]), PEER_KEPT); /* early */
    assert_int_equal(arrive_copy(p, &p->way[2]), PEER_KEPT);
    assert_int_equal(arrive_copy(p, &p->way[0]), PEER_DELIVER);
    assert_int_equal(arrive_copy(p, &p->way[0]), PEER_KEPT);
    arrive_all(p);
    assert_got(p, "abc");
    assert_int_equal(peer_stats(p->b.peer).delivered, 3);
    close_pair(p);
}

static void without_a_link_frames_wait_and_the_greeting_says_which_have_arrived(void **state)
{
    struct pair *p = open_pair(1);
    struct peer_link *k;

    send_text(p, "abc", CLASS_CONTROL);
    deliver_frame(p, 0, false);
    fail_link(p, 1);
    send_text(p, "d", CLASS_CONTROL);
    assert_int_equal(p->nway, 0);
    k = peer_link_add(p->a.peer, 2, PEER_LINK_GREETING);
    join_link(&p->b, 2);
    assert_int_equal(peer_link_greeted(p->a.peer, k, peer_received(p->b.peer), false), 0);
    collect_frames(p);
    assert_int_equal(p->nway, 3); /* a had arrived */
    arrive_all(p);
    assert_got(p, "abcd");
    close_pair(p);
}

static void a_new_session_begins_with_nothing(void **state)
{
    struct pair *p = open_pair(1);

    send_text(p, "abc", CLASS_CONTROL);
    fail_link(p, 1);
    peer_begin(p->a.peer, 8);
    peer_begin(p->b.peer, 8);
    join_link(&p->a, 2);
    join_link(&p->b, 2);
    collect_frames(p);
    assert_int_equal(p->nway, 0);
    send_text(p, "x", CLASS_CONTROL);
    arrive_all(p);
    assert_got(p, "x");
    close_pair(p);
}

static void control_takes_the_least_delay_and_bulk_the_free_link(void **state)
{
    struct pair *p = open_pair(2);

    peer_link_of(p->a.peer, 1)->delay_ms = 5;
    peer_link_of(p->a.peer, 2)->delay_ms = 2;
    send_text(p, "abcd", CLASS_CONTROL);
    assert_int_equal(count_on(p, 2), 4);
    send_text(p, "ef", CLASS_BULK);
    assert_int_equal(count_on(p, 1), 2); /* it has carried less */
    close_pair(p);
}

static void a_full_window_holds_frames_back_until_they_are_acknowledged(void **state)
{
    struct pair *p = open_pair(2);

    for (size_t i = 0; i < 5; i++)
        send_letter(p, (char)('a' + i), CLASS_BULK, PEER_LINK_WINDOW_BYTES - FRAME_HEADER_BYTES);
    assert_int_equal(p->nway, 2); /* one fills a link */
    arrive_all(p);
    acknowledge_all(p);
    assert_int_equal(p->nway, 2);
    arrive_all(p);
    acknowledge_all(p);
    arrive_all(p);
    assert_got(p, "abcde");
    close_pair(p);
}

static void the_receiver_never_keeps_more_than_a_window_of_frames(void **state)
{
    struct pair *p = open_pair(1);

    for (size_t i = 0; i < PEER_WINDOW_FRAMES + 5; i++)
        send_letter(p, 'a', CLASS_CONTROL, 1);
    assert_int_equal(p->nway, PEER_WINDOW_FRAMES);
    close_pair(p);
}

static void numbers_that_the_other_side_cannot_have_sent_are_wrong(void **state)
{
    struct pair *p = open_pair(1);
    struct frame ack = {.hop_ack = 1};
    struct frame far = {.hop_seq = PEER_WINDOW_FRAMES + 1};
    struct peer_link *k = peer_links(p->a.peer);

    assert_int_equal(peer_take(p->a.peer, k, &ack, NULL, 0), PEER_WRONG);
    assert_int_equal(peer_take(p->a.peer, k, &far, NULL, 0), PEER_WRONG);
    assert_int_equal(peer_link_greeted(p->a.peer, k, 1, false), -1);
    close_pair(p);
}

static void frames_without_a_number_are_handed_up_as_they_come(void **state)
{
    struct pair *p = open_pair(1);
    struct frame f = {.hop_seq = 0};

    assert_int_equal(peer_take(p->a.peer, peer_links(p->a.peer), &f, NULL, 0), PEER_DELIVER);
    assert_false(peer_ack_due(p->a.peer));
    assert_int_equal(peer_deadline(p->a.peer), UINT64_MAX);
    close_pair(p);
}

/* Probes go out over all links that are due; `answers` says by bit which of them are answered. */
static struct peer_link *pass_round(struct pair *p, unsigned answers)
{
    struct peer_link *slow, *k;

    pass_ms(p, PEER_ROUND_MS);
    slow = peer_link_slow(p->a.peer);
    while ((k = peer_link_probe(p->a.peer)))
        peer_link_asked(p->a.peer, k);
    for (uint64_t conn = 1; conn <= LINKS; conn++) {
        k = peer_link_of(p->a.peer, conn);
        if (k && k->asked_ms && (answers & (1u << conn)))
            peer_link_answered(p->a.peer, k, 1);
    }
    return slow;
}

static void a_link_without_progress_is_mapped_out_while_another_one_answers(void **state)
{
    struct pair *p = open_pair(2);
    struct peer_link *first = peer_link_of(p->a.peer, 1);

    send_text(p, "a", CLASS_CONTROL);
    assert_int_equal(count_on(p, 1), 1);
    deliver_frame(p, 0, true); /* it passes nothing in this direction */
    for (unsigned i = 0; i < PEER_SLOW_ROUNDS; i++)
        assert_null(pass_round(p, 1u << 2));
    assert_ptr_equal(pass_round(p, 1u << 2), first);
    assert_true(peer_link_fail(p->a.peer, first));
    collect_frames(p);
    assert_int_equal(count_on(p, 2), 1);
    arrive_all(p);
    assert_got(p, "a");
    close_pair(p);
}

static void a_peer_that_is_silent_on_all_links_loses_none_of_them(void **state)
{
    struct pair *p = open_pair(2);

    send_text(p, "a", CLASS_CONTROL);
    for (unsigned i = 0; i < 10 * PEER_SLOW_ROUNDS; i++)
        assert_null(pass_round(p, 0));
    close_pair(p);
}

static void links_that_all_answer_late_are_not_mapped_out(void **state)
{
    struct pair *p = open_pair(2);

    send_text(p, "a", CLASS_CONTROL);
    for (unsigned i = 0; i < 4 * PEER_SLOW_ROUNDS; i++) {
        pass_ms(p, 4 * PEER_SLOW_MS); /* the daemon had no processor */
        assert_null(pass_round(p, i % 2 ? 1u << 2 : 0));
        assert_null(pass_round(p, i % 2 ? 1u << 1 : 0));
    }
    close_pair(p);
}

static void a_link_whose_frames_are_acknowledged_is_not_far_slower(void **state)
{
    struct pair *p = open_pair(2);
    struct hop_range done = {1, 1};

    for (unsigned i = 0; i < 4 * PEER_SLOW_ROUNDS; i++, done.first++, done.last++) {
        send_letter(p, 'a', CLASS_CONTROL, 10);
        send_letter(p, 'a', CLASS_CONTROL, 10);
        peer_acked(p->a.peer, &done, 1);
        assert_null(pass_round(p, 1u << 2));
    }
    close_pair(p);
}

static void a_link_with_a_long_frame_has_more_rounds(void **state)
{
    struct pair *p = open_pair(2);
    struct peer_link *first = peer_link_of(p->a.peer, 1);

    send_letter(p, 'a', CLASS_CONTROL, 3 * PEER_ROUND_BYTES);
    for (unsigned i = 0; i < PEER_SLOW_ROUNDS + 3; i++)
        assert_null(pass_round(p, 1u << 2));
    assert_ptr_equal(pass_round(p, 1u << 2), first);
    close_pair(p);
}

static void the_last_link_that_is_up_is_never_mapped_out(void **state)
{
    struct pair *p = open_pair(2);

    assert_true(peer_link_fail(p->a.peer, peer_link_of(p->a.peer, 1)));
    assert_false(peer_link_fail(p->a.peer, peer_link_of(p->a.peer, 2)));
    peer_link_drop(p->a.peer, peer_link_of(p->a.peer, 2));
    assert_int_equal(peer_links(p->a.peer)->state, PEER_LINK_UP); /* it has to do */
    close_pair(p);
}

static void a_mapped_out_link_is_probed_with_back_off_and_taken_back_after_its_proofs(void **state)
{
    struct pair *p = open_pair(2);
    struct peer_link *first = peer_link_of(p->a.peer, 1);
    uint64_t waited = 0;

    assert_true(peer_link_fail(p->a.peer, first));
    for (uint64_t ms = PEER_PROBE_MIN_MS; ms < PEER_PROBE_MAX_MS; ms *= 2) {
        assert_int_equal(peer_deadline(p->a.peer), p->a.out.now_ms + ms);
        assert_null(peer_link_probe(p->a.peer));
        pass_ms(p, ms);
        waited += ms;
        assert_ptr_equal(peer_link_probe(p->a.peer), first);
    }
    assert_true(waited > PEER_PROBE_MAX_MS);
    for (unsigned i = 1; i < PEER_PROOFS; i++)
        assert_false(peer_link_answered(p->a.peer, first, 1));
    send_text(p, "a", CLASS_BULK);
    assert_int_equal(count_on(p, 1), 0);
    assert_true(peer_link_answered(p->a.peer, first, 1));
    send_text(p, "b", CLASS_BULK);
    assert_int_equal(count_on(p, 1), 1);
    close_pair(p);
}

static void an_answer_that_takes_far_longer_than_others_proves_nothing(void **state)
{
    struct pair *p = open_pair(2);
    struct peer_link *first = peer_link_of(p->a.peer, 1);

    (void)peer_link_answered(p->a.peer, peer_link_of(p->a.peer, 2), 1);
    assert_true(peer_link_fail(p->a.peer, first));
    for (unsigned i = 0; i < 2 * PEER_PROOFS; i++)
        assert_false(peer_link_answered(p->a.peer, first, PEER_SLOW_MS + 1));
    assert_int_equal(first->state, PEER_LINK_OUT);
    close_pair(p);
}

/* Both links are probed; the second one answers after 1 ms. */
static struct peer_link *pass_measure(struct pair *p, uint64_t first_ms)
{
    pass_ms(p, PEER_MEASURE_MS);
    (void)peer_link_answered(p->a.peer, peer_link_of(p->a.peer, 1), first_ms);
    (void)peer_link_answered(p->a.peer, peer_link_of(p->a.peer, 2), 1);
    return peer_link_slow(p->a.peer);
}

static void a_link_is_slow_after_some_answers_in_a_row_that_take_far_longer(void **state)
{
    struct pair *p = open_pair(2);

    (void)peer_link_answered(p->a.peer, peer_link_of(p->a.peer, 2), 1);
    for (unsigned i = 0; i < 4 * PEER_SLOW_MEASURES; i++)
        assert_null(pass_measure(p, PEER_SLOW_MS));
    for (unsigned i = 0; i < 4 * PEER_SLOW_MEASURES; i++)
        assert_null(pass_measure(p, i % PEER_SLOW_MEASURES ? PEER_SLOW_MS + 1 : 1));
    assert_null(pass_measure(p, 1));
    for (unsigned i = 1; i < PEER_SLOW_MEASURES; i++)
        assert_null(pass_measure(p, PEER_SLOW_MS + 1));
    for (unsigned i = 0; i < 10; i++) /* several within the time count once */
        assert_false(peer_link_answered(p->a.peer, peer_link_of(p->a.peer, 1), 2 * PEER_SLOW_MS));
    assert_null(peer_link_slow(p->a.peer));
    pass_ms(p, PEER_MEASURE_MS);
    (void)peer_link_answered(p->a.peer, peer_link_of(p->a.peer, 1), PEER_SLOW_MS + 1);
    assert_int_equal(peer_deadline(p->a.peer), p->a.out.now_ms);
    assert_ptr_equal(peer_link_slow(p->a.peer), peer_link_of(p->a.peer, 1));
    assert_null(peer_link_slow(p->a.peer)); /* once */
    close_pair(p);
}

static void links_with_traffic_are_probed_now_and_then(void **state)
{
    struct pair *p = open_pair(2);
    unsigned probes = 0;

    pass_ms(p, PEER_MEASURE_MS);
    assert_null(peer_link_probe(p->a.peer)); /* without traffic */
    for (unsigned i = 0; i < 10; i++) {
        struct peer_link *k;

        send_text(p, "a", CLASS_BULK);
        for (; (k = peer_link_probe(p->a.peer)); probes++) {
            peer_link_asked(p->a.peer, k);
            (void)peer_link_answered(p->a.peer, k, 1);
        }
        pass_ms(p, PEER_MEASURE_MS / 4);
    }
    assert_int_equal(probes, 2 * 3); /* of each link, in 2.5 s */
    close_pair(p);
}

/* The number of proofs after which it is taken back, or 0; one comes in each second. */
static unsigned count_proofs(struct pair *p, struct peer_link *k, uint64_t ms)
{
    for (unsigned i = 1; i <= 200; i++) {
        pass_ms(p, 1000);
        if (peer_link_answered(p->a.peer, k, ms))
            return i;
    }
    return 0;
}

static void a_link_is_taken_back_only_if_it_is_much_faster_than_one_that_is_mapped_out(void **state)
{
    struct pair *p = open_pair(2);
    struct peer_link *first = peer_link_of(p->a.peer, 1);
    uint64_t least = PEER_SLOW_MS;

    (void)peer_link_answered(p->a.peer, peer_link_of(p->a.peer, 2), least);
    assert_true(peer_link_fail(p->a.peer, first));
    assert_int_equal(count_proofs(p, first, PEER_BACK_FACTOR * least + 1), 0);
    assert_int_equal(count_proofs(p, first, PEER_BACK_FACTOR * least), PEER_PROOFS);
    close_pair(p);
}

static void a_link_that_fails_again_soon_proves_nothing_for_a_time_that_doubles(void **state)
{
    static const unsigned waits[] = {0, 1, 2, 4, 8, 16, 32, 64, 64}; /* seconds */
    struct pair *p = open_pair(2);
    struct peer_link *first = peer_link_of(p->a.peer, 1);

    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        assert_true(peer_link_fail(p->a.peer, first));
        assert_int_equal(count_proofs(p, first, 1),
                         waits[i] ? waits[i] - 1 + PEER_PROOFS : PEER_PROOFS);
    }
    pass_ms(p, PEER_FLAP_MS);
    assert_true(peer_link_fail(p->a.peer, first));
    assert_int_equal(count_proofs(p, first, 1), PEER_PROOFS);
    close_pair(p);
}

static void a_link_on_probation_carries_nothing_before_it_has_proved_itself(void **state)
{
    struct pair *p = open_pair(1);
    struct peer_link *k = peer_link_add(p->a.peer, 2, PEER_LINK_GREETING);

    assert_int_equal(peer_link_greeted(p->a.peer, k, 0, true), 0);
    assert_int_equal(k->state, PEER_LINK_OUT);
    send_text(p, "ab", CLASS_BULK);
    assert_int_equal(count_on(p, 2), 0);
    close_pair(p);
}

static void an_acknowledgement_is_due_after_a_delay_or_at_once_after_many_bytes(void **state)
{
    struct pair *p = open_pair(1);

    send_text(p, "a", CLASS_BULK);
    arrive_all(p);
    assert_false(peer_ack_due(p->b.peer));
    pass_ms(p, PEER_ACK_DELAY_MS);
    assert_true(peer_ack_due(p->b.peer));
    acknowledge_all(p);
    assert_false(peer_ack_due(p->b.peer));
    send_letter(p, 'b', CLASS_BULK, PEER_ACK_BYTES);
    arrive_all(p);
    assert_true(peer_ack_due(p->b.peer));
    close_pair(p);
}

static void the_table_of_a_links_states_is_sound(void **state)
{
    struct err err = {0};

    if (fsm_check(&peer_link_fsm, &err) < 0)
        fail_msg("%s", err.msg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_links_reorder_are_handed_up_in_order),
        cmocka_unit_test(frames_of_a_lost_link_go_over_another_and_no_other_frame_goes_again),
        cmocka_unit_test(acknowledged_frames_of_a_lost_link_are_not_sent_again),
        cmocka_unit_test(a_frame_that_comes_twice_is_handed_up_once),
        cmocka_unit_test(without_a_link_frames_wait_and_the_greeting_says_which_have_arrived),
        cmocka_unit_test(a_new_session_begins_with_nothing),
        cmocka_unit_test(control_takes_the_least_delay_and_bulk_the_free_link),
        cmocka_unit_test(a_full_window_holds_frames_back_until_they_are_acknowledged),
        cmocka_unit_test(the_receiver_never_keeps_more_than_a_window_of_frames),
        cmocka_unit_test(numbers_that_the_other_side_cannot_have_sent_are_wrong),
        cmocka_unit_test(frames_without_a_number_are_handed_up_as_they_come),
        cmocka_unit_test(a_link_without_progress_is_mapped_out_while_another_one_answers),
        cmocka_unit_test(a_peer_that_is_silent_on_all_links_loses_none_of_them),
        cmocka_unit_test(links_that_all_answer_late_are_not_mapped_out),
        cmocka_unit_test(a_link_whose_frames_are_acknowledged_is_not_far_slower),
        cmocka_unit_test(a_link_with_a_long_frame_has_more_rounds),
        cmocka_unit_test(the_last_link_that_is_up_is_never_mapped_out),
        cmocka_unit_test(a_mapped_out_link_is_probed_with_back_off_and_taken_back_after_its_proofs),
        cmocka_unit_test(an_answer_that_takes_far_longer_than_others_proves_nothing),
        cmocka_unit_test(a_link_is_slow_after_some_answers_in_a_row_that_take_far_longer),
        cmocka_unit_test(links_with_traffic_are_probed_now_and_then),
        cmocka_unit_test(
            a_link_is_taken_back_only_if_it_is_much_faster_than_one_that_is_mapped_out),
        cmocka_unit_test(a_link_that_fails_again_soon_proves_nothing_for_a_time_that_doubles),
        cmocka_unit_test(a_link_on_probation_carries_nothing_before_it_has_proved_itself),
        cmocka_unit_test(an_acknowledgement_is_due_after_a_delay_or_at_once_after_many_bytes),
        cmocka_unit_test(the_table_of_a_links_states_is_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
