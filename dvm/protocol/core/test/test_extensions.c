/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions that end with their job, and members above them that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"

#include <stdio.h>

/* Rank 0 on vpid 1, whose job runs for 20 s, asks for these members. */
static size_t ask_for(struct sim *s, size_t n, const uint32_t *vpids)
{
    const struct sim_want want = {.ranks = 1, .run_ms = 20000, .nhosts = 1, .hosts = {1}};
    struct resize_request ask = {.kind = RESIZE_EXTEND,
                                 .req_id = "",
                                 .id = "",
                                 .nvpids = n,
                                 .vpids = vpids,
                                 .deadline_s = 60};
    size_t job = sim_submit_job(s, 0, &want);

    sim_for(s, 500);
    ask.nspace = sim_job(s, job)->nspace;
    sim_clock(s, 1);
    core_resize(sim_core(s, 1), 1, &ask);
    sim_drain(s, 1);
    sim_for(s, 500);
    return job;
}

static struct sim *extend_by_two(size_t *job)
{
    static const uint32_t vpids[] = {4, 5};
    struct sim *s =
        dvm_boot(&(struct dvm_shape){.members = 3, .started = 3, .more = 2, .slots = 1});

    dvm_wait_wired(s, 3, 5000);
    *job = ask_for(s, 2, vpids);
    sim_start(s, 4);
    sim_start(s, 5);
    dvm_wait_complete(s, "alloc-1", 10000);
    dvm_wait_wired(s, 5, 1000);
    return s;
}

static bool has_campaign(struct sim *s, const char *id)
{
    struct api_campaign c;
    enum api_reason reason;

    if (core_campaign_get(sim_core(s, VPID_HEAD), id, &c, &reason, NULL) < 0)
        return false;
    api_campaign_free(&c);
    return true;
}

static void the_members_of_an_extension_leave_with_its_job(void **state)
{
    size_t job;
    struct sim *s = extend_by_two(&job);

    dvm_wait_job(s, job, 0);
    dvm_wait_complete(s, "alloc-2", 10000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 3);
    sim_destroy(s);
}

/* Vpid 5 was lost, and its next process is no part of the extension: it stays, and so does vpid 4
 * below it. */
static void an_extension_below_a_member_that_came_anew_stays(void **state)
{
    size_t job;
    struct sim *s = extend_by_two(&job);

    sim_crash(s, 5);
    sim_start(s, 5);
    sim_for(s, DVM_LOSS_MS);
    dvm_wait_wired(s, 5, 1000);
    dvm_wait_job(s, job, 0);
    sim_for(s, 1000);
    assert_false(has_campaign(s, "alloc-2"));
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 5);
    sim_destroy(s);
}

static void an_extension_below_a_member_that_was_there_before_stays(void **state)
{
    static const uint32_t vpids[] = {2, 3};
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 3, .started = 1, .slots = 1});
    size_t job;

    sim_start(s, 3);
    dvm_wait_wired(s, 2, 5000);
    job = ask_for(s, 2, vpids);
    sim_start(s, 2);
    dvm_wait_complete(s, "alloc-1", 10000);
    dvm_wait_job(s, job, 0);
    sim_for(s, 1000);
    assert_false(has_campaign(s, "alloc-2"));
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 3);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_members_of_an_extension_leave_with_its_job),
        cmocka_unit_test(an_extension_below_a_member_that_came_anew_stays),
        cmocka_unit_test(an_extension_below_a_member_that_was_there_before_stays),
    };

    return cmocka_run_group_tests_name("extensions", tests, NULL, NULL);
}
