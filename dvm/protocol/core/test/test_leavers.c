/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs whose submitters are connected to a daemon that a shrink removes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/client.h"

#include <string.h>

#define LEAVER 4

/* Type of the last message to a client. */
static int last_type;

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct client_msg m;

    if (act->kind != OUT_CLIENT)
        return;
    assert_int_equal(client_msg_decode(act->client.msg.data, act->client.msg.len, &m, NULL), 0);
    if (client_msg_end(&m))
        last_type = (int)m.type;
    client_msg_free(&m);
}

static struct sim *boot(void)
{
    static const struct sim_hooks hooks = {.action = on_action};
    struct sim *s =
        dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 1, .hooks = &hooks});

    dvm_wait_wired(s, 4, 4000);
    last_type = 0;
    return s;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_is_not_taken_when_its_daemon_leaves_may_be_submitted_elsewhere),
        cmocka_unit_test(a_removal_waits_until_its_target_knows_of_its_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
