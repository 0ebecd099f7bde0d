/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a job over seven daemons that end at any moment of its collectives: all that take part
 * see one outcome, and nobody waits for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/dvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 7u
#define ROUNDS 4u

/* One daemon with one rank of the job: vpid v has rank v - 1. */
struct place {
    uint32_t begun, ended;
    int outcomes[ROUNDS];
    size_t len[ROUNDS]; /* of the data */
    bool left;
};

struct dvm {
    struct sim *sim;
    size_t job;
    struct place places[MEMBERS + 1];
    uint64_t dice;
};

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;
    struct place *p = &d->places[vpid];

    if (act->kind != OUT_GATHER)
        return;
    assert_int_equal(act->gather.req, p->ended); /* once, and in order */
    assert_true(p->ended < p->begun);
    p->len[p->ended] = act->gather.data.len;
    p->outcomes[p->ended++] = act->gather.outcome;
}

static uint64_t roll(struct dvm *d, uint64_t sides)
{
    d->dice = d->dice * 6364136223846793005u + 1442695040888963407u;
    return (d->dice >> 33) % sides;
}

static const char *nspace_of(struct dvm *d)
{
    return sim_job(d->sim, d->job)->nspace;
}

static struct dvm *dvm_new(uint64_t seed)
{
    struct dvm_shape shape = {.members = MEMBERS, .started = MEMBERS, .slots = 1};
    const struct sim_want want = {.ranks = MEMBERS, .run_ms = 600000};
    struct dvm *d = xcalloc(1, sizeof(*d));
    struct sim_hooks h = {.arg = d, .action = on_action};

    d->dice = seed;
    d->sim = dvm_boot(&shape);
    sim_watch(d->sim, &h);
    sim_for(d->sim, 500);
    d->job = sim_submit_job(d->sim, 1, &want);
    sim_for(d->sim, 500);
    for (uint32_t v = 1; v <= MEMBERS; v++) {
        assert_int_equal(sim_ranks(d->sim, v), 1);
        core_proc(sim_core(d->sim, v), nspace_of(d), v - 1, CORE_PROC_REGISTERED, 0, NULL);
        sim_drain(d->sim, v);
    }
    return d;
}

static void dvm_free(struct dvm *d)
{
    sim_destroy(d->sim);
    free(d);
}

static void contribute(struct dvm *d, uint32_t v)
{
    static const uint32_t all[] = {1, 2, 3, 4, 5, 6, 7};
    static const uint8_t every_rank[] = {0xff, 0xff, 0xff, 0xfe};
    char sig[96];
    size_t len = (size_t)snprintf(sig, sizeof(sig), "f%s", nspace_of(d)) + 1;
    struct gather_call call = {.req = d->places[v].begun++,
                               .sig = sig,
                               .siglen = len + sizeof(every_rank),
                               .n = MEMBERS,
                               .vpids = all,
                               .data = "x",
                               .len = 1};

    memcpy(sig + len, every_rank, sizeof(every_rank));
    sim_clock(d->sim, v);
    core_gather(sim_core(d->sim, v), &call);
    sim_drain(d->sim, v);
}

/* In a collective too: a killed rank does not wait for its outcome. */
static void end_rank(struct dvm *d, uint32_t v)
{
    struct core *c = sim_core(d->sim, v);

    d->places[v].left = true;
    sim_clock(d->sim, v);
    core_rank_ended(c, nspace_of(d), v - 1);
    core_proc_ended(c, nspace_of(d), v - 1, 0, RANK_PLAIN);
    core_rank_left(c, nspace_of(d), v - 1);
    sim_drain(d->sim, v);
}

static void go_on(struct dvm *d, uint32_t v, uint64_t ends_of)
{
    const struct place *p = &d->places[v];

    if (p->left)
        return;
    if (v != 1 + ends_of && roll(d, 12) == 0)
        end_rank(d, v);
    else if (p->begun < ROUNDS && p->ended == p->begun && roll(d, 3) == 0)
        contribute(d, v);
}

static size_t contributions(const struct dvm *d, uint32_t round)
{
    size_t n = 0;

    for (uint32_t v = 1; v <= MEMBERS; v++)
        n += d->places[v].begun > round;
    return n;
}

static void check_round(const struct dvm *d, uint32_t round)
{
    size_t n = contributions(d, round);

    for (uint32_t v = 1; v <= MEMBERS; v++) {
        const struct place *p = &d->places[v];

        if (p->begun <= round)
            continue;
        if (p->ended <= round || p->outcomes[round] != (n == MEMBERS ? GATHER_OK : GATHER_ENDED) ||
            p->len[round] != n)
            fail_msg("round %u: vpid %u of %zu that came: %s %d, %zu bytes", round, v, n,
                     p->ended <= round ? "waits" : "has", p->outcomes[round], p->len[round]);
    }
}

static void ranks_end_at_any_moment_and_nobody_waits_for_them(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct dvm *d = dvm_new(seed);
        uint64_t stays = roll(d, MEMBERS); /* else the job would be over */

        for (int step = 0; step < 400; step++) {
            go_on(d, 1 + (uint32_t)roll(d, MEMBERS), stays);
            sim_for(d->sim, 1 + roll(d, 40));
        }
        while (d->places[1 + stays].begun < ROUNDS) {
            if (d->places[1 + stays].ended == d->places[1 + stays].begun)
                contribute(d, 1 + (uint32_t)stays);
            sim_for(d->sim, 2000);
            assert_int_equal(d->places[1 + stays].ended, d->places[1 + stays].begun);
        }
        sim_for(d->sim, 2000);
        for (uint32_t round = 0; round < ROUNDS; round++)
            check_round(d, round);
        dvm_free(d);
    }
}

static void note_wait(void *arg, const struct core_wait *w)
{
    assert_int_equal(w->kind, 'f');
    snprintf(arg, 64, "%s", w->text);
}

/* The text of the only wait of the only job on vpid v; "": the job does not wait there. */
static void assert_waits(struct dvm *d, uint32_t v, const char *text)
{
    char told[64] = "";

    assert_int_equal(core_waits(sim_core(d->sim, v), note_wait, told), 1);
    assert_string_equal(told, text);
}

static void a_daemon_tells_which_ranks_here_others_wait_for(void **state)
{
    struct dvm *d = dvm_new(1);

    for (uint32_t v = 1; v < MEMBERS; v++) {
        assert_waits(d, v, "");
        contribute(d, v);
    }
    sim_for(d->sim, 2000);
    for (uint32_t v = 1; v < MEMBERS; v++)
        assert_waits(d, v, "");
    assert_waits(d, MEMBERS, "fence: other daemons wait for rank 6");
    contribute(d, MEMBERS);
    sim_for(d->sim, 2000);
    assert_waits(d, MEMBERS, "");
    dvm_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_end_at_any_moment_and_nobody_waits_for_them),
        cmocka_unit_test(a_daemon_tells_which_ranks_here_others_wait_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
