/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions that applications have asked for end with the job, unless it keeps them, or members
 * above them stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/core/test/requests.h"

#include <signal.h>

/* A job on all daemons that ends in ten seconds; a rank on vpid 3 extends the DVM by vpid 5. */
static struct requests *boot_extended(bool keep, char job[64])
{
    struct requests *w = requests_boot(7, 4);
    struct resize_request a = requests_extend(1, 60);
    const char *nspace;

    (void)sim_submit(w->sim, 0, 8, 10000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    requests_copy(job, nspace);
    a.nspace = job;
    a.keep = keep;
    (void)requests_answer(w, requests_send(w, 3, a));
    sim_start(w->sim, 5);
    sim_for(w->sim, 2000);
    assert_int_equal(w->nends, 1);
    assert_int_equal(w->ends[0].status, RESIZE_OK);
    assert_int_equal(dvm_bound(w->sim), 5);
    return w;
}

static void c26_an_extension_ends_with_its_job_however_that_ends(void **arg)
{
    for (int killed = 0; killed < 2; killed++) {
        char job[64];
        struct requests *w = boot_extended(false, job);

        if (killed) {
            core_client_signal(sim_core(w->sim, 0), 0, SIGKILL);
            sim_drain(w->sim, 0);
        }
        sim_for(w->sim, 20000);
        assert_int_equal(dvm_bound(w->sim), 4);
        requests_assert_end(w, "alloc-2", API_PHASE_COMPLETE, API_TOLD_GONE);
        requests_end(w);
    }
}

/* The size has grown above the extension. */
static void an_extension_below_members_that_stay_is_not_drained_when_its_job_ends(void **arg)
{
    for (int late = 0; late < 2; late++) {
        char job[64];
        struct requests *w = boot_extended(false, job);
        const struct sim_job *next;

        if (late) { /* its release waits for another job, and the size grows meanwhile */
            (void)sim_submit(w->sim, 0, 2, 15000, 0);
            sim_for(w->sim, 9000);
        }
        requests_put_size(w, (struct api_size){.sequence = 1, .members = 6});
        sim_start(w->sim, 6);
        sim_for(w->sim, 20000);
        assert_int_equal(dvm_in_state(w->sim, MEMBER_DRAINING), 0);
        next = sim_job(w->sim, sim_submit(w->sim, 0, 12, 100, 0));
        sim_for(w->sim, 2000);
        assert_true(next->done);
        assert_int_equal(next->exit_code, 0);
        requests_end(w);
    }
}

static void an_extension_within_the_least_size_outlasts_its_job(void **arg)
{
    char job[64];
    struct requests *w = boot_extended(false, job);

    requests_put_size(w, (struct api_size){1, 5, {true, 5, 6}});
    sim_for(w->sim, 20000);
    assert_int_equal(dvm_bound(w->sim), 5);
    requests_end(w);
}

static void an_extension_that_is_to_stay_outlasts_its_job(void **arg)
{
    char job[64];
    struct requests *w = boot_extended(true, job);

    sim_for(w->sim, 20000);
    assert_int_equal(dvm_bound(w->sim), 5);
    requests_end(w);
}

static void an_extension_that_the_job_has_released_is_not_released_again(void **arg)
{
    char job[64];
    struct requests *w = boot_extended(false, job);
    struct resize_request a = {.kind = RESIZE_RELEASE, .nspace = job, .deadline_s = -1};
    struct api_campaign c;
    enum api_reason reason;

    a.id = "alloc-1";
    (void)requests_answer(w, requests_send(w, 3, a));
    sim_for(w->sim, 30000);
    assert_int_equal(dvm_bound(w->sim), 4);
    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), "alloc-3", &c, &reason, NULL), -1);
    requests_end(w);
}

/* Its daemons never come. */
static void c26_an_extension_that_gathers_is_cancelled_with_its_job(void **arg)
{
    struct requests *w = requests_boot(7, 4);
    struct resize_request a = requests_extend(1, 600);
    const char *nspace;
    enum api_phase phase;
    char job[64];

    (void)sim_submit(w->sim, 0, 8, 5000, 0);
    sim_for(w->sim, 500);
    assert_true(sim_some_rank(w->sim, 3, &nspace, &a.rank));
    requests_copy(job, nspace);
    a.nspace = job;
    (void)requests_answer(w, requests_send(w, 3, a));
    sim_for(w->sim, 20000);
    (void)requests_asker(w, "alloc-1", &phase);
    assert_int_equal(phase, API_PHASE_CANCELLED);
    assert_int_equal(dvm_bound(w->sim), 4);
    requests_end(w);
}

static void extend_by(struct requests *w, const char *tool, uint32_t vpid)
{
    struct resize_request a = requests_extend(1, 60);

    a.nspace = tool;
    assert_int_equal(requests_answer(w, requests_send(w, 1, a))->status, RESIZE_OK);
    sim_start(w->sim, vpid);
    sim_for(w->sim, 2000);
}

static void an_extension_for_a_job_that_has_ended_is_refused(void **arg)
{
    struct requests *w = requests_boot(7, 4);
    size_t job = sim_submit(w->sim, 0, 1, 10, 0);
    struct resize_request a = requests_extend(1, 60);

    dvm_wait_job(w->sim, job, 0);
    a.nspace = sim_job(w->sim, job)->nspace;
    assert_int_equal(requests_answer(w, requests_send(w, 3, a))->status,
                     RESIZE_NOT_ALLOWED); /* it was on its way */
    assert_int_equal(dvm_bound(w->sim), 4);
    requests_end(w);
}

/* The lower one is drained, but its daemon leaves when the upper one has left: the resource manager
 * takes members from the top. */
static void overlapping_extensions_can_be_released_in_any_order(void **arg)
{
    struct resize_request one = {.kind = RESIZE_RELEASE, .nspace = "one", .deadline_s = -1};
    struct resize_request two = {.kind = RESIZE_RELEASE, .nspace = "two", .deadline_s = -1};
    struct requests *w = requests_boot(7, 4);
    enum api_phase phase;

    extend_by(w, "one", 5);
    extend_by(w, "two", 6);
    one.id = "alloc-1";
    two.id = "alloc-2";
    assert_int_equal(requests_answer(w, requests_send(w, 1, one))->status, RESIZE_OK);
    sim_for(w->sim, 60000);
    (void)requests_asker(w, "alloc-3", &phase);
    assert_int_equal(phase, API_PHASE_DRAINING);
    assert_int_equal(dvm_bound(w->sim), 6);
    (void)sim_submit(w->sim, 0, 10, 100, 0); /* vpids 1 to 4 and 6 */
    sim_for(w->sim, 2000);
    assert_true(sim_job(w->sim, 0)->done);
    assert_int_equal(sim_job(w->sim, 0)->exit_code, 0);
    assert_int_equal(requests_answer(w, requests_send(w, 1, two))->status, RESIZE_OK);
    sim_for(w->sim, 5000);
    requests_assert_end(w, "alloc-3", API_PHASE_COMPLETE, API_TOLD_EVENT);
    requests_assert_end(w, "alloc-4", API_PHASE_COMPLETE, API_TOLD_EVENT);
    assert_int_equal(dvm_bound(w->sim), 4);
    requests_end(w);
}

/* Its release takes the place of the oldest campaign that has ended, which is the extension. It
 * waits for the members that may join above. */
static void an_extension_ends_with_its_job_when_as_many_campaigns_as_can_be_run(void **arg)
{
    uint32_t targets[] = {6};
    struct api_campaign_request grow = {
        .kind = API_KIND_GROW, .deadline_s = -1, .ntargets = 1, .targets = targets};
    char job[64], id[16];
    struct requests *w = boot_extended(false, job);
    struct api_campaign out;
    enum api_reason reason;

    for (unsigned i = 1; i < RESIZE_CAMPAIGNS_MAX; i++) {
        snprintf(id, sizeof(id), "g%u", i);
        grow.sequence = i;
        targets[0] = 5 + i;
        dvm_put_campaign(w->sim, id, &grow);
    }
    core_client_signal(sim_core(w->sim, 0), 0, SIGKILL);
    sim_drain(w->sim, 0);
    sim_for(w->sim, 20000);
    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), "alloc-1", &out, &reason, NULL), -1);
    for (unsigned i = 1; i < RESIZE_CAMPAIGNS_MAX; i++) {
        snprintf(id, sizeof(id), "g%u", i);
        assert_int_equal(core_campaign_cancel(sim_core(w->sim, 0), id, &out, &reason, NULL), 0);
        api_campaign_free(&out);
    }
    sim_drain(w->sim, 0);
    sim_for(w->sim, 5000);
    requests_assert_end(w, "alloc-2", API_PHASE_COMPLETE, API_TOLD_GONE);
    requests_end(w);
}

/* The release of vpid 5 waits for another job. A grow without a deadline names vpid 5, and vpid 6,
 * which comes late: it would wait for the release, and the release for it. */
static void a_grow_that_asks_for_a_member_of_an_extension_keeps_it(void **state)
{
    uint32_t targets[] = {5, 6};
    struct api_campaign_request grow = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = -1, .ntargets = 2, .targets = targets};
    char job[64];
    struct requests *w = boot_extended(false, job);

    (void)sim_submit(w->sim, 0, 2, 15000, 0);
    sim_for(w->sim, 9000);
    assert_int_equal(dvm_in_state(w->sim, MEMBER_DRAINING), 1);
    dvm_put_campaign(w->sim, "g1", &grow);
    sim_for(w->sim, 20000);
    assert_int_equal(dvm_in_state(w->sim, MEMBER_DRAINING), 0);
    sim_start(w->sim, 6);
    sim_for(w->sim, 5000);
    assert_int_equal(dvm_phase(w->sim, "g1"), API_PHASE_COMPLETE);
    sim_for(w->sim, 5000);
    assert_int_equal(dvm_bound(w->sim), 6);
    dvm_wait_wired(w->sim, 6, 1);
    requests_end(w);
}

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
        cmocka_unit_test(c26_an_extension_ends_with_its_job_however_that_ends),
        cmocka_unit_test(an_extension_below_members_that_stay_is_not_drained_when_its_job_ends),
        cmocka_unit_test(an_extension_within_the_least_size_outlasts_its_job),
        cmocka_unit_test(an_extension_that_is_to_stay_outlasts_its_job),
        cmocka_unit_test(an_extension_that_the_job_has_released_is_not_released_again),
        cmocka_unit_test(c26_an_extension_that_gathers_is_cancelled_with_its_job),
        cmocka_unit_test(an_extension_for_a_job_that_has_ended_is_refused),
        cmocka_unit_test(overlapping_extensions_can_be_released_in_any_order),
        cmocka_unit_test(an_extension_ends_with_its_job_when_as_many_campaigns_as_can_be_run),
        cmocka_unit_test(a_grow_that_asks_for_a_member_of_an_extension_keeps_it),
        cmocka_unit_test(the_members_of_an_extension_leave_with_its_job),
        cmocka_unit_test(an_extension_below_a_member_that_came_anew_stays),
        cmocka_unit_test(an_extension_below_a_member_that_was_there_before_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
