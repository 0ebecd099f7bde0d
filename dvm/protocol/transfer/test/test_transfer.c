/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers step by step: what goes over the wire, and each frame lost, late and doubled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/transfer/test/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define SEVERAL (5ull * TRANSFER_FRAG_BYTES) /* all its fragments are sent at once */
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- frames that no other end sends */

static struct msg frame_of(const struct pair *p, enum msg_type type, uint64_t number)
{
    struct msg m = {.type = type};

    m.anew.ref = (struct transfer_ref){1, 2, 1, number, 0};
    return m;
}

static void take_illegal(struct pair *p, const struct msg *m)
{
    uint64_t before = transfer_stats(p->end[1].e).illegal;

    p->quiet = true;
    transfer_input(p->end[1].e, m);
    assert_int_equal(transfer_stats(p->end[1].e).illegal, before + 1);
    p->quiet = false;
}

static void a_fragment_of_a_transfer_that_was_not_offered_is_refused(void **state)
{
    static const uint8_t bytes[10];
    struct pair *p = pair_new(1, 1);
    struct msg m = frame_of(p, MSG_FRAG, 1);

    m.frag.data = bytes;
    m.frag.len = sizeof(bytes);
    take_illegal(p, &m);
    assert_int_equal(transfer_stats(p->end[1].e).taking, 0);
    pair_free(p);
}

static void a_number_out_of_the_window_is_refused(void **state)
{
    struct pair *p = pair_new(1, 1);
    struct msg m = frame_of(p, MSG_RNDV, TRANSFER_WINDOW + 1);

    m.rndv.size = PAIR_LARGE;
    take_illegal(p, &m);
    assert_int_equal(transfer_stats(p->end[1].e).taking, 0);
    pair_free(p);
}

static void a_fragment_that_was_not_granted_writes_nothing(void **state)
{
    static const uint8_t bytes[TRANSFER_FRAG_BYTES];
    struct pair *p = pair_new(1, 1);
    size_t x = pair_send_large(p, BY_PUT);
    struct msg m = frame_of(p, MSG_FRAG, 1);

    pair_arrive(p, pair_find(p, 0, MSG_RNDV));
    m.frag.data = bytes;
    m.frag.len = sizeof(bytes);
    m.frag.offset = 16ull * TRANSFER_FRAG_BYTES; /* two regions are granted */
    take_illegal(p, &m);
    m.frag.offset = 0;
    m.frag.len = 1;
    take_illegal(p, &m);
    assert_int_equal(p->messages[x].written, 0);
    pair_run(p);
    assert_true(pair_all_there(p));
    pair_free(p);
}

static void a_last_fin_before_all_bytes_have_come_ends_nothing(void **state)
{
    struct pair *p = pair_new(1, 1);
    struct msg m = frame_of(p, MSG_TRANSFER_FIN, 1);

    (void)pair_send_large(p, BY_ACK);
    pair_arrive(p, pair_find(p, 0, MSG_RNDV));
    m.fin.match = pair_find(p, 0, MSG_RNDV) ? m.fin.match : p->flights->m.rndv.match;
    m.fin.offset = PAIR_LARGE;
    take_illegal(p, &m);
    pair_run(p);
    assert_true(pair_all_there(p));
    pair_free(p);
}

static void a_grant_beyond_the_message_or_of_another_dance_changes_nothing(void **state)
{
    struct pair *p = pair_new(1, 1);
    struct msg m;

    (void)pair_send_large(p, BY_ACK);
    pair_arrive(p, pair_find(p, 0, MSG_RNDV));
    m = pair_find(p, 1, MSG_ACK)->m;
    m.ack.len++;
    transfer_input(p->end[0].e, &m);
    m.ack.len--;
    m.ack.ref.dance = 1;
    transfer_input(p->end[0].e, &m);
    assert_int_equal(transfer_stats(p->end[0].e).ignored, 2);
    assert_null(pair_find(p, 0, MSG_FRAG));
    pair_run(p);
    pair_end_at_rest(p);
}

static void a_message_that_the_receiver_does_not_want_ends_at_its_sender(void **state)
{
    struct pair *p = pair_new(1, 1);
    size_t x = pair_send_large(p, BY_ACK);

    p->messages[x].refused = true;
    pair_run(p);
    assert_int_equal(p->messages[x].ended, 1);
    assert_false(p->messages[x].arrived);
    assert_int_equal(transfer_stats(p->end[0].e).sending, 0);
    assert_int_equal(transfer_stats(p->end[1].e).taking, 0);
    (void)pair_send_large(p, BY_ACK);
    pair_run(p);
    assert_int_equal(p->messages[1].delivered, 1);
    pair_free(p);
}

/* --- the protocols */

/* The types of all frames in the order of their arrival, the same in a row once. */
static void run_and_name(struct pair *p, char *text, size_t max)
{
    const char *last = "";
    struct flight *f;

    *text = 0;
    while ((f = p->flights)) {
        if (strcmp(msg_name(f->m.type), last) != 0)
            snprintf(text + strlen(text), max - strlen(text), "%s%d %s", *text ? ", " : "", f->from,
                     msg_name(f->m.type));
        last = msg_name(f->m.type);
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
}

static void check_protocol(uint64_t size, enum pair_how how, const char *frames)
{
    struct pair *p = pair_new(1, 1);
    char text[1024];

    (void)pair_send(p, 0, size, how == BY_GET, how == BY_PUT);
    run_and_name(p, text, sizeof(text));
    assert_string_equal(text, frames);
    pair_end_at_rest(p);
}

static void a_small_message_goes_as_match(void **state)
{
    check_protocol(1, BY_ACK, "0 MATCH");
    check_protocol(PAIR_EAGER_BYTES, BY_ACK, "0 MATCH");
}

static void a_large_message_goes_as_rndv_ack_frag_fin(void **state)
{
    check_protocol(PAIR_EAGER_BYTES + 1, BY_ACK, "0 RNDV, 1 ACK, 0 FRAG, 0 TRANSFER_FIN");
    check_protocol(PAIR_LARGE, BY_ACK, "0 RNDV, 1 ACK, 0 FRAG, 0 TRANSFER_FIN");
}

static void regions_that_a_receiver_exposes_are_put_and_finished_one_by_one(void **state)
{
    check_protocol(3 * TRANSFER_REGION_BYTES, BY_PUT,
                   "0 RNDV, 1 PUT, 0 FRAG, 0 TRANSFER_FIN, 0 FRAG, 1 PUT, 0 FRAG, 0 TRANSFER_FIN, "
                   "0 FRAG, 0 TRANSFER_FIN");
}

static void a_message_that_its_sender_exposes_is_read_by_get(void **state)
{
    check_protocol(TRANSFER_REGION_BYTES, BY_GET, "0 RGET, 1 GET, 0 FRAG, 1 TRANSFER_FIN");
    check_protocol(3 * TRANSFER_REGION_BYTES, BY_GET,
                   "0 RGET, 1 GET, 0 FRAG, 1 GET, 0 FRAG, 1 TRANSFER_FIN");
}

static void a_long_message_goes_with_bounded_memory(void **state)
{
    struct pair *p = pair_new(2, 1);
    size_t most = 0;
    struct flight *f;

    p->messages[0].p = p;
    (void)pair_send(p, 0, (uint64_t)PAIR_FRAGS_MAX * TRANSFER_FRAG_BYTES, false, false);
    while ((f = p->flights)) {
        struct transfer_stats st = transfer_stats(p->end[0].e);

        most = st.outstanding > most ? st.outstanding : most;
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    assert_in_range(most, 2, TRANSFER_FRAGS_MAX + 1);
    pair_end_at_rest(p);
}

/* --- errors */

static void a_match_that_met_an_error_is_sent_again_and_arrives_once(void **state)
{
    for (int arrived = 0; arrived < 2; arrived++) {
        struct pair *p = pair_new(2, 1);
        struct flight *f;

        (void)pair_send(p, 0, 100, false, false);
        f = pair_find(p, 0, MSG_MATCH);
        if (arrived) {
            pair_arrive(p, f);
            pair_complete(p, f, false);
        } else {
            pair_lose(p, f);
        }
        assert_non_null(pair_find(p, 0, MSG_MATCH));
        pair_run(p);
        pair_end_at_rest(p);
    }
}

static void a_fin_that_arrived_although_its_sender_saw_an_error_is_recognised(void **state)
{
    struct pair *p = pair_new(2, 1);
    struct flight *f;

    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 0, MSG_TRANSFER_FIN);
    f = pair_find(p, 0, MSG_TRANSFER_FIN);
    pair_arrive(p, f);
    assert_int_equal(p->messages[0].delivered, 1);
    pair_complete(p, f, false);
    assert_int_equal(p->messages[0].ended, 0);
    f = pair_find(p, 0, MSG_TRANSFER_FIN);
    assert_non_null(f);
    assert_true(transfer_match_eq(&f->m.fin.match,
                                  &(struct transfer_match){0, 1, {1, 1}, 0, p->messages[0].seq}));
    pair_run(p);
    pair_end_at_rest(p);
}

static void a_restart_waits_until_nothing_of_the_sender_is_outstanding(void **state)
{
    struct pair *p = pair_new(2, 1);
    struct flight *f;

    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 0, MSG_FRAG);
    pair_lose(p, pair_find(p, 0, MSG_FRAG));
    while ((f = pair_find(p, 0, MSG_FRAG))) {
        assert_null(pair_find(p, 0, MSG_RNDVRESTARTNOTIFY));
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    assert_non_null(pair_find(p, 0, MSG_RNDVRESTARTNOTIFY));
    pair_run(p);
    assert_int_equal(transfer_stats(p->end[0].e).restarts, 1);
    pair_end_at_rest(p);
}

static void a_restart_waits_until_nothing_of_the_receiver_is_outstanding(void **state)
{
    struct pair *p = pair_new(2, 1);
    struct flight *ack, *f;

    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 1, MSG_ACK);
    ack = pair_find(p, 1, MSG_ACK);
    pair_arrive(p, ack);
    while ((f = pair_find(p, 0, MSG_FRAG)))
        pair_lose(p, f);
    f = pair_find(p, 0, MSG_RNDVRESTARTNOTIFY);
    pair_arrive(p, f);
    pair_complete(p, f, true);
    assert_null(pair_find(p, 1, MSG_RNDVRESTARTACK));
    pair_complete(p, ack, true);
    assert_non_null(pair_find(p, 1, MSG_RNDVRESTARTACK));
    pair_run(p);
    pair_end_at_rest(p);
}

static void a_restart_sends_only_the_bytes_that_are_not_there(void **state)
{
    struct pair *p = pair_new(1, 1);
    struct flight *f;

    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 0, MSG_FRAG);
    for (int i = 0; i < 10; i++) {
        f = pair_find(p, 0, MSG_FRAG);
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    memset(p->messages[0].read, 0, sizeof(p->messages[0].read));
    while ((f = pair_find(p, 0, MSG_FRAG)))
        pair_lose(p, f);
    pair_run(p);
    assert_false(p->messages[0].read[9]);
    assert_true(p->messages[0].read[10]);
    pair_end_at_rest(p);
}

static void a_receiver_whose_answer_met_an_error_calls_for_a_restart(void **state)
{
    struct pair *p = pair_new(2, 1);
    char text[1024];

    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 1, MSG_ACK);
    pair_lose(p, pair_find(p, 1, MSG_ACK));
    run_and_name(p, text, sizeof(text));
    assert_string_equal(text, "1 RECVERRNOTIFY, 0 RNDVRESTARTNOTIFY, 1 RNDVRESTARTACK, "
                              "0 FRAG, 0 TRANSFER_FIN");
    pair_end_at_rest(p);
}

/* The receiver has all: its first answer and the last FIN have arrived, and both met an error. */
static void a_receiver_that_is_complete_answers_a_restart_with_nack(void **state)
{
    struct pair *p = pair_new(2, 1);
    struct flight *f, *fin;
    char text[1024];

    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 1, MSG_ACK);
    f = pair_find(p, 1, MSG_ACK);
    pair_arrive(p, f);
    pair_complete(p, f, false);
    while ((f = pair_find(p, 0, MSG_FRAG))) {
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    fin = pair_find(p, 0, MSG_TRANSFER_FIN);
    pair_arrive(p, fin);
    assert_int_equal(p->messages[0].delivered, 1);
    f = pair_find(p, 1, MSG_RECVERRNOTIFY);
    pair_arrive(p, f);
    pair_complete(p, f, true);
    pair_complete(p, fin, false);
    run_and_name(p, text, sizeof(text));
    assert_string_equal(text, "0 RNDVRESTARTNOTIFY, 1 RNDVRESTARTNACK");
    pair_end_at_rest(p);
}

/* --- each frame of the dance lost, late and doubled at each step */

enum fault { LOST, ARRIVED_WITH_ERROR, LATE, DOUBLED, FAULTS };
static const char *const fault_names[] = {"lost", "arrived with an error", "late", "doubled"};

struct wrong {
    enum msg_type type;
    int nth; /* from 1 */
    enum fault fault;
    int seen;
};

/* True: the frame has been dealt with. */
static bool go_wrong(struct pair *p, struct flight *f, struct wrong *w)
{
    if (f->m.type != w->type || f->arrived || f->completed || ++w->seen != w->nth)
        return false;
    switch (w->fault) {
    case LOST:
        pair_lose(p, f);
        break;
    case ARRIVED_WITH_ERROR:
        pair_arrive(p, f);
        pair_complete(p, f, false);
        break;
    case LATE:
        pair_complete(p, f, false);
        DL_DELETE(p->flights, f);
        DL_APPEND(p->flights, f);
        break;
    default:
        pair_arrive(p, f);
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    return true;
}

static struct flight *next_flight(struct pair *p)
{
    struct flight *f;

    DL_FOREACH(p->flights, f)
    {
        if (!f->completed)
            return f;
    }
    return p->flights; /* late ones */
}

static bool run_wrong(struct pair *p, struct wrong *w, size_t n)
{
    struct flight *f;

    while ((f = next_flight(p))) {
        bool done = false;

        if (f->completed) {
            pair_arrive(p, f);
            DL_DELETE(p->flights, f);
            free(f);
            continue;
        }
        for (size_t i = 0; i < n && !done; i++)
            done = go_wrong(p, f, &w[i]);
        if (done)
            continue;
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    return w[0].seen >= w[0].nth;
}

static const enum msg_type dance[] = {MSG_RNDV,
                                      MSG_RGET,
                                      MSG_ACK,
                                      MSG_PUT,
                                      MSG_GET,
                                      MSG_FRAG,
                                      MSG_TRANSFER_FIN,
                                      MSG_RNDVRESTARTNOTIFY,
                                      MSG_RECVERRNOTIFY,
                                      MSG_RNDVRESTARTACK,
                                      MSG_RNDVRESTARTNACK};

/* What else goes wrong, so that there is a dance. */
static const struct wrong others[][2] = {
    {{MSG_NO_TYPE, 1, LOST, 0}, {MSG_NO_TYPE, 1, LOST, 0}},
    {{MSG_FRAG, 3, LOST, 0}, {MSG_NO_TYPE, 1, LOST, 0}},
    {{MSG_FRAG, 12, ARRIVED_WITH_ERROR, 0}, {MSG_FRAG, 13, LOST, 0}},
    {{MSG_ACK, 1, LOST, 0}, {MSG_PUT, 1, LOST, 0}},
    {{MSG_ACK, 1, ARRIVED_WITH_ERROR, 0}, {MSG_PUT, 2, ARRIVED_WITH_ERROR, 0}},
    {{MSG_ACK, 1, ARRIVED_WITH_ERROR, 0}, {MSG_TRANSFER_FIN, 1, ARRIVED_WITH_ERROR, 0}},
    {{MSG_GET, 1, LOST, 0}, {MSG_PUT, 3, LOST, 0}},
    {{MSG_GET, 2, ARRIVED_WITH_ERROR, 0}, {MSG_TRANSFER_FIN, 1, ARRIVED_WITH_ERROR, 0}},
    {{MSG_GET, 3, ARRIVED_WITH_ERROR, 0}, {MSG_FRAG, 20, LOST, 0}},
};

static bool check_wrong(enum pair_how how, uint64_t size, const struct wrong *first, size_t other)
{
    struct pair *p = pair_new(2, 1);
    struct wrong w[3] = {*first, others[other][0], others[other][1]};
    bool met;

    (void)pair_send(p, 0, size, how == BY_GET, how == BY_PUT);
    met = run_wrong(p, w, 3);
    if (p->broken || !pair_all_there(p) || transfer_stats(p->end[0].e).illegal ||
        transfer_stats(p->end[1].e).illegal || transfer_stats(p->end[0].e).outstanding)
        fail_msg("protocol %d, %s number %d %s, beside fault %zu: %s", how, msg_name(first->type),
                 first->nth, fault_names[first->fault], other, p->broken ? p->broken : "stuck");
    pair_free(p);
    return met;
}

static size_t check_faults_of(enum msg_type type, enum fault fault)
{
    size_t met = 0;

    for (int how = BY_ACK; how < PAIR_HOWS; how++) {
        for (size_t other = 0; other < COUNT(others); other++) {
            for (int nth = 1; nth <= 3; nth++) {
                struct wrong first = {type, nth, fault, 0};

                met += check_wrong((enum pair_how)how, PAIR_LARGE, &first, other);
                met += check_wrong((enum pair_how)how, SEVERAL, &first, other);
            }
        }
    }
    return met;
}

static void each_frame_may_be_lost_late_and_doubled_at_each_step(void **state)
{
    for (size_t i = 0; i < COUNT(dance); i++) {
        for (int fault = LOST; fault < FAULTS; fault++) {
            size_t met = check_faults_of(dance[i], (enum fault)fault);

            if (met == 0)
                fail_msg("no run had a %s that was %s", msg_name(dance[i]), fault_names[fault]);
        }
    }
}

/* --- limits */

static void a_message_without_a_link_waits_for_one(void **state)
{
    struct pair *p = pair_new(1, 1);

    pair_break(p, 0);
    (void)pair_send_large(p, BY_ACK);
    assert_true(pair_idle(p));
    pair_mend(p, 0);
    pair_run(p);
    pair_end_at_rest(p);
}

static void fragments_use_all_links(void **state)
{
    struct pair *p = pair_new(3, 1);
    size_t on[3] = {0};
    struct flight *f;

    p->room = 2;
    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 0, MSG_FRAG);
    DL_FOREACH(p->flights, f)
    {
        on[f->link] += f->m.type == MSG_FRAG;
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(on[i], 2);
    pair_run(p);
    pair_end_at_rest(p);
}

static const uint8_t *read_nothing(void *arg, uint64_t offset, size_t len)
{
    return NULL;
}

static void count_end(void *arg, bool arrived)
{
    int *ended = arg;

    assert_false(arrived);
    ++*ended;
}

/* Message 0 again, with the same match data. */
static void send_again(struct pair *p)
{
    int ended = 0;
    struct transfer_source source = {.arg = &ended,
                                     .size = PAIR_LARGE,
                                     .match = {0, 1, {1, 1}, 0, 0},
                                     .read = read_nothing,
                                     .end = count_end};

    transfer_send(p->end[0].e, &source);
    assert_int_equal(ended, 1);
}

static void a_message_that_is_being_sent_is_not_sent_twice(void **state)
{
    struct pair *p = pair_new(1, 1);

    (void)pair_send_large(p, BY_ACK);
    send_again(p);
    assert_int_equal(transfer_stats(p->end[0].e).sending, 1);
    assert_int_equal(transfer_stats(p->end[0].e).outstanding, 1);
    pair_run(p);
    pair_end_at_rest(p);
}

/* --- an end that begins anew */

static void transfers_to_an_end_that_began_anew_fail_and_later_ones_arrive(void **state)
{
    for (int arrived = 0; arrived < 12; arrived++) {
        struct pair *p = pair_new(1, 1);

        (void)pair_send_large(p, BY_ACK);
        for (int i = 0; i < arrived; i++) {
            struct flight *f = p->flights;

            pair_arrive(p, f);
            pair_complete(p, f, true);
        }
        pair_forget(p, 1);
        if (arrived % 2)
            (void)pair_send(p, 1, PAIR_LARGE, false, false); /* the new end speaks first */
        pair_run(p);
        if (p->messages[0].ended == 0)
            send_again(p); /* nothing was on its way */
        pair_run(p);
        assert_int_equal(p->messages[0].ended, 1);
        (void)pair_send(p, 0, PAIR_LARGE, false, false);
        (void)pair_send(p, 1, 10, false, false);
        pair_run(p);
        for (size_t i = 1; i < p->nmessages; i++)
            assert_int_equal(p->messages[i].delivered, 1);
        assert_null(p->broken);
        pair_free(p);
    }
}

static void an_end_that_began_anew_as_a_sender_is_understood(void **state)
{
    struct pair *p = pair_new(1, 1);

    (void)pair_send_large(p, BY_ACK);
    pair_run_to(p, 0, MSG_FRAG);
    pair_forget(p, 0);
    assert_int_equal(p->messages[0].ended, 1);
    (void)pair_send(p, 0, PAIR_LARGE, false, false);
    pair_run(p);
    assert_int_equal(p->messages[0].delivered, 0);
    assert_int_equal(p->messages[0].opened, 0);
    assert_int_equal(p->messages[1].delivered, 1);
    assert_int_equal(transfer_stats(p->end[1].e).taking, 0);
    pair_free(p);
}

static void the_tables_are_sound(void **state)
{
    struct err err = {0};

    assert_int_equal(fsm_check(&sending_fsm, &err), 0);
    assert_int_equal(fsm_check(&taking_fsm, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fragment_of_a_transfer_that_was_not_offered_is_refused),
        cmocka_unit_test(a_number_out_of_the_window_is_refused),
        cmocka_unit_test(a_fragment_that_was_not_granted_writes_nothing),
        cmocka_unit_test(a_last_fin_before_all_bytes_have_come_ends_nothing),
        cmocka_unit_test(a_grant_beyond_the_message_or_of_another_dance_changes_nothing),
        cmocka_unit_test(a_message_that_the_receiver_does_not_want_ends_at_its_sender),
        cmocka_unit_test(a_small_message_goes_as_match),
        cmocka_unit_test(a_large_message_goes_as_rndv_ack_frag_fin),
        cmocka_unit_test(regions_that_a_receiver_exposes_are_put_and_finished_one_by_one),
        cmocka_unit_test(a_message_that_its_sender_exposes_is_read_by_get),
        cmocka_unit_test(a_long_message_goes_with_bounded_memory),
        cmocka_unit_test(a_match_that_met_an_error_is_sent_again_and_arrives_once),
        cmocka_unit_test(a_fin_that_arrived_although_its_sender_saw_an_error_is_recognised),
        cmocka_unit_test(a_restart_waits_until_nothing_of_the_sender_is_outstanding),
        cmocka_unit_test(a_restart_waits_until_nothing_of_the_receiver_is_outstanding),
        cmocka_unit_test(a_restart_sends_only_the_bytes_that_are_not_there),
        cmocka_unit_test(a_receiver_whose_answer_met_an_error_calls_for_a_restart),
        cmocka_unit_test(a_receiver_that_is_complete_answers_a_restart_with_nack),
        cmocka_unit_test(each_frame_may_be_lost_late_and_doubled_at_each_step),
        cmocka_unit_test(a_message_without_a_link_waits_for_one),
        cmocka_unit_test(fragments_use_all_links),
        cmocka_unit_test(a_message_that_is_being_sent_is_not_sent_twice),
        cmocka_unit_test(transfers_to_an_end_that_began_anew_fail_and_later_ones_arrive),
        cmocka_unit_test(an_end_that_began_anew_as_a_sender_is_understood),
        cmocka_unit_test(the_tables_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
