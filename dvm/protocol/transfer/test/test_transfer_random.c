/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers over links that fail at random: the same seed gives the same schedule. DVM_SEEDS sets
 * the number of schedules, DVM_SEED the first one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/transfer/test/pair.h"
#include "dvm/protocol/transfer/test/phases.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS_MAX 2000000

static uint64_t draw_size(struct pair *p)
{
    uint64_t frags = pair_random(p, 4) == 0 ? 1 : 1 + pair_random(p, 60);

    return 1 + pair_random(p, frags * TRANSFER_FRAG_BYTES);
}

static void send_some(struct pair *p)
{
    int from = (int)pair_random(p, 2);
    uint64_t size = draw_size(p);
    bool exposed = pair_random(p, 3) == 0;

    (void)pair_send(p, from, size, exposed, pair_random(p, 2) == 0);
}

/* The transfers of one schedule; false: an invariant does not hold (p->broken), or it hangs. */
static bool run_steps(struct pair *p)
{
    bool many = pair_random(p, 4) == 0; /* more than are taken at once */
    size_t n = 1 + pair_random(p, many ? 60 : 12);
    int steps = 0;

    while (steps < 20000 && !p->broken) {
        if (p->nmessages < n && pair_random(p, many ? 2 : 10) == 0)
            send_some(p);
        pair_step(p, true);
        steps++;
    }
    while (p->nmessages < n)
        send_some(p);
    while ((!pair_idle(p) || !pair_all_there(p)) && steps++ < STEPS_MAX && !p->broken)
        pair_step(p, false);
    return !p->broken && pair_all_there(p);
}

static void check_rest(struct pair *p, uint64_t seed)
{
    for (int i = 0; i < 2; i++) {
        struct transfer_stats st = transfer_stats(p->end[i].e);

        if (st.sending || st.taking || st.outstanding || st.illegal)
            fail_msg("seed %llu: end %d: %zu sent, %zu taken, %zu outstanding, %llu illegal",
                     (unsigned long long)seed, i, st.sending, st.taking, st.outstanding,
                     (unsigned long long)st.illegal);
    }
}

/* With `only` nothing but this invariant is looked at. */
static void run_schedule(uint64_t seed, const char *only)
{
    struct pair *p = pair_new(1 + (uint32_t)(seed % 4), seed);
    bool arrived;

    p->only = only;
    p->quiet = only != NULL;
    p->note = phases_note;
    arrived = run_steps(p);
    if (p->broken)
        fail_msg("seed %llu: %s does not hold", (unsigned long long)seed, p->broken);
    if (!only && !arrived)
        fail_msg("seed %llu: exactly-once: a message has not arrived", (unsigned long long)seed);
    if (!only)
        check_rest(p, seed);
    pair_free(p);
}

static uint64_t number_of(const char *name, uint64_t other)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : other;
}

static void run_schedules(const char *only)
{
    uint64_t first = number_of("DVM_SEED", 1);
    uint64_t n = number_of("DVM_SEEDS", 200);

    phases_clear();
    for (uint64_t seed = first; seed < first + n; seed++)
        run_schedule(seed, only);
}

static void c24_whatever_links_fail_each_message_arrives_once_and_whole(void **state)
{
    run_schedules(NULL);
}

static void each_fault_meets_a_transfer_in_each_phase(void **state)
{
    run_schedules(NULL);
    if (phases_empty())
        fail_msg("%s", phases_empty());
}

static void c24_no_fragment_of_a_former_dance_is_written(void **state)
{
    run_schedules("no-fragment-of-a-former-dance");
}

static void transfers_are_bounded(void **state)
{
    run_schedules("transfer-bounded");
}

static void restarts_begin_when_nothing_is_outstanding(void **state)
{
    run_schedules("restart-when-quiet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c24_whatever_links_fail_each_message_arrives_once_and_whole),
        cmocka_unit_test(each_fault_meets_a_transfer_in_each_phase),
        cmocka_unit_test(c24_no_fragment_of_a_former_dance_is_written),
        cmocka_unit_test(transfers_are_bounded),
        cmocka_unit_test(restarts_begin_when_nothing_is_outstanding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
