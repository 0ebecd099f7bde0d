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

static bool is_head(struct sim *s, void *arg)
{
    return sim_core(s, 0) && core_state(sim_core(s, 0)) == CORE_WIRED;
}

/* The head's wall clock is set by so much. A drain of 40 s ends a job of 200 s at its deadline. */
static void replace_head(bool keepers, enum when when, int64_t set_ms)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = MEMBERS, .started = MEMBERS, .slots = 2, .keepers = keepers, .disk = !keepers});
    uint32_t target = MEMBERS;
    struct api_campaign_request r = {
        .sequence = 1, .deadline_s = LIMIT_MS / 1000, .ntargets = 1, .targets = &target};
    uint64_t since;
    size_t job;

    dvm_wait_wired(s, MEMBERS, 20000);
    job = sim_submit(s, 1, 2 * MEMBERS, 200000, 0);
    sim_for(s, 60000);
    dvm_put_campaign(s, "down", &r);
    since = sim_now(s);
    sim_for(s, 5000);
    if (when == BEFORE)
        sim_jump_clock(s, 0, set_ms);
    sim_for(s, API_FAULTS_SILENCE_MS / 2); /* the head hears of its members meanwhile */
    sim_crash(s, 0);
    if (when == WHILE_AWAY)
        sim_jump_clock(s, 0, set_ms);
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 20000));
    sim_for(s, since + LIMIT_MS - 2000 - sim_now(s));
    assert_false(sim_job(s, job)->done);
    sim_for(s, 15000);
    assert_true(sim_job(s, job)->done);
    sim_destroy(s);
}

static void c21_limits_stay_whatever_the_wall_clock_of_a_head_with_keepers_is(void **state)
{
    static const int64_t set[] = {0, 30000, DAY_MS, -30000, -DAY_MS};

    for (size_t i = 0; i < 5; i++) {
        replace_head(true, BEFORE, set[i]);
        replace_head(true, WHILE_AWAY, set[i]);
    }
}

static void c21_limits_stay_when_the_wall_clock_was_set_before_the_head_ended(void **state)
{
    static const int64_t set[] = {0, 30000, DAY_MS, -30000, -DAY_MS};

    for (size_t i = 0; i < 5; i++)
        replace_head(false, BEFORE, set[i]);
}

/* It cannot be known how long there was no head. Its time goes on from the last record. */
static void c21_the_wall_clock_may_be_set_back_while_a_volume_waits_for_its_next_head(void **state)
{
    replace_head(false, WHILE_AWAY, -DAY_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c21_limits_stay_whatever_the_wall_clock_of_a_head_with_keepers_is),
        cmocka_unit_test(c21_limits_stay_when_the_wall_clock_was_set_before_the_head_ended),
        cmocka_unit_test(c21_the_wall_clock_may_be_set_back_while_a_volume_waits_for_its_next_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
