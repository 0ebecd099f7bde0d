/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs whose submitters are connected to a daemon that a shrink removes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/client.h"
#include "dvm/protocol/wire/exit_code.h"

#include <string.h>

#define LEAVER 4

/* Type of the last end that a client was notified of. */
static int last_type;
static unsigned launches;

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct client_msg m;

    launches += act->kind == OUT_LAUNCH;
    if (act->kind != OUT_CLIENT)
        return;
    assert_int_equal(client_msg_decode(act->client.msg.data, act->client.msg.len, &m, NULL), 0);
    if (client_msg_end(&m))
        last_type = (int)m.type;
    client_msg_free(&m);
}

static struct sim *boot_kept(bool disk)
{
    static const struct sim_hooks hooks = {.action = on_action};
    struct sim *s = dvm_boot(
        &(struct dvm_shape){.members = 4, .started = 4, .slots = 1, .hooks = &hooks, .disk = disk});

    dvm_wait_wired(s, 4, 4000);
    last_type = 0;
    launches = 0;
    return s;
}

static struct sim *boot(void)
{
    return boot_kept(false);
}

static void remove_leaver(struct sim *s)
{
    uint32_t target = LEAVER;
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .ntargets = 1,
                                     .targets = &target};
    struct api_campaign c;
    enum api_reason reason = API_REASON_NONE;

    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &c, &reason, NULL), 0);
    api_campaign_free(&c);
}

/* At each millisecond of the shrink. */
static void a_job_that_is_not_taken_when_its_daemon_leaves_may_be_submitted_elsewhere(void **state)
{
    for (uint64_t at_ms = 0; at_ms < 40; at_ms++) {
        struct sim *s = boot();
        size_t job;

        remove_leaver(s);
        sim_for(s, at_ms);
        job = sim_submit(s, LEAVER, 1, 5, 0);
        dvm_wait_job(s, job, 125);
        assert_int_equal(last_type, CLIENT_AWAY);
        assert_false(sim_job(s, job)->accepted);
        dvm_wait_complete(s, "c", 5000);
        sim_destroy(s);
    }
}

/* Else a client could submit a job again that has run. This one does not fit, so no part of it
 * keeps the shrink waiting. */
static void a_removal_waits_until_its_target_knows_of_its_jobs(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, LEAVER, 100, 100, 0);

    sim_stop(s, LEAVER, true);
    sim_for(s, 500);
    remove_leaver(s);
    sim_for(s, 500);
    assert_int_equal(dvm_phase(s, "c"), API_PHASE_DRAINING);
    sim_stop(s, LEAVER, false);
    dvm_wait_job(s, job, 125);
    assert_true(sim_job(s, job)->accepted);
    assert_int_equal(last_type, CLIENT_DONE);
    dvm_wait_complete(s, "c", 5000);
    sim_destroy(s);
}

/* A job for member 1 alone, which has one slot. */
static size_t submit_for_1(struct sim *s, uint32_t vpid, uint64_t run_ms, int code, uint32_t flags)
{
    struct sim_want w = {
        .ranks = 1, .run_ms = run_ms, .code = code, .flags = flags, .nhosts = 1, .hosts = {1}};

    return sim_submit_job(s, vpid, &w);
}

static bool is_accepted(struct sim *s, void *arg)
{
    return sim_job(s, *(size_t *)arg)->accepted;
}

/* A job of which nothing has run, since another one has the slot for a minute. */
static size_t submit_waiting(struct sim *s, uint32_t flags)
{
    size_t waiting;

    submit_for_1(s, 1, 60000, 0, 0);
    sim_for(s, 100);
    waiting = submit_for_1(s, LEAVER, 5, 0, flags);
    assert_true(sim_until(s, is_accepted, &waiting, 1000));
    sim_for(s, 100);
    assert_int_equal(launches, 1);
    return waiting;
}

static void
a_job_that_waits_when_its_daemon_leaves_is_given_back_and_may_be_submitted_elsewhere(void **state)
{
    struct sim *s = boot();
    size_t waiting = submit_waiting(s, 0), again;

    remove_leaver(s);
    dvm_wait_job(s, waiting, EXIT_CODE_LOST);
    assert_int_equal(last_type, CLIENT_AWAY);
    assert_string_equal(sim_job(s, waiting)->text,
                        "not launched: the daemon of its prun (vpid 4) leaves the DVM");
    dvm_wait_complete(s, "c", 5000);
    again = submit_for_1(s, 1, 5, 7, 0);
    dvm_wait_job(s, again, 7);
    assert_int_equal(launches, 2);
    sim_destroy(s);
}

static void a_removal_waits_until_its_target_knows_what_it_is_given_back(void **state)
{
    struct sim *s = boot();
    size_t waiting = submit_waiting(s, 0);

    sim_stop(s, LEAVER, true);
    remove_leaver(s);
    sim_for(s, 500);
    assert_int_equal(dvm_phase(s, "c"), API_PHASE_DRAINING);
    sim_stop(s, LEAVER, false);
    dvm_wait_job(s, waiting, EXIT_CODE_LOST);
    assert_int_equal(last_type, CLIENT_AWAY);
    dvm_wait_complete(s, "c", 5000);
    sim_destroy(s);
}

/* The slot becomes free at each millisecond around the removal. */
static void a_job_that_is_given_back_has_not_run_and_one_that_runs_is_not_given_back(void **state)
{
    unsigned given_back = 0, ran = 0;

    for (uint64_t at_ms = 0; at_ms < 60; at_ms++) {
        struct sim *s = boot();
        size_t waiting;

        submit_for_1(s, 1, 300, 0, 0);
        sim_for(s, 100);
        waiting = submit_for_1(s, LEAVER, 5, 7, 0);
        assert_true(sim_until(s, is_accepted, &waiting, 1000));
        sim_for(s, 160 + at_ms);
        remove_leaver(s);
        dvm_wait_complete(s, "c", 5000);
        assert_true(sim_job(s, waiting)->done);
        assert_int_equal(last_type, launches == 1 ? CLIENT_AWAY : CLIENT_DONE);
        assert_int_equal(sim_job(s, waiting)->exit_code, launches == 1 ? EXIT_CODE_LOST : 7);
        given_back += launches == 1;
        ran += launches == 2;
        sim_destroy(s);
    }
    assert_true(given_back > 0 && ran > 0);
}

/* At each millisecond of the shrink, of which the first head has kept the beginning. In every other
 * DVM the head's messages that are under way are lost with it. */
static void a_job_that_is_given_back_does_not_run_under_the_next_head(void **state)
{
    for (uint64_t i = 0; i < 80; i++) {
        struct sim *s = boot_kept(true);
        size_t waiting = submit_waiting(s, 0);

        remove_leaver(s);
        sim_drain(s, 0);
        sim_for(s, i / 2);
        if (i % 2)
            dvm_replace_head_at_once(s);
        else
            dvm_replace_head(s);
        dvm_wait_job(s, waiting, EXIT_CODE_LOST);
        assert_int_equal(last_type, CLIENT_AWAY);
        dvm_wait_complete(s, "c", 30000);
        sim_for(s, 70000);
        assert_int_equal(launches, 1);
        sim_destroy(s);
    }
}

/* There is no prun that could submit it again. */
static void a_detached_job_that_waits_when_its_daemon_leaves_ends_with_it(void **state)
{
    struct sim *s = boot();
    size_t waiting = submit_waiting(s, JOB_DETACH);

    remove_leaver(s);
    dvm_wait_job(s, waiting, EXIT_CODE_LOST);
    assert_int_equal(last_type, CLIENT_ERROR);
    dvm_wait_complete(s, "c", 5000);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_is_not_taken_when_its_daemon_leaves_may_be_submitted_elsewhere),
        cmocka_unit_test(a_removal_waits_until_its_target_knows_of_its_jobs),
        cmocka_unit_test(
            a_job_that_waits_when_its_daemon_leaves_is_given_back_and_may_be_submitted_elsewhere),
        cmocka_unit_test(a_removal_waits_until_its_target_knows_what_it_is_given_back),
        cmocka_unit_test(a_job_that_is_given_back_has_not_run_and_one_that_runs_is_not_given_back),
        cmocka_unit_test(a_job_that_is_given_back_does_not_run_under_the_next_head),
        cmocka_unit_test(a_detached_job_that_waits_when_its_daemon_leaves_ends_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
