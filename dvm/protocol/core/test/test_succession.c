/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's process ends and another one goes on with its records: jobs, campaigns and epochs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/head/head.h"
#include "dvm/protocol/head/jobs/job_history.h"
#include "dvm/protocol/wire/exit_code.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MEMBERS 6 /* a tree of radix 2: the head has two children */

static struct sim *boot(void)
{
    struct sim *s = dvm_boot(
        &(struct dvm_shape){.members = MEMBERS, .started = MEMBERS, .slots = 2, .disk = true});

    dvm_wait_wired(s, MEMBERS, 10000);
    return s;
}

static void wait_for_all(struct sim *s)
{
    uint32_t members = MEMBERS;

    assert_true(sim_until(s, dvm_head_known, &members, 20000));
}

static void the_epochs_of_the_members_and_the_incarnation_stay(void **state)
{
    struct sim *s = boot();
    struct epoch before[MEMBERS + 1];
    uint64_t version = core_stats(sim_core(s, 0)).version;

    for (uint32_t v = 0; v <= MEMBERS; v++)
        before[v] = core_inspect_epoch(sim_core(s, v));
    dvm_replace_head(s);
    wait_for_all(s);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_true(epoch_eq(before[v], core_inspect_epoch(sim_core(s, v))));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc == before[0].inc);
    assert_true(core_inspect_epoch(sim_core(s, 0)).ctr > before[MEMBERS].ctr);
    assert_true(core_stats(sim_core(s, 0)).version == version + 1);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    sim_for(s, 60000); /* nobody is declared lost later */
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    sim_destroy(s);
}

static void without_the_records_a_new_incarnation_begins(void **state)
{
    struct sim *s = boot();
    struct epoch before = core_inspect_epoch(sim_core(s, 0));

    sim_crash(s, 0);
    sim_lose_disk(s);
    sim_start(s, 0);
    dvm_wait_wired(s, MEMBERS, 60000);
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc != before.inc);
    sim_destroy(s);
}

static void c21_a_running_job_ends_with_its_own_code(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 8, 5000, 7);

    sim_for(s, 1000);
    assert_true(sim_ranks(s, 4) > 0);
    dvm_replace_head(s);
    dvm_wait_job(s, job, 7);
    sim_destroy(s);
}

static void c21_a_job_that_ends_while_there_is_no_head_is_reported(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 8, 1200, 7);

    sim_for(s, 1000);
    sim_crash(s, 0);
    sim_for(s, 3000);
    assert_int_equal(sim_ranks(s, 4), 0);
    sim_start(s, 0);
    dvm_wait_job(s, job, 7);
    sim_destroy(s);
}

static void c21_a_job_that_waits_for_slots_starts_in_its_turn(void **state)
{
    struct sim *s = boot();
    size_t first = sim_submit(s, 2, 2 * MEMBERS, 5000, 1);
    size_t second = sim_submit(s, 3, 2 * MEMBERS, 3000, 2);
    size_t third = sim_submit(s, 4, 2 * MEMBERS, 100, 3);

    sim_for(s, 1000);
    dvm_replace_head(s);
    dvm_wait_job(s, first, 1);
    assert_false(sim_job(s, third)->done);
    dvm_wait_job(s, second, 2);
    dvm_wait_job(s, third, 3);
    sim_destroy(s);
}

/* The head ends at any moment of a job's life. It is accepted once. */
static void c21_a_job_goes_on_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 160; at++) {
        struct sim *s = boot();
        size_t job = sim_submit(s, 5, 6, 50, 9);

        sim_for(s, at);
        dvm_replace_head_at_once(s);
        dvm_wait_job(s, job, 9);
        sim_for(s, 5000);
        for (uint32_t v = 1; v <= MEMBERS; v++)
            assert_null(core_job(sim_core(s, v), sim_job(s, job)->nspace));
        job = sim_submit(s, 5, 1, 10, 0);
        dvm_wait_job(s, job, 0);
        assert_string_equal(sim_job(s, job)->nspace, "000000000000abc1.2");
        sim_destroy(s);
    }
}

/* The head, at which its client was, ends at any moment of its life, and so does the next one. */
static void c21_a_detached_job_of_the_head_goes_on_whenever_the_head_ends(void **state)
{
    struct sim_want detached = {.ranks = 6, .run_ms = 50, .code = 9, .flags = JOB_DETACH};

    for (uint64_t at = 1; at < 160; at++) {
        struct sim *s = boot();
        size_t job = sim_submit_job(s, 0, &detached);

        sim_for(s, at);
        assert_true(sim_job(s, job)->nspace[0]);
        dvm_replace_head_at_once(s);
        if (at % 3 == 0) {
            sim_for(s, at / 3);
            dvm_replace_head_at_once(s);
        }
        dvm_wait_job(s, job, 9);
        sim_for(s, 5000);
        for (uint32_t v = 1; v <= MEMBERS; v++)
            assert_null(core_job(sim_core(s, v), sim_job(s, job)->nspace));
        sim_destroy(s);
    }
}

static void c21_a_detached_job_of_the_head_keeps_its_place_in_the_queue(void **state)
{
    struct sim_want detached = {
        .ranks = 2 * MEMBERS, .run_ms = 100, .code = 3, .flags = JOB_DETACH};
    struct sim *s = boot();
    size_t first = sim_submit(s, 2, 2 * MEMBERS, 5000, 1);
    size_t second, third;

    sim_for(s, 500);
    second = sim_submit_job(s, 0, &detached);
    sim_for(s, 500);
    third = sim_submit(s, 4, 2 * MEMBERS, 100, 4);
    sim_for(s, 500);
    dvm_replace_head(s);
    dvm_wait_job(s, first, 1);
    assert_false(sim_job(s, second)->done);
    dvm_wait_job(s, second, 3);
    dvm_wait_job(s, third, 4);
    sim_destroy(s);
}

static void a_job_of_the_head_that_is_not_detached_or_lacks_its_files_ends_with_it(void **state)
{
    struct sim_want wants[] = {{.ranks = 6, .run_ms = 60000},
                               {.ranks = 6, .run_ms = 60000, .flags = JOB_DETACH, .nfiles = 1}};

    for (size_t i = 0; i < 2; i++) {
        struct sim *s = boot();
        size_t job = sim_submit_job(s, 0, &wants[i]);

        sim_for(s, 3);
        assert_true(sim_job(s, job)->nspace[0]);
        dvm_replace_head_at_once(s);
        sim_for(s, 20000);
        for (uint32_t v = 1; v <= MEMBERS; v++)
            assert_null(core_job(sim_core(s, v), sim_job(s, job)->nspace));
        assert_false(sim_job(s, job)->done);
        sim_destroy(s);
    }
}

/* The first head had notified vpid 1 that all are ready, but not vpid 2. The ranks exit with 0,
 * since another code would end the job without those of vpid 2. */
static void c21_a_daemon_that_was_not_notified_of_the_start_starts_its_ranks(void **state)
{
    for (uint64_t at = 0; at < 100; at++) {
        struct sim *s = boot();
        size_t job = sim_submit(s, 2, 12, 50, 0);

        sim_for(s, at);
        sim_stop(s, 2, true); /* so that the new head hears of the ranks of vpid 1 first */
        sim_for(s, 20);
        dvm_replace_head_at_once(s);
        sim_for(s, 300);
        sim_stop(s, 2, false);
        dvm_wait_job(s, job, 0);
        sim_destroy(s);
    }
}

/* Its daemons wait for the files, and its submitter for the names of the daemons. */
static void c21_a_job_with_files_goes_on_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 60; at += 2) {
        struct sim_want want = {.ranks = 6, .run_ms = 50, .code = 9, .nfiles = 2};
        struct sim *s = boot();
        size_t job = sim_submit_job(s, 5, &want);

        sim_for(s, at);
        dvm_replace_head_at_once(s);
        dvm_wait_job(s, job, 9);
        sim_destroy(s);
    }
}

static uint32_t slots_in_use(struct sim *s)
{
    const struct members *m = core_inspect_members(sim_core(s, 0));
    uint32_t n = 0;

    for (uint32_t v = 1; v <= MEMBERS; v++)
        n += members_get(m, v)->slots_used;
    return n;
}

/* A job that goes on without a daemon, of which a later epoch is a member. */
static void c21_ranks_of_an_earlier_epoch_take_no_slots_of_the_present_one(void **state)
{
    struct sim_want want = {.ranks = 12, .run_ms = 20000, .flags = JOB_RECOVERABLE};
    struct sim *s = boot();
    size_t job = sim_submit_job(s, 2, &want);

    sim_for(s, 1000);
    sim_crash(s, 5);
    sim_start(s, 5);
    sim_for(s, 2000);
    dvm_wait_wired(s, MEMBERS, 10000);
    assert_int_equal(slots_in_use(s), 10);
    dvm_replace_head(s);
    assert_int_equal(slots_in_use(s), 10);
    dvm_wait_job(s, job, 0);
    sim_for(s, 1000);
    assert_int_equal(slots_in_use(s), 0);
    sim_destroy(s);
}

struct losses {
    size_t told[MEMBERS + 1]; /* losses of ranks, by daemon */
};

static void count_losses(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct losses *l = arg;

    if (act->kind == OUT_RANKS_LOST)
        l->told[vpid] += act->ranks_lost.lost.nranks;
}

/* Nobody knows which daemons have heard of a loss, so the new head reports it again. */
static void c21_a_daemon_hears_of_a_lost_rank_once(void **state)
{
    struct sim_want want = {.ranks = 12, .run_ms = 20000, .flags = JOB_RECOVERABLE};
    struct losses l = {0};
    struct sim_hooks h = {.arg = &l, .action = count_losses};
    struct sim *s = boot();
    size_t job = sim_submit_job(s, 2, &want);

    sim_watch(s, &h);
    sim_for(s, 1000);
    sim_crash(s, 5);
    sim_for(s, DVM_LOSS_MS);
    assert_int_equal(l.told[1], 2);
    dvm_replace_head(s);
    dvm_wait_job(s, job, 0);
    for (uint32_t v = 1; v <= 4; v++)
        assert_int_equal(l.told[v], 2);
    sim_destroy(s);
}

static void c21_a_job_that_is_submitted_while_there_is_no_head_runs(void **state)
{
    struct sim *s = boot();
    size_t job;

    sim_crash(s, 0);
    sim_for(s, 100);
    job = sim_submit(s, 3, 4, 100, 4);
    sim_for(s, DVM_AWAY_MS);
    assert_false(sim_job(s, job)->accepted);
    sim_start(s, 0);
    dvm_wait_job(s, job, 4);
    sim_destroy(s);
}

/* Neither ACCEPTED nor DONE has come, and the former head has forgotten the job. */
static void c21_a_job_that_has_ended_is_not_submitted_again(void **state)
{
    struct sim_want full = {.ranks = 2 * MEMBERS, .run_ms = 500};
    struct sim_want none = {.ranks = 1, .run_ms = 10, .flags = JOB_NO_WAIT};

    for (uint64_t at = 0; at < 30; at++) {
        struct sim *s = boot();
        size_t job;

        (void)sim_submit_job(s, 1, &full);
        sim_for(s, 400);
        job = sim_submit_job(s, 5, &none);
        sim_for(s, at);
        dvm_replace_head_at_once(s);
        assert_true(sim_until(s, dvm_job_over, &job, 60000));
        job = sim_submit(s, 5, 1, 10, 0);
        dvm_wait_job(s, job, 0);
        assert_string_equal(sim_job(s, job)->nspace, "000000000000abc1.3");
        sim_destroy(s);
    }
}

/* More jobs than the head knows after their ends have been delivered. */
static void run_many_jobs(struct sim *s)
{
    for (size_t i = 0; i < JOB_HISTORY_MAX + 6; i++) {
        size_t job = sim_submit(s, 3, 1, 1, 0);

        dvm_wait_job(s, job, 0);
    }
}

/* The job's client is at vpid 2. That daemon is cut off `cut_ms` after the submission, and is back
 * under the next head. Returns the job. */
static size_t run_with_client_cut_off(struct sim *s, const struct sim_want *want, uint64_t cut_ms,
                                      unsigned heads)
{
    size_t job = sim_submit_job(s, 2, want);

    sim_for(s, cut_ms);
    sim_partition(s, 2, 1);
    sim_for(s, 100);
    run_many_jobs(s);
    for (unsigned i = 0; i < heads; i++)
        dvm_replace_head_at_once(s);
    sim_heal(s);
    assert_true(sim_until(s, dvm_job_over, &job, 60000));
    return job;
}

/* The client's daemon has the output of the job when it is cut off, or not yet. */
static void c21_an_end_that_was_not_delivered_is_known_after_many_other_jobs(void **state)
{
    const struct sim_want want = {
        .ranks = 2, .run_ms = 20, .code = 9, .nhosts = 2, .hosts = {1, 3}};

    for (uint64_t at = 30; at < 50; at++) {
        struct sim *s = boot();
        size_t job = run_with_client_cut_off(s, &want, at, 1 + at % 2);

        assert_int_equal(sim_job(s, job)->exit_code, 9);
        assert_non_null(strstr(sim_job(s, job)->text, "exited with code 9"));
        sim_destroy(s);
    }
}

/* SUBMIT has come, and the client's daemon sends it again. The job ends without output. */
static void c21_a_job_is_not_taken_twice_after_many_other_jobs(void **state)
{
    const struct sim_want none = {.ranks = 3 * MEMBERS, .run_ms = 10, .flags = JOB_NO_WAIT};

    for (uint64_t at = 1; at < 14; at++) {
        struct sim *s = boot();
        size_t job = run_with_client_cut_off(s, &none, at, 1 + at % 2);

        assert_int_equal(sim_job(s, job)->exit_code, EXIT_CODE_NOT_LAUNCHED);
        job = sim_submit(s, 3, 1, 1, 0);
        dvm_wait_job(s, job, 0);
        assert_string_equal(sim_job(s, job)->nspace, "000000000000abc1.72");
        sim_destroy(s);
    }
}

static void c21_the_failure_of_a_spawned_job_is_in_an_end_that_was_not_delivered(void **state)
{
    for (uint64_t at = 20; at < 60; at++) {
        struct sim *s = boot();
        struct sim_want parent = {.ranks = 1, .run_ms = 60, .nhosts = 1, .hosts = {1}};
        struct sim_want child = {.ranks = 1, .run_ms = 30, .code = 5, .nhosts = 1, .hosts = {1}};
        size_t job = sim_submit_job(s, 2, &parent);

        sim_for(s, 50);
        child.parent = sim_job(s, job)->nspace;
        (void)sim_submit_job(s, 1, &child);
        sim_for(s, at);
        sim_partition(s, 2, 1);
        sim_for(s, 200);
        dvm_replace_head_at_once(s);
        sim_heal(s);
        dvm_wait_job(s, job, 5);
        assert_non_null(strstr(sim_job(s, job)->text, "exited with code 5"));
        sim_destroy(s);
    }
}

static size_t count_notified(struct sim *s)
{
    return jobs_notified(head_jobs(core_inspect_head(sim_core(s, 0))));
}

/* Each of these jobs is ended while it waits for slots. Then the client's daemon is back. */
static void ends_that_were_not_delivered_are_kept_up_to_a_limit(void **state)
{
    struct sim *s = boot();
    size_t first, running = sim_submit(s, 1, 2 * MEMBERS, 5000, 0);

    sim_for(s, 100);
    first = sim_submit(s, 2, 1, 1, 0);
    for (size_t i = 1; i < JOB_NOTIFIED_MAX + 10; i++)
        (void)sim_submit(s, 2, 1, 1, 0);
    sim_for(s, 1000);
    sim_partition(s, 2, 1);
    for (size_t i = 0; i < JOB_NOTIFIED_MAX + 10; i++) {
        core_job_signal(sim_core(s, 1), sim_job(s, first + i)->nspace, SIGTERM);
        sim_drain(s, 1);
    }
    sim_for(s, 1000);
    assert_int_equal(count_notified(s), JOB_NOTIFIED_MAX);
    dvm_replace_head(s);
    assert_int_equal(count_notified(s), JOB_NOTIFIED_MAX);
    sim_heal(s);
    wait_for_all(s);
    sim_for(s, 2000);
    assert_int_equal(count_notified(s), 0);
    for (size_t i = 0; i < JOB_NOTIFIED_MAX + 10; i++)
        dvm_wait_job(s, first + i, exit_code_of_signal(SIGTERM));
    dvm_wait_job(s, running, 0);
    sim_destroy(s);
}

/* Nobody is left to acknowledge them. */
static void ends_for_a_daemon_that_is_lost_are_forgotten(void **state)
{
    const struct sim_want none = {.ranks = 3 * MEMBERS, .run_ms = 10, .flags = JOB_NO_WAIT};
    struct sim *s = boot();

    (void)sim_submit_job(s, 2, &none);
    sim_for(s, 4);
    sim_partition(s, 2, 1);
    sim_for(s, 1000);
    assert_int_equal(count_notified(s), 1);
    sim_crash(s, 2);
    sim_for(s, API_FAULTS_SILENCE_MS + DVM_LOSS_MS);
    assert_int_equal(count_notified(s), 0);
    sim_destroy(s);
}

/* The client's daemon is cut off when the job stops for a debugger. */
static void the_state_of_a_job_is_not_lost_with_the_head(void **state)
{
    const struct sim_want want = {.ranks = 4,
                                  .run_ms = 60000,
                                  .nhosts = 2,
                                  .hosts = {1, 2},
                                  .stop = JOB_STOP_INIT,
                                  .stop_rank = JOB_RANK_ALL};
    struct sim *s = boot();
    size_t job = sim_submit_job(s, 5, &want);

    for (int ms = 0; ms < 1000 && !sim_job(s, job)->accepted; ms++)
        sim_for(s, 1);
    sim_partition(s, 5, 1);
    sim_for(s, 500);
    assert_int_equal(sim_ranks(s, 1), 2);
    assert_int_not_equal(sim_job(s, job)->state, JOB_READY_FOR_DEBUG);
    dvm_replace_head_at_once(s);
    sim_heal(s);
    sim_for(s, 5000);
    assert_int_equal(sim_job(s, job)->state, JOB_READY_FOR_DEBUG);
    sim_destroy(s);
}

/* pterm or Ctrl-C at a member: the request is on its way, at the head, or on its way to the ranks.
 */
static void c21_a_signal_that_ends_a_job_is_not_lost_with_the_head(void **state)
{
    for (uint64_t at = 0; at < 40; at++) {
        struct sim *s = boot();
        size_t job = sim_submit(s, 2, 8, 60000, 0);

        sim_for(s, 1000);
        core_client_signal(sim_core(s, 2), (uint32_t)job, SIGTERM);
        sim_drain(s, 2);
        sim_for(s, at);
        dvm_replace_head_at_once(s);
        dvm_wait_job(s, job, exit_code_of_signal(SIGTERM));
        sim_destroy(s);
    }
}

static void c21_published_values_stay_with_the_next_head(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 8, 5000, 0);
    const char *nspace = sim_job(s, job)->nspace;

    sim_for(s, 1000);
    assert_int_equal(dvm_publish(s, 1, nspace, "k", STORE_PERSIST_APP), STORE_OK);
    assert_int_equal(dvm_publish(s, 2, nspace, "ever", STORE_PERSIST_SESSION), STORE_OK);
    dvm_replace_head(s);
    wait_for_all(s);
    assert_int_equal(dvm_look_up(s, 0, "k"), STORE_OK);
    dvm_wait_job(s, job, 0);
    assert_int_equal(dvm_look_up(s, 0, "k"), STORE_NONE);
    dvm_replace_head(s);
    assert_int_equal(dvm_look_up(s, 0, "ever"), STORE_OK);
    sim_destroy(s);
}

/* Neither answer has come: the daemon sends both requests again. */
static void c21_a_request_for_published_values_is_carried_out_once(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 8, 5000, 0);
    const char *nspace = sim_job(s, job)->nspace;

    sim_for(s, 1000);
    assert_int_equal(dvm_publish(s, 1, nspace, "k", STORE_PERSIST_FIRST_READ), STORE_OK);
    assert_int_equal(dvm_look_up(s, 2, "k"), STORE_OK);
    dvm_replace_head(s);
    wait_for_all(s);
    assert_int_equal(dvm_look_up(s, 2, "k"), STORE_OK);
    assert_int_equal(dvm_publish(s, 1, nspace, "k", STORE_PERSIST_FIRST_READ), STORE_OK);
    assert_int_equal(dvm_look_up(s, 3, "k"), STORE_NONE);
    sim_destroy(s);
}

/* The head ends at any moment around the end of the job. */
static void c21_published_values_are_removed_with_their_job_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 120; at += 3) {
        struct sim *s = boot();
        size_t job = sim_submit(s, 2, 6, 50, 9);
        const char *nspace = sim_job(s, job)->nspace;

        sim_for(s, 30);
        assert_int_equal(dvm_publish(s, 1, nspace, "k", STORE_PERSIST_APP), STORE_OK);
        sim_for(s, at);
        dvm_replace_head_at_once(s);
        dvm_wait_job(s, job, 9);
        assert_int_equal(dvm_look_up(s, 0, "k"), STORE_NONE);
        assert_int_equal(dvm_publish(s, 2, nspace, "late", STORE_PERSIST_APP), STORE_NONE);
        sim_destroy(s);
    }
}

static void a_job_with_a_daemon_that_is_lost_meanwhile_ends(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 12, 60000, 0);

    sim_for(s, 1000);
    sim_crash(s, 0);
    sim_crash(s, 5);
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
    dvm_wait_job(s, job, 123);
    sim_destroy(s);
}

/* Its parent has reported the loss to nobody, and has a link to it again. */
static void a_daemon_that_was_silent_while_there_was_no_head_is_not_lost(void **state)
{
    struct sim *s = boot();
    struct epoch before = core_inspect_epoch(sim_core(s, 6));

    sim_crash(s, 0);
    sim_stop(s, 6, true);
    sim_for(s, API_FAULTS_SILENCE_MS + API_FAULTS_LINK_GRACE_MS + 1000);
    sim_stop(s, 6, false);
    sim_for(s, 3000);
    sim_start(s, 0);
    wait_for_all(s);
    sim_for(s, 1000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_true(epoch_eq(before, core_inspect_epoch(sim_core(s, 6))));
    sim_destroy(s);
}

static void the_head_may_be_replaced_again_and_again(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 8, 20000, 7);

    for (unsigned i = 0; i < 5; i++) {
        sim_for(s, 100 + 37 * i);
        dvm_replace_head(s);
    }
    dvm_wait_job(s, job, 7);
    sim_destroy(s);
}

static void put_shrink(struct sim *s, int64_t deadline_s)
{
    uint32_t two[] = {5, 6};
    struct api_campaign_request r = {.sequence = 1,
                                     .kind = API_KIND_SHRINK,
                                     .deadline_s = deadline_s,
                                     .ntargets = 2,
                                     .targets = two};

    dvm_put_campaign(s, "down", &r);
}

static void c21_a_shrink_is_completed_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 100; at++) {
        struct sim *s = boot();

        put_shrink(s, -1);
        sim_for(s, at);
        dvm_replace_head_at_once(s);
        dvm_wait_complete(s, "down", 60000);
        sim_for(s, 10000);
        assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS - 2);
        assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 1);
        assert_true(sim_parked(s, 5) && sim_parked(s, 6));
        sim_destroy(s);
    }
}

/* The time of the acknowledgement begins anew: a member cannot report a removal to nobody. */
static void c21_the_absence_of_the_head_makes_no_target_silent(void **state)
{
    struct sim *s = boot();

    put_shrink(s, -1);
    sim_break(s, 0, 1);
    sim_break(s, 0, 2);
    sim_crash(s, 0);
    sim_for(s, API_FAULTS_SILENCE_MS + 1000);
    sim_stop(s, 6, true);
    sim_start(s, 0);
    sim_for(s, 1000);
    assert_int_equal(dvm_phase(s, "down"), API_PHASE_REMOVING);
    sim_stop(s, 6, false);
    dvm_wait_complete(s, "down", 60000);
    sim_destroy(s);
}

static void a_shrink_that_waits_for_a_job_still_waits(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 12, 5000, 0);

    sim_for(s, 1000);
    put_shrink(s, -1);
    sim_for(s, 100);
    dvm_replace_head(s);
    sim_for(s, 1000);
    assert_int_equal(dvm_phase(s, "down"), API_PHASE_DRAINING);
    dvm_wait_job(s, job, 0);
    dvm_wait_complete(s, "down", 10000);
    sim_destroy(s);
}

/* Its deadline is one of the clock of the first head. */
static void c21_the_deadline_of_a_drain_stays(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 12, 60000, 0);

    sim_for(s, 1000);
    put_shrink(s, 3);
    dvm_replace_head(s);
    sim_for(s, 2000 - DVM_AWAY_MS);
    assert_false(sim_job(s, job)->done);
    sim_for(s, 3000);
    assert_true(sim_job(s, job)->done);
    sim_destroy(s);
}

static void put_grow(struct sim *s)
{
    uint32_t two[] = {5, 6};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = -1, .ntargets = 2, .targets = two};

    dvm_put_campaign(s, "up", &r);
}

/* One target has called or not, or both; a job waits for them. */
static void c21_a_grow_is_completed_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 60; at++) {
        struct sim *s = dvm_boot(
            &(struct dvm_shape){.members = 4, .started = 4, .more = 2, .slots = 2, .disk = true});
        size_t job;

        dvm_wait_wired(s, 4, 10000);
        put_grow(s);
        job = sim_submit(s, 2, 2 * MEMBERS, 100, 5);
        sim_start(s, 5);
        sim_for(s, 30);
        sim_start(s, 6);
        sim_for(s, at);
        dvm_replace_head(s);
        dvm_wait_complete(s, "up", 60000);
        dvm_wait_job(s, job, 5);
        assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
        sim_destroy(s);
    }
}

static void a_daemon_joins_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 60; at++) {
        struct sim *s =
            dvm_boot(&(struct dvm_shape){.members = 4, .started = 3, .slots = 2, .disk = true});

        dvm_wait_wired(s, 3, 10000);
        sim_start(s, 4);
        sim_for(s, at);
        dvm_replace_head_at_once(s);
        dvm_wait_wired(s, 4, 60000);
        sim_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_epochs_of_the_members_and_the_incarnation_stay),
        cmocka_unit_test(without_the_records_a_new_incarnation_begins),
        cmocka_unit_test(c21_a_running_job_ends_with_its_own_code),
        cmocka_unit_test(c21_a_job_that_ends_while_there_is_no_head_is_reported),
        cmocka_unit_test(c21_a_job_that_waits_for_slots_starts_in_its_turn),
        cmocka_unit_test(c21_a_job_goes_on_whenever_the_head_ends),
        cmocka_unit_test(c21_a_job_with_files_goes_on_whenever_the_head_ends),
        cmocka_unit_test(c21_a_daemon_that_was_not_notified_of_the_start_starts_its_ranks),
        cmocka_unit_test(c21_ranks_of_an_earlier_epoch_take_no_slots_of_the_present_one),
        cmocka_unit_test(c21_a_daemon_hears_of_a_lost_rank_once),
        cmocka_unit_test(c21_the_absence_of_the_head_makes_no_target_silent),
        cmocka_unit_test(the_state_of_a_job_is_not_lost_with_the_head),
        cmocka_unit_test(c21_a_signal_that_ends_a_job_is_not_lost_with_the_head),
        cmocka_unit_test(c21_a_detached_job_of_the_head_goes_on_whenever_the_head_ends),
        cmocka_unit_test(c21_a_detached_job_of_the_head_keeps_its_place_in_the_queue),
        cmocka_unit_test(a_job_of_the_head_that_is_not_detached_or_lacks_its_files_ends_with_it),
        cmocka_unit_test(c21_published_values_stay_with_the_next_head),
        cmocka_unit_test(c21_a_request_for_published_values_is_carried_out_once),
        cmocka_unit_test(c21_published_values_are_removed_with_their_job_whenever_the_head_ends),
        cmocka_unit_test(c21_a_job_that_is_submitted_while_there_is_no_head_runs),
        cmocka_unit_test(c21_a_job_that_has_ended_is_not_submitted_again),
        cmocka_unit_test(c21_an_end_that_was_not_delivered_is_known_after_many_other_jobs),
        cmocka_unit_test(c21_a_job_is_not_taken_twice_after_many_other_jobs),
        cmocka_unit_test(c21_the_failure_of_a_spawned_job_is_in_an_end_that_was_not_delivered),
        cmocka_unit_test(ends_that_were_not_delivered_are_kept_up_to_a_limit),
        cmocka_unit_test(ends_for_a_daemon_that_is_lost_are_forgotten),
        cmocka_unit_test(a_job_with_a_daemon_that_is_lost_meanwhile_ends),
        cmocka_unit_test(a_daemon_that_was_silent_while_there_was_no_head_is_not_lost),
        cmocka_unit_test(the_head_may_be_replaced_again_and_again),
        cmocka_unit_test(c21_a_shrink_is_completed_whenever_the_head_ends),
        cmocka_unit_test(a_shrink_that_waits_for_a_job_still_waits),
        cmocka_unit_test(c21_the_deadline_of_a_drain_stays),
        cmocka_unit_test(c21_a_grow_is_completed_whenever_the_head_ends),
        cmocka_unit_test(a_daemon_joins_whenever_the_head_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
