/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers over links that fail at random: the same seed gives the same schedule. DVM_SEEDS sets
 * the number of schedules, DVM_SEED the first one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/transfer/test/pair.h"

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

static void run_schedule(uint64_t seed)
{
    struct pair *p = pair_new(1 + (uint32_t)(seed % 4), seed);
    size_t n = 1 + pair_random(p, 12);
    int steps = 0;

    while (steps < 20000 && !p->broken) {
        if (p->nmessages < n && pair_random(p, 10) == 0)
            send_some(p);
        pair_step(p, true);
        steps++;
    }
    while (p->nmessages < n)
        send_some(p);
    while ((!pair_idle(p) || !pair_all_there(p)) && steps++ < STEPS_MAX && !p->broken)
        pair_step(p, false);
    if (p->broken)
        fail_msg("seed %llu: %s does not hold", (unsigned long long)seed, p->broken);
    if (!pair_all_there(p))
        fail_msg("seed %llu: exactly-once: a message has not arrived", (unsigned long long)seed);
    for (int i = 0; i < 2; i++) {
        struct transfer_stats st = transfer_stats(p->end[i].e);

        if (st.sending || st.taking || st.outstanding || st.illegal)
            fail_msg("seed %llu: end %d: %zu sent, %zu taken, %zu outstanding, %llu illegal",
                     (unsigned long long)seed, i, st.sending, st.taking, st.outstanding,
                     (unsigned long long)st.illegal);
    }
    pair_free(p);
}

static uint64_t number_of(const char *name, uint64_t other)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : other;
}

static void whatever_links_fail_each_message_arrives_once_and_whole(void **state)
{
    uint64_t first = number_of("DVM_SEED", 1);
    uint64_t n = number_of("DVM_SEEDS", 200);

    for (uint64_t seed = first; seed < first + n; seed++)
        run_schedule(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_links_fail_each_message_arrives_once_and_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
