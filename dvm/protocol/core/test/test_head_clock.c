/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of jobs and campaigns stay where they are when the head's process ends, also when the
 * wall clock is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"

#define MEMBERS 4
#define LIMIT_MS 40000
#define DAY_MS 86400000LL

enum when { BEFORE, WHILE_AWAY };

static const int64_t wall_clocks[] = {0, 30000, DAY_MS, -30000, -60000};

static bool is_head(struct sim *s, void *arg)
{
    return sim_core(s, 0) && core_state(sim_core(s, 0)) == CORE_WIRED;
}

struct drain { /* of 40 s; it ends a job of 200 s at its deadline */
    struct sim *sim;
    uint64_t since;
    size_t job;
};

static struct drain begin_drain(bool keepers)
{
    struct drain d = {.sim = dvm_boot(&(struct dvm_shape){.members = MEMBERS,
                                                          .started = MEMBERS,
                                                          .slots = 2,
                                                          .keepers = keepers,
                                                          .disk = !keepers})};
    uint32_t target = MEMBERS;
    struct api_campaign_request r = {
        .sequence = 1, .deadline_s = LIMIT_MS / 1000, .ntargets = 1, .targets = &target};

    dvm_wait_wired(d.sim, MEMBERS, 20000);
    d.job = sim_submit(d.sim, 3, 2 * MEMBERS, 200000, 0);
    sim_for(d.sim, 60000);
    dvm_put_campaign(d.sim, "down", &r);
    d.since = sim_now(d.sim);
    return d;
}

/* A new head begins. The job ends at the deadline, or so much later. */
static void end_drain(struct drain *d, uint64_t late_ms)
{
    sim_start(d->sim, 0);
    assert_true(sim_until(d->sim, is_head, NULL, 20000));
    sim_for(d->sim, d->since + LIMIT_MS - 2000 - sim_now(d->sim));
    assert_false(sim_job(d->sim, d->job)->done);
    sim_for(d->sim, 5000 + late_ms);
    assert_true(sim_job(d->sim, d->job)->done);
    sim_destroy(d->sim);
}

static void replace_head(bool keepers, enum when when, int64_t set_ms, uint64_t late_ms)
{
    struct drain d = begin_drain(keepers);

    sim_for(d.sim, 5000);
    if (when == BEFORE)
        sim_jump_clock(d.sim, 0, set_ms);
    sim_for(d.sim, API_FAULTS_SILENCE_MS / 2); /* the head hears of its members meanwhile */
    sim_crash(d.sim, 0);
    if (when == WHILE_AWAY)
        sim_jump_clock(d.sim, 0, set_ms);
    sim_for(d.sim, DVM_AWAY_MS);
    end_drain(&d, late_ms);
}

static void c21_limits_stay_whatever_the_wall_clock_of_a_head_with_keepers_is(void **state)
{
    for (size_t i = 0; i < sizeof(wall_clocks) / sizeof(*wall_clocks); i++) {
        replace_head(true, BEFORE, wall_clocks[i], 0);
        replace_head(true, WHILE_AWAY, wall_clocks[i], 0);
    }
}

/* Its last records come to a keeper that hangs, which takes them after the end of the head. */
static void c21_limits_stay_although_keepers_have_the_last_records_late(void **state)
{
    struct drain d = begin_drain(true);

    sim_for(d.sim, 2000);
    for (uint32_t v = 1; v <= 2; v++)
        sim_stop(d.sim, v, true);
    sim_submit(d.sim, 0, 1, 10, 0);
    sim_for(d.sim, 300);
    sim_crash(d.sim, 0);
    sim_for(d.sim, 8000);
    for (uint32_t v = 1; v <= 2; v++)
        sim_stop(d.sim, v, false);
    end_drain(&d, 0);
}

static void c21_limits_stay_when_the_wall_clock_was_set_before_the_head_ended(void **state)
{
    for (size_t i = 0; i < sizeof(wall_clocks) / sizeof(*wall_clocks); i++)
        replace_head(false, BEFORE, wall_clocks[i], 0);
}

/* It is not known how long there was no head: its time goes on from the last moment that is
 * recorded. */
static void c21_the_wall_clock_may_be_set_back_while_a_volume_waits_for_its_next_head(void **state)
{
    replace_head(false, WHILE_AWAY, -DAY_MS, 12000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c21_limits_stay_whatever_the_wall_clock_of_a_head_with_keepers_is),
        cmocka_unit_test(c21_limits_stay_although_keepers_have_the_last_records_late),
        cmocka_unit_test(c21_limits_stay_when_the_wall_clock_was_set_before_the_head_ended),
        cmocka_unit_test(c21_the_wall_clock_may_be_set_back_while_a_volume_waits_for_its_next_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
