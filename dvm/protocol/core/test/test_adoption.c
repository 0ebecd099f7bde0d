/* SPDX-License-Identifier: BSD-3-Clause */
/* All records are lost with the head, and jobs of which no daemon was lost go on: their daemons
 * report them. */
#include "dvm/protocol/core/test/adoption.h"

#include <stdlib.h>

static void assert_nothing_is_left(struct sim *s, size_t job)
{
    sim_for(s, 5000);
    for (uint32_t v = FIRST; v <= MEMBERS; v++) {
        assert_int_equal(sim_ranks(s, v), 0);
        assert_null(core_job(sim_core(s, v), sim_job(s, job)->nspace));
    }
}

static void assert_ended_since(struct sim *s, size_t job, const char *why)
{
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, job)->text, why));
    assert_nothing_is_left(s, job);
    sim_destroy(s);
}

/* --- what ends */

static void a_job_with_ranks_at_a_lost_keeper_ends(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 5, 2 * MEMBERS, 60000, 0);

    sim_for(s, 500);
    replace_all(s);
    assert_ended_since(s, job, "with some of its ranks is no member any more");
}

static void a_job_that_a_daemon_reports_with_another_map_ends(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, 60000, 0);
    struct job_launch *forged;

    sim_for(s, 500);
    forged = launch_at(s, 4, job);
    forged->universe++;
    replace_all(s);
    assert_ended_since(s, job, "has not reported the same job");
}

/* It has heard the job's end, as far as it knows. */
static void c21_a_job_that_one_of_its_daemons_does_not_report_ends(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, 60000, 0);

    sim_for(s, 500);
    local_find(sim_core(s, 4), sim_job(s, job)->nspace)->former = true;
    replace_all(s);
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, job)->text, "vpid 4 has not reported the same job"));
    sim_destroy(s);
}

static void a_job_whose_client_is_lost_ends(void **state)
{
    struct sim_want x = {.ranks = 4, .run_ms = 60000, .nhosts = 2, .hosts = {3, 4}};
    struct sim *s = boot_shape(8, 2);
    size_t job = sim_submit_job(s, 8, &x);

    sim_for(s, 500);
    sim_crash(s, 8);
    replace_all(s);
    sim_for(s, 40000);
    assert_int_equal(sim_ranks(s, 3) + sim_ranks(s, 4), 0);
    assert_null(core_job(sim_core(s, 3), sim_job(s, job)->nspace));
    sim_destroy(s);
}

/* The daemon of the client has heard the end of the job. */
static void c21_a_job_for_which_no_client_waits_ends(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, 60000, 0);

    sim_for(s, 500);
    sim_core(s, 5)->clients->done = true;
    replace_all(s);
    sim_for(s, 20000);
    assert_nothing_is_left(s, job);
    sim_destroy(s);
}

static void a_detached_job_of_the_head_ends(void **state)
{
    struct sim_want x = job_beside_keepers(6, 60000, 0);
    struct sim *s = boot();
    size_t job;

    x.flags = JOB_DETACH;
    job = sim_submit_job(s, 0, &x);
    sim_for(s, 500);
    assert_int_equal(sim_ranks(s, 4), 2);
    replace_all(s);
    sim_for(s, 40000);
    assert_nothing_is_left(s, job);
    sim_destroy(s);
}

/* Vpid 3 reports a job that runs at vpid 4, and for which a client at vpid 5 waits. */
static void c21_no_daemon_has_ranks_of_a_job_that_another_one_has_made_up(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit_job(
        s, 5, &(struct sim_want){.ranks = 2, .run_ms = 60000, .nhosts = 1, .hosts = {3}});
    struct job_launch *forged;

    sim_for(s, 500);
    forged = launch_at(s, 3, job);
    add_node(forged, 4, core_inspect_epoch(sim_core(s, 4)).ctr);
    forged->rank_node[1] = 1;
    replace_all(s);
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, job)->text, "vpid 4 has not reported the same job"));
    assert_int_equal(sim_ranks(s, 4), 0);
    sim_destroy(s);
}

/* Vpid 4 hangs until the bound has passed: only then is the job's end decided, and not later. */
static void the_decision_does_not_wait_for_a_daemon_that_reports_nothing(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, 600000, 0), later;

    sim_for(s, 500);
    lose_records(s);
    sim_for(s, 100);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    sim_stop(s, 4, true);
    dvm_wait_job(s, job, EXIT_CODE_LOST);
    later = sim_submit(s, 6, 1, 10, 3);
    dvm_wait_job(s, later, 3);
    sim_destroy(s);
}

/* --- what goes on */

static void c21_a_job_goes_on_without_its_records(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, 60000, 7), later;

    sim_for(s, 500);
    replace_all(s);
    assert_int_equal(sim_ranks(s, 4), 2);
    sim_for(s, 40000);
    assert_int_equal(sim_ranks(s, 4), 2);
    dvm_wait_job(s, job, 7);
    assert_nothing_is_left(s, job);
    later = submit_beside_keepers(s, 6, 10, 5);
    dvm_wait_job(s, later, 5);
    assert_true(strtoull(strchr(sim_job(s, later)->nspace, '.') + 1, NULL, 10) > 16000000);
    sim_destroy(s);
}

/* Its daemons have it, and its client knows its name. */
static bool may_go_on(struct sim *s, size_t job)
{
    const char *nspace = sim_job(s, job)->nspace;

    for (uint32_t v = 4; v <= MEMBERS; v++) {
        if (!core_job(sim_core(s, v), nspace))
            return false;
    }
    return sim_job(s, job)->accepted && !sim_job(s, job)->done;
}

struct names { /* of launched jobs */
    size_t n;
    char list[8][64];
};

static void note_launch(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct names *x = arg;
    size_t i = 0;

    if (act->kind != OUT_LAUNCH)
        return;
    while (i < x->n && strcmp(x->list[i], act->launch.launch->nspace) != 0)
        i++;
    if (i == x->n && x->n < 8)
        snprintf(x->list[x->n++], sizeof(x->list[0]), "%s", act->launch.launch->nspace);
}

/* The daemon of its client is cut off before it hears that the head has the submission, and repeats
 * it. */
static void c21_a_job_is_not_launched_again_by_a_head_without_its_record(void **state)
{
    for (uint64_t at = 0; at < 30; at++) {
        struct names names = {0};
        struct sim_hooks h = {.arg = &names, .action = note_launch};
        struct sim *s = boot();
        uint64_t before = current_incarnation(s);
        struct sim_want x = {.ranks = 4, .run_ms = 60000, .code = 9, .nhosts = 2, .hosts = {4, 6}};
        size_t job;

        sim_watch(s, &h);
        job = sim_submit_job(s, 5, &x);
        sim_for(s, at);
        sim_partition(s, 5, 1);
        sim_break(s, 2, 5);
        sim_for(s, 50);
        lose_records(s);
        sim_heal(s);
        start_head(s, before);
        assert_true(sim_until(s, dvm_job_over, &job, 120000));
        assert_nothing_is_left(s, job);
        assert_in_range(names.n, 0, 1);
        sim_destroy(s);
    }
}

/* The head ends with its keepers at each moment of a job's life. No rank runs twice: each of the
 * six has run once, or the job has ended. */
static void c21_a_job_goes_on_at_each_moment_at_which_its_daemons_have_it(void **state)
{
    size_t kept = 0;

    for (uint64_t at = 0; at < 160; at++) {
        struct sim *s = boot();
        size_t job = submit_beside_keepers(s, 6, 50, 9);
        uint64_t before = current_incarnation(s);
        bool must;

        sim_for(s, at);
        lose_records(s);
        sim_for(s, 20); /* what was under way has arrived */
        must = may_go_on(s, job);
        kept += must;
        start_head(s, before);
        assert_true(sim_until(s, dvm_job_over, &job, 60000));
        if (must)
            assert_int_equal(sim_job(s, job)->exit_code, 9);
        else
            assert_true(sim_job(s, job)->exit_code == 9 ||
                        sim_job(s, job)->exit_code == EXIT_CODE_LOST);
        assert_nothing_is_left(s, job);
        sim_destroy(s);
    }
    assert_true(kept > 50);
}

static uint32_t slots_in_use(struct sim *s)
{
    const struct members *m = core_inspect_members(sim_core(s, 0));
    uint32_t n = 0;

    for (uint32_t v = FIRST; v <= MEMBERS; v++)
        n += members_get(m, v)->slots_used;
    return n;
}

/* It has two ranks on each member, the lost keepers among them. */
static void a_recoverable_job_goes_on_without_the_daemons_that_were_lost(void **state)
{
    struct sim_want x = {.ranks = 2 * MEMBERS, .run_ms = 60000, .flags = JOB_RECOVERABLE};
    struct sim *s = boot();
    size_t job = sim_submit_job(s, 5, &x);

    sim_for(s, 500);
    replace_all(s);
    sim_for(s, 40000);
    for (uint32_t v = FIRST; v <= MEMBERS; v++)
        assert_int_equal(sim_ranks(s, v), 2);
    assert_int_equal(slots_in_use(s), 2 * (MEMBERS - 2));
    dvm_wait_job(s, job, 0);
    assert_non_null(strstr(sim_job(s, job)->text, "lost with their daemon (vpid 2)"));
    assert_nothing_is_left(s, job);
    assert_int_equal(slots_in_use(s), 0);
    sim_destroy(s);
}

/* Ranks end while there is no head, and the head ends again while members report. */
static void a_job_goes_on_under_the_second_of_two_heads_without_records(void **state)
{
    for (uint64_t ms = 0; ms < 12000; ms += 371) {
        struct sim *s = boot_shape(10, 3);
        uint64_t before = current_incarnation(s);
        struct sim_want x = {
            .ranks = 6, .run_ms = 15000, .code = 9, .nhosts = 3, .hosts = {5, 6, 7}};
        size_t job = sim_submit_job(s, 8, &x);

        sim_for(s, 500);
        lose_records(s);
        start_head(s, before);
        sim_for(s, ms);
        dvm_replace_head_at_once(s);
        assert_true(sim_until(s, is_head, NULL, 30000));
        assert_true(current_incarnation(s) == before);
        dvm_wait_job(s, job, 9);
        sim_destroy(s);
    }
}

static uint32_t bound_to(struct sim *s, uint32_t vpid)
{
    uint32_t npus, n = 0;
    const uint16_t *load = head_cpu_load(core_inspect_head(sim_core(s, 0)), vpid, &npus);

    for (uint32_t i = 0; load && i < npus; i++)
        n += load[i];
    return n;
}

static void slots_and_cpus_of_a_job_that_goes_on_are_not_given_again(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 4, 60000, 7), later;

    sim_for(s, 500);
    replace_all(s);
    later = submit_beside_keepers(s, 4, 100, 3); /* four of six slots are taken */
    dvm_wait_wired(s, MEMBERS - 2, 60000);
    sim_for(s, 5000);
    assert_int_equal(slots_in_use(s), 4);
    assert_int_equal(bound_to(s, 4), 2);
    assert_false(sim_job(s, later)->done);
    dvm_wait_job(s, job, 7);
    dvm_wait_job(s, later, 3);
    sim_for(s, 1000);
    assert_int_equal(slots_in_use(s), 0);
    assert_int_equal(bound_to(s, 4), 0);
    sim_destroy(s);
}

static void a_job_that_aborts_ends_with_its_code_though_the_report_was_lost(void **state)
{
    for (uint64_t ms = 0; ms < 12; ms++) {
        struct sim *s = boot();
        size_t job = submit_beside_keepers(s, 6, 60000, 0);

        sim_for(s, 500);
        core_abort(sim_core(s, 4), sim_job(s, job)->nspace, 1, 13, "no more");
        sim_for(s, ms);
        replace_all(s);
        dvm_wait_job(s, job, 13);
        sim_destroy(s);
    }
}

static void end_rank(struct sim *s, uint32_t vpid, size_t job, uint32_t rank, int code)
{
    const char *nspace = sim_job(s, job)->nspace;

    sim_clock(s, vpid);
    core_proc(sim_core(s, vpid), nspace, rank, CORE_PROC_IOF_COMPLETE, 0, NULL);
    core_proc_ended(sim_core(s, vpid), nspace, rank, code << 8, RANK_PLAIN);
    sim_drain(s, vpid);
}

/* A rank at vpid 6 has failed, and the former head has ended the ranks at vpids 4 and 5. */
static void a_job_that_was_ending_ends_with_the_code_of_the_rank_that_had_failed(void **state)
{
    for (uint64_t ms = 0; ms < 16; ms++) {
        struct sim *s = boot();
        size_t job = submit_beside_keepers(s, 6, 60000, 0);

        sim_for(s, 500);
        end_rank(s, 6, job, 5, 7);
        sim_for(s, ms);
        replace_all(s);
        dvm_wait_job(s, job, 7);
        sim_destroy(s);
    }
}

static void a_client_that_leaves_while_jobs_are_reported_ends_its_job(void **state)
{
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, 600000, 0);

    sim_for(s, 500);
    replace_all(s);
    sim_for(s, 1000);
    core_client_gone(sim_core(s, 5), (uint32_t)job);
    sim_for(s, 40000);
    assert_nothing_is_left(s, job);
    sim_destroy(s);
}

static void end_while_reported(uint64_t run_ms, int64_t deadline_s, int code)
{
    const struct api_shutdown end = {.deadline_s = deadline_s};
    struct sim *s = boot();
    size_t job = submit_beside_keepers(s, 6, run_ms, 7);
    enum api_reason reason;

    sim_for(s, 500);
    replace_all(s);
    assert_true(job_adoption_waits(head_jobs(core_inspect_head(sim_core(s, 0)))));
    sim_clock(s, 0);
    assert_int_equal(core_shutdown(sim_core(s, 0), &end, &reason, NULL), 0);
    sim_drain(s, 0);
    dvm_wait_job(s, job, code);
    sim_destroy(s);
}

/* The DVM is shut down before the head knows which jobs run. */
static void a_shutdown_while_jobs_are_reported_leaves_them_their_time(void **state)
{
    end_while_reported(40000, 40, 7);
    end_while_reported(600000, 40, EXIT_CODE_CANCELLED);
    end_while_reported(600000, 0, EXIT_CODE_CANCELLED);
}

static void a_spawned_job_goes_on_with_its_parent(void **state)
{
    struct sim *s = boot();
    struct sim_want parent = {.ranks = 1, .run_ms = 20000, .nhosts = 1, .hosts = {3}};
    struct sim_want child = {.ranks = 1, .run_ms = 30000, .code = 5, .nhosts = 1, .hosts = {4}};
    size_t job = sim_submit_job(s, 5, &parent), spawned;

    sim_for(s, 500);
    child.parent = sim_job(s, job)->nspace;
    spawned = sim_submit_job(s, 3, &child);
    sim_for(s, 500);
    replace_all(s);
    dvm_wait_job(s, job, 5);
    dvm_wait_job(s, spawned, 5);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_with_ranks_at_a_lost_keeper_ends),
        cmocka_unit_test(a_job_that_a_daemon_reports_with_another_map_ends),
        cmocka_unit_test(c21_a_job_that_one_of_its_daemons_does_not_report_ends),
        cmocka_unit_test(a_job_whose_client_is_lost_ends),
        cmocka_unit_test(c21_a_job_for_which_no_client_waits_ends),
        cmocka_unit_test(a_detached_job_of_the_head_ends),
        cmocka_unit_test(c21_no_daemon_has_ranks_of_a_job_that_another_one_has_made_up),
        cmocka_unit_test(the_decision_does_not_wait_for_a_daemon_that_reports_nothing),
        cmocka_unit_test(c21_a_job_goes_on_without_its_records),
        cmocka_unit_test(c21_a_job_is_not_launched_again_by_a_head_without_its_record),
        cmocka_unit_test(c21_a_job_goes_on_at_each_moment_at_which_its_daemons_have_it),
        cmocka_unit_test(a_recoverable_job_goes_on_without_the_daemons_that_were_lost),
        cmocka_unit_test(a_job_goes_on_under_the_second_of_two_heads_without_records),
        cmocka_unit_test(slots_and_cpus_of_a_job_that_goes_on_are_not_given_again),
        cmocka_unit_test(a_job_that_aborts_ends_with_its_code_though_the_report_was_lost),
        cmocka_unit_test(a_job_that_was_ending_ends_with_the_code_of_the_rank_that_had_failed),
        cmocka_unit_test(a_client_that_leaves_while_jobs_are_reported_ends_its_job),
        cmocka_unit_test(a_shutdown_while_jobs_are_reported_leaves_them_their_time),
        cmocka_unit_test(a_spawned_job_goes_on_with_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
