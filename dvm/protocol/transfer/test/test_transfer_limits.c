/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of transfers is taken at once: their number, their bytes and their window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/transfer/test/pair.h"

static void a_receiver_takes_a_few_transfers_at_once_and_then_the_others(void **state)
{
    struct pair *p = pair_new(2, 1);
    struct flight *f;

    for (int i = 0; i < 2 * TRANSFER_TAKEN_MAX; i++)
        (void)pair_send_large(p, BY_ACK);
    while ((f = pair_find(p, 0, MSG_RNDV))) {
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    assert_int_equal(transfer_stats(p->end[1].e).taking, 2 * TRANSFER_TAKEN_MAX);
    for (int i = 0; i < TRANSFER_TAKEN_MAX; i++)
        pair_arrive(p, pair_find(p, 1, MSG_ACK));
    assert_null(pair_find(p, 1, MSG_ACK));
    pair_run(p);
    pair_end_at_rest(p);
}

static size_t count_acks(struct pair *p)
{
    size_t n = 0;
    struct flight *f;

    while ((f = pair_find(p, 0, MSG_RNDV))) {
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    while ((f = pair_find(p, 1, MSG_ACK))) {
        pair_arrive(p, f);
        pair_complete(p, f, true);
        n++;
    }
    return n;
}

/* The limit is that of two messages and a bit. */
static struct pair *pair_of_two(void)
{
    struct pair *p = pair_new(2, 1);

    p->taken_bytes = 2 * PAIR_LARGE + 10;
    pair_forget(p, 0);
    pair_forget(p, 1);
    return p;
}

static void a_receiver_takes_so_many_bytes_at_once_and_then_the_others(void **state)
{
    struct pair *p = pair_of_two();

    for (int i = 0; i < 5; i++)
        (void)pair_send_large(p, BY_ACK);
    assert_int_equal(count_acks(p), 2);
    pair_run(p);
    pair_end_at_rest(p);
}

static void a_message_longer_than_the_limit_is_taken_alone_and_in_its_turn(void **state)
{
    struct pair *p = pair_of_two();

    (void)pair_send_large(p, BY_ACK);
    (void)pair_send(p, 0, 5 * PAIR_LARGE, false, false);
    (void)pair_send_large(p, BY_ACK);
    assert_int_equal(count_acks(p), 1);
    while (p->messages[1].opened == 0) {
        assert_int_equal(p->messages[2].opened, 0);
        pair_arrive(p, p->flights);
        pair_complete(p, p->flights, true);
    }
    assert_int_equal(p->messages[0].delivered, 1);
    while (p->messages[2].opened == 0) {
        pair_arrive(p, p->flights);
        pair_complete(p, p->flights, true);
    }
    assert_int_equal(p->messages[1].delivered, 1);
    pair_run(p);
    pair_end_at_rest(p);
}

static void more_messages_than_the_window_all_arrive(void **state)
{
    struct pair *p = pair_new(2, 1);

    for (int i = 0; i < TRANSFER_WINDOW + 50; i++)
        (void)pair_send(p, 0, 100, false, false);
    assert_int_equal(transfer_stats(p->end[0].e).outstanding, TRANSFER_WINDOW);
    pair_run(p);
    pair_end_at_rest(p);
}

/* The sender has it, and goes on, before the receiver knows that. */
static void a_message_that_was_read_takes_no_place_in_the_window(void **state)
{
    struct pair *p = pair_new(1, 1);
    struct flight *f;

    (void)pair_send_large(p, BY_GET);
    pair_run_to(p, 1, MSG_TRANSFER_FIN);
    pair_arrive(p, pair_find(p, 1, MSG_TRANSFER_FIN));
    for (int i = 0; i < TRANSFER_WINDOW + 50; i++)
        (void)pair_send(p, 0, 100, false, false);
    while ((f = pair_find(p, 0, MSG_MATCH))) {
        pair_arrive(p, f);
        pair_complete(p, f, true);
    }
    assert_int_equal(transfer_stats(p->end[1].e).illegal, 0);
    assert_int_equal(transfer_stats(p->end[1].e).taking, 1);
    pair_run(p);
    pair_end_at_rest(p);
}

static size_t read_all_without_completions(struct pair *p)
{
    static const enum msg_type from_sender[] = {MSG_RGET, MSG_FRAG};
    size_t nfins = 0;
    struct flight *f;
    bool moved = true;

    while (moved) {
        moved = false;
        for (size_t i = 0; i < 2; i++) {
            while ((f = pair_find(p, 0, from_sender[i]))) {
                pair_arrive(p, f);
                pair_complete(p, f, true);
                moved = true;
            }
        }
        for (; (f = pair_find(p, 1, MSG_GET)); moved = true)
            pair_arrive(p, f);
        for (; (f = pair_find(p, 1, MSG_TRANSFER_FIN)); moved = true, nfins++)
            pair_arrive(p, f);
    }
    return nfins;
}

static void a_sender_that_completes_no_fin_is_not_read_without_end(void **state)
{
    struct pair *p = pair_new(1, 1);

    for (int i = 0; i < 2 * TRANSFER_TAKEN_MAX; i++)
        (void)pair_send_large(p, BY_GET);
    assert_int_equal(read_all_without_completions(p), TRANSFER_TAKEN_MAX);
    pair_run(p);
    pair_end_at_rest(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receiver_takes_a_few_transfers_at_once_and_then_the_others),
        cmocka_unit_test(a_receiver_takes_so_many_bytes_at_once_and_then_the_others),
        cmocka_unit_test(a_message_longer_than_the_limit_is_taken_alone_and_in_its_turn),
        cmocka_unit_test(more_messages_than_the_window_all_arrive),
        cmocka_unit_test(a_message_that_was_read_takes_no_place_in_the_window),
        cmocka_unit_test(a_sender_that_completes_no_fin_is_not_read_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
