/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that wait for slots: their order, which may pass, and what wakes them. Four slots on two
 * members. */
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/head/head.h"
#include "dvm/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLOTS 4

static struct sim *new_dvm(void)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 2, .started = 2, .slots = 2});

    sim_for(s, 500);
    return s;
}

/* The job is known by its client's number. Its ranks run for `ms`. */
static void submit(struct sim *s, uint32_t client, uint32_t ranks, int ms, uint64_t timeout_ms,
                   uint32_t flags)
{
    char run[16];
    char *argv[] = {run, "0", NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = ranks};
    struct job_spec spec = {
        .parent_nspace = "", .napps = 1, .apps = &app, .timeout_ms = timeout_ms, .flags = flags};

    snprintf(run, sizeof(run), "%d", ms);
    core_submit(sim_core(s, 0), client, &spec);
    sim_drain(s, 0);
    sim_for(s, 100);
}

static bool runs(struct sim *s, uint32_t client)
{
    return sim_job(s, client)->state == JOB_RUNNING && !sim_job(s, client)->done;
}

static bool is_done(struct sim *s, void *arg)
{
    return sim_job(s, *(uint32_t *)arg)->done;
}

static void assert_ends(struct sim *s, uint32_t client, int code)
{
    assert_true(sim_until(s, is_done, &client, 600000));
    assert_int_equal(sim_job(s, client)->exit_code, code);
}

static void a_later_job_that_would_fit_waits_for_the_first(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, 3, 60000, 0, 0);
    submit(s, 2, 2, 1000, 0, 0);
    submit(s, 3, 1, 1000, 0, 0);
    assert_true(runs(s, 1));
    assert_false(runs(s, 2));
    assert_false(runs(s, 3));
    assert_ends(s, 2, 0);
    assert_ends(s, 3, 0);
    sim_destroy(s);
}

static void a_job_that_ends_before_the_first_could_start_passes(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, 3, 60000, 90000, 0);
    submit(s, 2, 2, 1000, 0, 0);
    submit(s, 3, 1, 1000, 5000, 0);
    assert_true(runs(s, 3));
    assert_false(runs(s, 2));
    assert_ends(s, 3, 0);
    assert_false(sim_job(s, 1)->done);
    assert_ends(s, 2, 0);
    sim_destroy(s);
}

static void a_job_that_could_end_after_the_first_could_start_does_not_pass(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, 3, 60000, 90000, 0);
    submit(s, 2, 2, 1000, 0, 0);
    submit(s, 3, 1, 1000, 95000, 0);
    assert_false(runs(s, 3));
    assert_ends(s, 3, 0);
    assert_true(sim_job(s, 1)->done && (sim_job(s, 2)->done || runs(s, 2)));
    sim_destroy(s);
}

static void a_timeout_counts_from_the_start_not_from_submission(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, SLOTS, 10000, 0, 0);
    submit(s, 2, SLOTS, 2000, 3000, 0); /* waits for longer than this job may run, */
    submit(s, 3, SLOTS, 4000, 3000, 0); /* and this one runs for longer */
    assert_ends(s, 2, 0);
    assert_ends(s, 3, 124);
    sim_destroy(s);
}

static void a_job_that_has_waited_long_may_still_pass_another(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, 3, 60000, 90000, 0);
    submit(s, 2, 1, 6000, 0, 0);
    submit(s, 3, 2, 1000, 0, 0);
    submit(s, 4, 1, 2000, 5000, 0); /* there is no room for 6 s, longer than its own time limit */
    assert_false(runs(s, 4));
    assert_ends(s, 4, 0);
    assert_false(sim_job(s, 3)->done);
    sim_destroy(s);
}

static void no_job_is_passed_more_often_than_the_limit(void **state)
{
    struct sim *s = new_dvm();
    uint32_t passed = 0;

    submit(s, 1, 3, 300000, 0, 0); /* its end is not known, so a job with a known end may pass */
    submit(s, 2, 4, 1000, 0, 0);
    for (uint32_t c = 3; c < 3 + 20; c++) {
        submit(s, c, 1, 500, 900000, 0);
        passed += runs(s, c);
        sim_for(s, 2000);
    }
    assert_int_equal(passed, 16);
    assert_ends(s, 2, 0);
    assert_ends(s, 22, 0);
    sim_destroy(s);
}

static void a_job_that_never_fits_fails_at_once_behind_other_jobs_too(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, SLOTS, 60000, 0, 0);
    submit(s, 2, 1, 1000, 0, 0);
    submit(s, 3, SLOTS + 1, 1000, 0, 0);
    assert_true(sim_job(s, 3)->done);
    assert_int_equal(sim_job(s, 3)->exit_code, 125);
    assert_non_null(strstr(sim_job(s, 3)->text, "the DVM has 4 slots"));
    assert_false(sim_job(s, 2)->done);
    sim_destroy(s);
}

static void shrink_to_one(struct sim *s)
{
    uint32_t target = 2;
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .targets = &target,
                                     .ntargets = 1};
    struct api_campaign c;
    enum api_reason reason;

    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
}

static void c26_a_job_that_is_too_large_since_a_shrink_waits_and_is_passed(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, 3, 5000, 0, 0);
    submit(s, 2, 4, 1000, 0, 0);
    shrink_to_one(s);
    assert_ends(s, 1, 0);
    dvm_wait_complete(s, "c", 30000);
    for (uint32_t client = 3; client < 23; client++) { /* more than may pass another one */
        submit(s, client, 2, 10, 0, 0);
        assert_ends(s, client, 0);
    }
    assert_false(sim_job(s, 2)->done);
    dvm_put_size(s, 2, 2);
    sim_crash(s, 2); /* the process that has left */
    sim_start(s, 2);
    assert_ends(s, 2, 0);
    sim_destroy(s);
}

static void a_job_that_was_accepted_behind_another_waits_after_a_shrink_too(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, 3, 5000, 0, 0);
    submit(s, 2, 2, 1000, 0, 0);
    submit(s, 3, SLOTS, 1000, 0, 0); /* fits the size at its submission */
    shrink_to_one(s);
    assert_ends(s, 2, 0);
    dvm_wait_complete(s, "c", 30000);
    sim_for(s, 1000);
    assert_false(sim_job(s, 3)->done);
    dvm_put_size(s, 2, 2);
    sim_crash(s, 2); /* the process that has left */
    sim_start(s, 2);
    assert_ends(s, 3, 0);
    sim_destroy(s);
}

static void a_job_starts_at_once_on_a_member_whose_shrink_is_cancelled(void **state)
{
    struct sim *s = new_dvm();
    struct api_campaign c;
    enum api_reason reason;

    submit(s, 1, 3, 60000, 0, 0);
    shrink_to_one(s);
    submit(s, 2, 1, 60000, 0, 0);
    assert_false(runs(s, 2));
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "c", &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    sim_for(s, 100);
    assert_true(runs(s, 2));
    sim_destroy(s);
}

/* --- what wakes them: three members with two slots each */

static struct sim *new_dvm_of_three(void)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 3, .started = 3, .slots = 2});

    sim_for(s, 500);
    return s;
}

static void remove_the_third(struct sim *s)
{
    uint32_t target = 3;
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .targets = &target,
                                     .ntargets = 1};

    dvm_put_campaign(s, "c", &r);
}

static void c9_slots_that_become_free_while_a_fence_is_up_wake_the_queue_after_it(void **state)
{
    struct sim *s = new_dvm_of_three();

    submit(s, 1, 4, 1000, 0, 0);
    submit(s, 2, 3, 60000, 0, 0);
    sim_stop(s, 3, true); /* the fence is up until it has left */
    remove_the_third(s);
    assert_ends(s, 1, 0);
    assert_int_equal(dvm_phase(s, "c"), API_PHASE_REMOVING);
    assert_false(runs(s, 2));
    sim_stop(s, 3, false);
    dvm_wait_complete(s, "c", 30000);
    sim_for(s, 100);
    assert_true(runs(s, 2));
    sim_destroy(s);
}

static void c9_a_job_behind_one_that_a_shrink_makes_too_large_starts_with_the_shrink(void **state)
{
    struct sim *s = new_dvm_of_three();

    submit(s, 1, 3, 60000, 0, 0);
    submit(s, 2, 5, 1000, 0, 0);
    submit(s, 3, 1, 60000, 0, 0);
    assert_false(runs(s, 3));
    remove_the_third(s);
    dvm_wait_complete(s, "c", 30000);
    sim_for(s, 100);
    assert_true(runs(s, 3));
    assert_false(sim_job(s, 2)->done);
    sim_destroy(s);
}

static void a_job_with_no_wait_does_not_wait_behind_other_jobs(void **state)
{
    struct sim *s = new_dvm();

    submit(s, 1, 3, 60000, 0, 0);
    submit(s, 2, 2, 1000, 0, 0);
    submit(s, 3, 1, 1000, 0, JOB_NO_WAIT);
    assert_true(sim_job(s, 3)->done);
    assert_int_equal(sim_job(s, 3)->exit_code, 125);
    assert_non_null(strstr(sim_job(s, 3)->text, "an earlier job waits for slots (--no-wait)"));
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_job_that_would_fit_waits_for_the_first),
        cmocka_unit_test(a_job_that_ends_before_the_first_could_start_passes),
        cmocka_unit_test(a_job_that_could_end_after_the_first_could_start_does_not_pass),
        cmocka_unit_test(a_timeout_counts_from_the_start_not_from_submission),
        cmocka_unit_test(a_job_that_has_waited_long_may_still_pass_another),
        cmocka_unit_test(no_job_is_passed_more_often_than_the_limit),
        cmocka_unit_test(a_job_that_never_fits_fails_at_once_behind_other_jobs_too),
        cmocka_unit_test(c26_a_job_that_is_too_large_since_a_shrink_waits_and_is_passed),
        cmocka_unit_test(a_job_that_was_accepted_behind_another_waits_after_a_shrink_too),
        cmocka_unit_test(a_job_starts_at_once_on_a_member_whose_shrink_is_cancelled),
        cmocka_unit_test(a_job_with_no_wait_does_not_wait_behind_other_jobs),
        cmocka_unit_test(c9_slots_that_become_free_while_a_fence_is_up_wake_the_queue_after_it),
        cmocka_unit_test(c9_a_job_behind_one_that_a_shrink_makes_too_large_starts_with_the_shrink),
    };

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
