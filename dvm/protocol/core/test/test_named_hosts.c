/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that name members (--host): each of these is there when the job comes, or joins by a grow.
 */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Members 1 and 2, two slots each; 3 and 4 may join. */
static struct sim *new_dvm(void)
{
    struct sim *s = dvm_boot(
        &(struct dvm_shape){.members = 2, .started = 2, .more = 2, .slots = 2, .delay_ms = 5});

    sim_for(s, 500);
    return s;
}

static size_t submit(struct sim *s, uint32_t ranks, int ms, uint32_t first, uint32_t second)
{
    const struct sim_want want = {
        .ranks = ranks, .run_ms = (uint64_t)ms, .nhosts = 2, .hosts = {first, second}};
    size_t job = sim_submit_job(s, 0, &want);

    sim_for(s, 300);
    return job;
}

static void campaign(struct sim *s, const char *id, enum api_kind kind, uint32_t vpid)
{
    static uint64_t sequence;
    struct api_campaign_request r = {
        .sequence = ++sequence, .kind = kind, .deadline_s = -1, .targets = &vpid, .ntargets = 1};
    struct api_campaign out;
    enum api_reason why;

    sim_clock(s, 0);
    assert_int_equal(core_campaign_put(sim_core(s, 0), id, &r, &out, &why, NULL), 0);
    api_campaign_free(&out);
    sim_drain(s, 0);
}

static void a_job_that_names_a_vpid_that_is_no_member_is_not_launched(void **state)
{
    struct sim *s = new_dvm();

    assert_int_equal(sim_job(s, submit(s, 1, 1000, 2, 3))->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_int_equal(sim_job(s, submit(s, 1, 1000, 2, 99))->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_int_equal(sim_job(s, submit(s, 1, 10, 1, 2))->exit_code, 0);
    sim_destroy(s);
}

static void it_is_not_launched_either_while_the_dvm_changes_its_size_or_others_wait(void **state)
{
    struct sim *s = new_dvm();
    size_t busy = submit(s, 4, 20000, 1, 2);
    size_t waits = submit(s, 4, 10, 1, 2);

    assert_false(sim_job(s, waits)->done);
    assert_int_equal(sim_job(s, submit(s, 1, 10, 2, 99))->exit_code, EXIT_CODE_NOT_LAUNCHED);
    campaign(s, "grow", API_KIND_GROW, 3);
    assert_int_equal(sim_job(s, submit(s, 1, 10, 2, 4))->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_false(sim_job(s, busy)->done);
    sim_destroy(s);
}

static void a_job_that_names_a_member_of_a_running_grow_waits_for_it(void **state)
{
    struct sim *s = new_dvm();
    size_t job;

    campaign(s, "grow", API_KIND_GROW, 3);
    job = submit(s, 4, 3000, 2, 3);
    assert_false(sim_job(s, job)->done);
    assert_int_not_equal(sim_job(s, job)->state, JOB_RUNNING);
    sim_for(s, 5000);
    assert_int_not_equal(sim_job(s, job)->state, JOB_RUNNING); /* not on vpid 2 alone */
    sim_start(s, 3);
    sim_for(s, 2000);
    assert_int_equal(sim_job(s, job)->state, JOB_RUNNING);
    sim_for(s, 5000);
    assert_int_equal(sim_job(s, job)->exit_code, 0);
    sim_destroy(s);
}

static void a_named_member_may_leave_while_the_job_waits(void **state)
{
    struct sim *s = new_dvm();
    size_t busy = submit(s, 4, 3000, 1, 2);
    size_t waits = submit(s, 2, 10, 1, 2);

    campaign(s, "shrink", API_KIND_SHRINK, 2);
    sim_for(s, 20000);
    assert_int_equal(sim_job(s, busy)->exit_code, 0);
    assert_true(sim_job(s, waits)->done);
    assert_int_equal(sim_job(s, waits)->exit_code, 0);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_names_a_vpid_that_is_no_member_is_not_launched),
        cmocka_unit_test(it_is_not_launched_either_while_the_dvm_changes_its_size_or_others_wait),
        cmocka_unit_test(a_job_that_names_a_member_of_a_running_grow_waits_for_it),
        cmocka_unit_test(a_named_member_may_leave_while_the_job_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
