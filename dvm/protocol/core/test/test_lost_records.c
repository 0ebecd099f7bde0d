/* SPDX-License-Identifier: BSD-3-Clause */
/* A new head goes on with records that lack the last of what others have seen. */
#include "dvm/protocol/core/local_private.h"
#include "dvm/protocol/core/test/keepers.h"
#include "dvm/protocol/wire/exit_code.h"

/* The head ends. Vpid 1, which was cut off from it, is the only member that calls the next one. */
static void go_on_with_old_records(struct sim *s)
{
    sim_crash(s, 0);
    sim_heal(s);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        sim_partition(s, v, 1);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    sim_for(s, 1500);
}

/* The job ends with a reason that names what the new head lacks. */
static void assert_lost_for_want_of(struct sim *s, size_t job, const char *what)
{
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, job)->text, what));
}

/* Vpid 1 does not know the job that vpid 3 has submitted. */
static void c21_the_name_of_a_lost_job_is_not_given_again(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    uint64_t inc = core_inspect_epoch(sim_core(s, 0)).inc;
    size_t lost, other;

    cut_off(s, 1);
    lost = sim_submit(s, 3, 1, 60000, 0);
    sim_for(s, 2000); /* vpid 1 is left behind */
    assert_true(sim_job(s, lost)->accepted);
    go_on_with_old_records(s);
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc == inc);
    other = sim_submit(s, 1, 1, 10, 5);
    dvm_wait_job(s, other, 5);
    assert_string_not_equal(sim_job(s, other)->nspace, sim_job(s, lost)->nspace);
    sim_heal(s);
    assert_lost_for_want_of(s, lost, "its heir does not know the job");
    sim_destroy(s);
}

static bool jobs_have_ended(struct sim *s, void *arg)
{
    enum api_reason reason;
    struct api_dvm d;
    bool all = true;

    if (core_dvm(sim_core(s, 0), &d, &reason, NULL) < 0)
        return false;
    for (size_t i = 0; i < d.njobs; i++)
        all &= job_state_over(d.jobs[i].state);
    api_dvm_free(&d);
    return all;
}

/* Vpid 1 is cut off while the second job, submitted at vpid 3, waits for the end of the first. */
static struct sim *cut_while_one_waits(const struct sim_want *first, const struct sim_want *second,
                                       size_t *job)
{
    struct sim *s = boot_shape(MEMBERS, 8);

    sim_submit_job(s, 4, first);
    sim_for(s, 100);
    *job = sim_submit_job(s, 3, second);
    sim_for(s, 100);
    cut_off(s, 1);
    return s;
}

/* By the records of vpid 1 a job waits for slots of vpid 5. It has run on a daemon that is lost
 * since, and its submitter at vpid 3 is gone, which would have to send its files. */
static void c21_a_job_whose_end_was_lost_with_the_head_does_not_wait_for_its_submitter(void **state)
{
    const struct sim_want first = {.ranks = 2, .run_ms = 2000, .nhosts = 1, .hosts = {5}};
    const struct sim_want second = {
        .ranks = 1, .run_ms = 10, .nfiles = 1, .nhosts = 1, .hosts = {5}};
    size_t job;
    struct sim *s = cut_while_one_waits(&first, &second, &job);

    dvm_wait_job(s, job, 0);
    sim_crash(s, 5);
    go_on_with_old_records(s);
    assert_false(jobs_have_ended(s, NULL));
    sim_heal(s);
    sim_start(s, 5);
    sim_for(s, 10000); /* the others are back */
    assert_true(sim_until(s, jobs_have_ended, NULL, 60000));
    sim_destroy(s);
}

/* By the records of vpid 1 a job of vpids 4 and 5 runs. It has ended there. Its submitter at vpid 3
 * has all output, and was cut off before it heard of the end. */
static void
c21_a_job_that_has_ended_unknown_to_heir_and_submitter_does_not_start_again(void **state)
{
    const struct sim_want want = {.ranks = 4, .run_ms = 1000, .nhosts = 2, .hosts = {4, 5}};
    struct sim *s = boot_shape(MEMBERS, 8);
    size_t job = sim_submit_job(s, 3, &want);

    sim_for(s, 500);
    assert_int_equal(sim_job(s, job)->state, JOB_RUNNING);
    cut_off(s, 1);
    assert_true(sim_until(s, jobs_have_ended, NULL, 3000));
    cut_off(s, 3);
    sim_for(s, 1500); /* the head waits for vpid 1 at first */
    assert_null(local_find_any(sim_core(s, 4), sim_job(s, job)->nspace));
    assert_null(local_find_any(sim_core(s, 5), sim_job(s, job)->nspace));
    assert_false(sim_job(s, job)->done);
    go_on_with_old_records(s);
    sim_heal(s);
    assert_lost_for_want_of(s, job, "its heir does not know the job's end");
    sim_destroy(s);
}

/* The same, and it runs: vpid 5 reports its ranks to a head that has not launched them. */
static void c21_a_job_whose_launch_was_lost_with_the_head_ends(void **state)
{
    const struct sim_want first = {.ranks = 2, .run_ms = 500, .nhosts = 1, .hosts = {5}};
    const struct sim_want second = {.ranks = 2, .run_ms = 30000, .nhosts = 1, .hosts = {5}};
    size_t job;
    struct sim *s = cut_while_one_waits(&first, &second, &job);

    sim_for(s, 2000);
    assert_int_equal(sim_ranks(s, 5), 2);
    go_on_with_old_records(s);
    sim_heal(s);
    assert_lost_for_want_of(s, job, "its heir does not know the job's launch");
    sim_for(s, 1000);
    assert_int_equal(sim_ranks(s, 5), 0);
    sim_destroy(s);
}

/* By the records of vpid 1 the job waits, but its files have gone to the daemon that was vpid 5. */
static void c21_a_job_whose_files_went_to_another_daemon_ends(void **state)
{
    const struct sim_want first = {.ranks = 2, .run_ms = 500, .nhosts = 1, .hosts = {5}};
    const struct sim_want second = {
        .ranks = 2, .run_ms = 30000, .nfiles = 1, .nhosts = 1, .hosts = {5}};
    size_t job;
    struct sim *s = cut_while_one_waits(&first, &second, &job);

    sim_for(s, 2000);
    assert_int_equal(sim_ranks(s, 5), 2);
    sim_crash(s, 5);
    go_on_with_old_records(s);
    sim_heal(s);
    sim_start(s, 5);
    assert_lost_for_want_of(s, job, "its files have been sent already, for a former head");
    sim_destroy(s);
}

/* Vpid 5, or 3, reports the job of vpids 4 and 5 with vpid 3 in the place of 4. */
static size_t report_another_map(struct sim *s, uint32_t from)
{
    const struct sim_want want = {.ranks = 4, .run_ms = 60000, .nhosts = 2, .hosts = {4, 5}};
    size_t job = sim_submit_job(s, 2, &want);
    struct msg report = {.type = MSG_LOCAL_JOB};
    struct job_node nodes[2];

    sim_for(s, 500);
    replace_head(s);
    sim_for(s, 2000);
    report.local_job.map = *local_find_any(sim_core(s, 5), sim_job(s, job)->nspace)->launch;
    assert_int_equal(report.local_job.map.nnodes, 2);
    memcpy(nodes, report.local_job.map.nodes, sizeof(nodes));
    assert_int_equal(nodes[0].vpid, 4);
    nodes[0].vpid = 3;
    nodes[0].epoch = core_inspect_epoch(sim_core(s, 3)).ctr;
    report.local_job.map.nodes = nodes;
    sim_clock(s, from);
    (void)core_inspect_send(sim_core(s, from), VPID_HEAD, CLASS_CONTROL, &report);
    sim_drain(s, from);
    return job;
}

static void c21_a_job_that_runs_by_another_map_than_the_heirs_ends(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);

    assert_lost_for_want_of(s, report_another_map(s, 5), "its heir does not know the job's launch");
    sim_destroy(s);
}

/* Vpid 3 gets JOB_ENDED. */
static void note_end(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct cur c = cur_of(data, len);
    struct frame f;

    if (vpid == 3 && frame_decode(&c, &f, NULL) == 0 && f.type == MSG_JOB_ENDED)
        *(bool *)arg = true;
}

static void c21_ranks_on_a_daemon_that_is_not_in_the_heirs_map_end(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    bool told = false;

    sim_watch(s, &(struct sim_hooks){.arg = &told, .frame = note_end});
    assert_lost_for_want_of(s, report_another_map(s, 3), "its heir does not know the job's launch");
    assert_true(told);
    sim_destroy(s);
}

static void ask_to_leave(struct sim *s, uint32_t vpid)
{
    struct msg m = {.type = MSG_RELEASE_ME, .release_me = {.deadline_s = 60}};

    sim_clock(s, vpid);
    (void)core_inspect_send(sim_core(s, vpid), VPID_HEAD, CLASS_CONTROL, &m);
    sim_drain(s, vpid);
}

static bool has_campaigns(struct sim *s, void *arg)
{
    const size_t *n = arg;
    enum api_reason reason;
    struct api_dvm d;
    bool all;

    if (core_dvm(sim_core(s, 0), &d, &reason, NULL) < 0)
        return false;
    all = d.ncampaigns >= *n;
    api_dvm_free(&d);
    return all;
}

static void c21_the_name_of_a_lost_release_is_not_given_again(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    struct api_campaign x;
    enum api_reason reason;
    size_t one = 1;

    cut_off(s, 1);
    ask_to_leave(s, 3);
    assert_true(sim_until(s, has_campaigns, &one, 10000));
    assert_int_equal(core_campaign_get(sim_core(s, 0), "release-1", &x, &reason, NULL), 0);
    api_campaign_free(&x);
    go_on_with_old_records(s);
    ask_to_leave(s, 1);
    assert_true(sim_until(s, has_campaigns, &one, 10000));
    assert_int_equal(core_campaign_get(sim_core(s, 0), "release-1", &x, &reason, NULL), -1);
    sim_destroy(s);
}

/* A job of one rank waits for a slot of vpid 6, which a shrink drains. */
static struct sim *wait_for_a_drain(size_t *job)
{
    const struct sim_want drained = {.ranks = 1, .run_ms = 60000, .nhosts = 1, .hosts = {6}};
    const struct sim_want want = {.ranks = 1, .run_ms = 10, .stop = JOB_STOP_INIT};
    uint32_t target = 6;
    const struct api_campaign_request shrink = {.sequence = 1,
                                                .drain_mode = API_DRAIN_WAIT,
                                                .deadline_s = -1,
                                                .ntargets = 1,
                                                .targets = &target};
    struct sim *s = boot_shape(MEMBERS, 8);

    sim_submit_job(s, 4, &drained);
    sim_for(s, 100);
    dvm_put_campaign(s, "a", &shrink);
    sim_submit(s, 4, 2 * (MEMBERS - 1), 60000, 0);
    sim_for(s, 100);
    *job = sim_submit_job(s, 3, &want);
    sim_for(s, 100);
    assert_int_equal(sim_job(s, *job)->state, JOB_VM_READY);
    return s;
}

static void cancel_drain(struct sim *s)
{
    struct api_campaign c;
    enum api_reason reason;

    sim_clock(s, VPID_HEAD);
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "a", &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
}

/* The end of the drain and the launch are in records that vpid 1 lacks. The heir launches the job
 * in the same place, to a daemon that cannot be reached yet, after a user has continued the job. */
static void a_job_that_was_continued_before_its_heir_launches_it_does_not_stop(void **state)
{
    size_t job;
    struct sim *s = wait_for_a_drain(&job);
    enum api_reason reason;

    cut_off(s, 1);
    cancel_drain(s);
    sim_for(s, 2000);
    assert_int_equal(sim_job(s, job)->state, JOB_READY_FOR_DEBUG);
    go_on_with_old_records(s);
    sim_clock(s, VPID_HEAD);
    assert_int_equal(core_continue_put(sim_core(s, 0), sim_job(s, job)->nspace, &reason, NULL), 0);
    sim_drain(s, 0);
    cancel_drain(s);
    sim_for(s, 100);
    sim_heal(s);
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c21_the_name_of_a_lost_job_is_not_given_again),
        cmocka_unit_test(
            c21_a_job_whose_end_was_lost_with_the_head_does_not_wait_for_its_submitter),
        cmocka_unit_test(
            c21_a_job_that_has_ended_unknown_to_heir_and_submitter_does_not_start_again),
        cmocka_unit_test(c21_a_job_whose_launch_was_lost_with_the_head_ends),
        cmocka_unit_test(c21_a_job_whose_files_went_to_another_daemon_ends),
        cmocka_unit_test(c21_a_job_that_runs_by_another_map_than_the_heirs_ends),
        cmocka_unit_test(c21_ranks_on_a_daemon_that_is_not_in_the_heirs_map_end),
        cmocka_unit_test(c21_the_name_of_a_lost_release_is_not_given_again),
        cmocka_unit_test(a_job_that_was_continued_before_its_heir_launches_it_does_not_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
