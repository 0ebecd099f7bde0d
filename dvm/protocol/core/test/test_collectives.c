/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives between daemons: their outcome when a participant does not contribute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/gather/gather.h"

#include <stdlib.h>

#define MEMBERS 3u

struct dvm {
    struct sim *sim;
    int64_t gathered[MEMBERS + 1]; /* answer; 99: none */
};

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;

    if (act->kind == OUT_GATHER)
        d->gathered[vpid] = act->gather.outcome;
}

static struct dvm *dvm_new(void)
{
    struct dvm_shape shape = {.members = MEMBERS, .started = MEMBERS, .slots = 2};
    struct dvm *d = xcalloc(1, sizeof(*d));
    struct sim_hooks h = {.arg = d, .action = on_action};

    d->sim = dvm_boot(&shape);
    sim_watch(d->sim, &h);
    sim_for(d->sim, 500);
    return d;
}

static void dvm_free(struct dvm *d)
{
    sim_destroy(d->sim);
    free(d);
}

static struct core *core_of(struct dvm *d, uint32_t vpid)
{
    return sim_core(d->sim, vpid);
}

static void settle(struct dvm *d, uint32_t vpid)
{
    sim_drain(d->sim, vpid);
    sim_for(d->sim, 100);
}

static void contribute_for(struct dvm *d, uint32_t vpid, uint64_t req, const char *data,
                           uint64_t timeout_ms)
{
    static const uint32_t all[] = {1, 2, 3};
    struct gather_call call = {.req = req,
                               .sig = "sig",
                               .siglen = 3,
                               .n = 3,
                               .vpids = all,
                               .data = data,
                               .len = 1,
                               .timeout_ms = timeout_ms};

    d->gathered[vpid] = 99;
    core_time(core_of(d, vpid), sim_now(d->sim), sim_now(d->sim));
    core_gather(core_of(d, vpid), &call);
}

static void contribute(struct dvm *d, uint32_t vpid, uint64_t req, const char *data)
{
    contribute_for(d, vpid, req, data, 0);
}

/* A late participant gets it too. The next collective of the same participants is not affected. */
static void a_collective_that_times_out_ends_with_timeout_for_all_members(void **state)
{
    struct dvm *d = dvm_new();

    contribute(d, 1, 1, "x");
    settle(d, 1);
    contribute_for(d, 2, 2, "x", 3000);
    sim_drain(d->sim, 2);
    sim_for(d->sim, 2900);
    assert_int_equal(d->gathered[1], 99);
    assert_int_equal(d->gathered[2], 99);
    sim_for(d->sim, 200);
    assert_int_equal(d->gathered[1], GATHER_TIMEOUT);
    assert_int_equal(d->gathered[2], GATHER_TIMEOUT);
    contribute(d, 3, 3, "x");
    settle(d, 3);
    assert_int_equal(d->gathered[3], GATHER_TIMEOUT);
    for (uint32_t v = 1; v <= 3; v++) {
        contribute_for(d, v, 10 + v, "y", 500);
        sim_drain(d->sim, v);
    }
    sim_for(d->sim, 100);
    for (uint32_t v = 1; v <= 3; v++)
        assert_int_equal(d->gathered[v], 0);
    sim_for(d->sim, 1000);
    dvm_free(d);
}

static void a_collective_ends_for_all_members_or_fails_for_the_remaining_ones(void **state)
{
    struct dvm *d = dvm_new();

    for (uint32_t v = 1; v <= 3; v++) {
        contribute(d, v, v, "x");
        settle(d, v);
        assert_int_equal(d->gathered[1], v < 3 ? 99 : 0);
    }
    assert_int_equal(d->gathered[2], 0);
    assert_int_equal(d->gathered[3], 0);
    for (uint32_t v = 1; v <= 2; v++) {
        d->gathered[v] = 99;
        contribute(d, v, 10 + v, "y");
        settle(d, v);
    }
    sim_crash(d->sim, 3);
    sim_for(d->sim, 8000);
    assert_int_equal(d->gathered[1], GATHER_LOST);
    assert_int_equal(d->gathered[2], GATHER_LOST);
    dvm_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collective_ends_for_all_members_or_fails_for_the_remaining_ones),
        cmocka_unit_test(a_collective_that_times_out_ends_with_timeout_for_all_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
