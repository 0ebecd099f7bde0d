/* SPDX-License-Identifier: BSD-3-Clause */
/* No job waits for ever: held jobs go before new campaigns, crashing joiners wait; a shrink turns
 * away a daemon that has only called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/head/members/join_backoff.h"
#include "dvm/sim/check.h"
#include "dvm/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define MEMBERS 20u
#define STORM_MS 130000u

static struct sim *boot(uint32_t nodes, uint32_t size, uint64_t delay_ms)
{
    return dvm_boot(&(struct dvm_shape){.members = size,
                                        .started = size,
                                        .more = nodes - size - 1,
                                        .slots = 2,
                                        .delay_ms = delay_ms});
}

static const struct member *member(struct sim *s, uint32_t vpid)
{
    return members_get(core_inspect_members(sim_core(s, 0)), vpid);
}

static bool is(struct sim *s, uint32_t vpid, enum member_state state)
{
    return member(s, vpid) && member(s, vpid)->state == state;
}

/* Members leave by SIGTERM and come back, so fast that the fence would never be down. */
static void storm(struct sim *s, uint32_t turn)
{
    uint32_t v = 1 + turn % MEMBERS;

    if (!sim_core(s, v)) {
        sim_start(s, v);
    } else if (core_state(sim_core(s, v)) == CORE_WIRED) {
        sim_clock(s, v);
        core_sigterm(sim_core(s, v));
        sim_drain(s, v);
    }
}

static void no_job_starves_in_a_storm_of_campaigns(void **state)
{
    struct sim *s = boot(MEMBERS + 1, MEMBERS, 100);
    struct check *c = check_create(s);
    uint64_t end;
    size_t done = 0;

    sim_for(s, 4000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    end = sim_now(s) + STORM_MS;
    for (uint32_t turn = 0; sim_now(s) < end; turn++) {
        storm(s, turn);
        if (turn % 200 == 0)
            sim_submit(s, 0, 1, 20, 0);
        sim_for(s, 10);
        if (*check_failed(c))
            fail_msg("%s: %s", check_failed(c), check_text(c));
    }
    assert_true(core_stats(sim_core(s, 0)).held_map > 0);
    for (size_t i = 0; i < sim_njobs(s); i++)
        done += sim_job(s, i)->done;
    assert_true(done > 0);
    sim_destroy(s);
    check_destroy(c);
}

static bool goes_on(struct sim *s, void *arg)
{
    return sim_job(s, *(size_t *)arg)->state != JOB_WAITING_FOR_DAEMONS;
}

/* Of vpid `first` and all above it. */
static void begin_shrink(struct sim *s, const char *id, uint32_t first)
{
    uint32_t targets[] = {3, 4, 5, 6, 7, 8, 9};
    struct api_campaign_request r = {.sequence = 10 - first,
                                     .kind = API_KIND_SHRINK,
                                     .deadline_s = -1,
                                     .ntargets = 10 - first,
                                     .targets = &targets[first - 3]};

    dvm_put_campaign(s, id, &r);
}

static bool is_removing(struct sim *s, void *arg)
{
    return dvm_phase(s, arg) == API_PHASE_REMOVING;
}

static void hang_while_removed(struct sim *s, const char *id, uint32_t vpid, uint64_t ms)
{
    assert_true(sim_until(s, is_removing, (char *)id, 5000));
    sim_stop(s, vpid, true);
    sim_for(s, ms);
}

/* Each shrink begins when the one before it is complete, since both name vpid 9. The first six hold
 * the job for 27 s. A member that comes 3.5 s later would raise the fence again. */
static void c5_the_time_of_a_hold_goes_on_when_the_job_is_held_again(void **state)
{
    static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g"};
    struct sim *s = boot(10, 9, 0);
    size_t job;

    dvm_wait_wired(s, 9, 5000);
    for (uint32_t i = 0; i < 7; i++)
        begin_shrink(s, ids[i], 9 - i);
    job = sim_submit(s, 0, 1, 10, 0);
    for (uint32_t i = 0; i < 6; i++) {
        hang_while_removed(s, ids[i], 9 - i, 4500); /* their links are not silent for long enough */
        sim_stop(s, 9 - i, false);
    }
    hang_while_removed(s, "g", 3, 3500);
    assert_false(goes_on(s, &job));
    assert_int_equal(core_stats(sim_core(s, 0)).held_map, 7);
    sim_crash(s, 2);
    sim_start(s, 2);
    sim_for(s, 1500);
    assert_false(is(s, 2, MEMBER_WIRED));
    sim_stop(s, 3, false);
    dvm_wait_job(s, job, 0);
    sim_for(s, 1000);
    assert_true(is(s, 2, MEMBER_WIRED));
    sim_destroy(s);
}

/* Epochs that end as soon as they are admitted do not raise the fence again and again. */
static void a_crash_looping_joiner_is_admitted_ever_later(void **state)
{
    struct sim *s = boot(4, 3, 3);
    uint64_t last = 0;
    unsigned lives = 0;

    sim_for(s, 2000);
    for (uint64_t end = sim_now(s) + 60000; sim_now(s) < end;) {
        if (member(s, 3)->ctr != last) {
            last = member(s, 3)->ctr;
            lives++;
            sim_crash(s, 3);
            sim_start(s, 3);
        }
        sim_for(s, 5);
    }
    assert_in_range(lives, 4, 9); /* after 0, 0, 1, 2, 4, 8, 16, 30 s */
    sim_for(s, JOIN_BACKOFF_MAX_MS + 5000);
    assert_true(is(s, 3, MEMBER_WIRED));
    sim_for(s, JOIN_SHORT_MS);
    sim_crash(s, 3); /* that epoch was long: the next one begins at once */
    sim_start(s, 3);
    sim_for(s, 5000);
    assert_true(is(s, 3, MEMBER_WIRED));
    sim_destroy(s);
}

static void a_vpid_that_shrinks_and_grows_again_and_again_is_never_made_to_wait(void **state)
{
    struct sim *s = boot(4, 3, 3);
    uint32_t target = 3;
    struct api_size size;
    struct api_campaign out;
    enum api_reason reason;

    sim_for(s, 2000);
    for (uint64_t i = 1; i < 20; i++) {
        struct api_campaign_request r = {
            .sequence = i, .deadline_s = -1, .ntargets = 1, .targets = &target};
        char id[2] = {(char)('a' + i), 0};

        assert_int_equal(core_campaign_put(sim_core(s, 0), id, &r, &out, &reason, NULL), 0);
        api_campaign_free(&out);
        sim_drain(s, 0);
        sim_for(s, 100);
        assert_true(sim_parked(s, 3));
        core_size_put(sim_core(s, 0), &(struct api_size){.sequence = i, .members = 3}, &size,
                      &reason, NULL);
        sim_drain(s, 0);
        sim_crash(s, 3);
        sim_start(s, 3);
        sim_for(s, 100);
        assert_true(is(s, 3, MEMBER_WIRED));
    }
    sim_destroy(s);
}

static void c2_a_shrink_refuses_a_caller_that_is_not_wired(void **state)
{
    struct sim *s = boot(6, 5, 3);
    uint32_t targets[] = {4, 5};
    struct api_campaign_request r = {
        .sequence = 1, .deadline_s = -1, .ntargets = 2, .targets = targets};
    struct api_campaign out;
    enum api_reason reason;

    sim_crash(s, 4);
    sim_crash(s, 5);
    sim_for(s, 2000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 3);
    sim_stop(s, 2, true); /* it does not acknowledge that 4 joins, so 5 waits for its turn */
    sim_start(s, 4);
    sim_for(s, 100);
    sim_start(s, 5);
    sim_for(s, 200);
    assert_true(is(s, 5, MEMBER_REPORTED));
    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &out, &reason, NULL), 0);
    api_campaign_free(&out);
    sim_drain(s, 0);
    assert_true(is(s, 5, MEMBER_ABSENT));
    sim_for(s, 50);
    assert_int_equal(core_state(sim_core(s, 5)), CORE_JOINING);
    sim_stop(s, 2, false);
    sim_for(s, 5000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 3);
    assert_true(sim_parked(s, 4));
    assert_int_equal(core_state(sim_core(s, 5)), CORE_JOINING);
    assert_non_null(strstr(core_state_text(sim_core(s, 5)), "outside the size"));
    sim_destroy(s);
}

/* Its pod is started again while a job keeps the drain waiting. No wait for the heartbeat
 * follows. */
static void a_shrink_target_that_joins_again_has_lost_its_earlier_epoch(void **state)
{
    struct sim *s = boot(6, 5, 3);
    uint32_t targets[] = {4, 5};
    struct api_campaign_request r = {
        .sequence = 1, .deadline_s = -1, .ntargets = 2, .targets = targets};
    struct api_campaign out;
    enum api_reason reason;
    uint64_t life;

    dvm_wait_wired(s, 5, 4000);
    sim_submit(s, 0, 10, 60000, 0);
    sim_for(s, 1000);
    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &out, &reason, NULL), 0);
    api_campaign_free(&out);
    sim_drain(s, 0);
    assert_true(is(s, 4, MEMBER_DRAINING));
    life = member(s, 4)->ctr;
    sim_vanish(s, 4);
    sim_start(s, 4);
    sim_for(s, 1000);
    assert_int_equal(member(s, 4)->ctr, life);
    assert_true(is(s, 4, MEMBER_LOST));
    sim_destroy(s);
}

/* The events of one broadcast have the same cause, which tells of how many others it names. Returns
 * the number of such events. */
static unsigned count_joint_losses(struct sim *s)
{
    static const char joint[] = "lost together with ";
    unsigned n = 0;

    for (uint64_t i = 1; i < core_event_next(sim_core(s, 0)); i++) {
        const struct api_event *e = core_event(sim_core(s, 0), i), *x;
        unsigned same = 0;

        if (e->type != API_EVENT_DAEMON_LOST || strncmp(e->cause, joint, strlen(joint)) != 0)
            continue;
        n++;
        for (uint64_t k = 1; k < core_event_next(sim_core(s, 0)); k++) {
            x = core_event(sim_core(s, 0), k);
            same += x->type == API_EVENT_DAEMON_LOST && strcmp(x->cause, e->cause) == 0;
        }
        assert_int_equal(strtoul(e->cause + strlen(joint), NULL, 10), same - 1);
    }
    return n;
}

/* A rack without power: parents and children at once, which do not return. */
static void daemons_that_fall_silent_together_are_judged_together(void **state)
{
    struct sim *s = boot(MEMBERS + 1, MEMBERS, 3);

    dvm_wait_wired(s, MEMBERS, 4000);
    for (uint32_t v = 1; v < MEMBERS; v++)
        sim_vanish(s, v);
    /* Silence, link grace, three times the silence, and some messages. */
    dvm_wait_wired(s, 1, 45500);
    assert_true(is(s, MEMBERS, MEMBER_WIRED));
    assert_true(count_joint_losses(s) > 1);
    sim_destroy(s);
}

/* Half of the daemons are below one that hangs: they call the head, and none is declared lost. */
static void a_child_of_a_silent_daemon_reports_in_time(void **state)
{
    struct sim *s = boot(MEMBERS + 1, MEMBERS, 3);

    dvm_wait_wired(s, MEMBERS, 4000);
    sim_stop(s, 1, true);
    sim_crash(s, 20);
    sim_for(s, 60000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS - 2);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 2);
    sim_destroy(s);
}

static bool last_is_lost(struct sim *s, void *arg)
{
    (void)arg;
    return is(s, MEMBERS, MEMBER_LOST);
}

/* The head is stopped between a broadcast and its answers. When it continues, the time has
 * passed. */
static void a_head_that_was_suspended_declares_no_member_silent(void **state)
{
    struct sim *s = boot(MEMBERS + 1, MEMBERS, 3);

    dvm_wait_wired(s, MEMBERS, 4000);
    sim_crash(s, MEMBERS);
    assert_true(sim_until(s, last_is_lost, NULL, DVM_LOSS_MS));
    sim_stop(s, 0, true);
    sim_for(s, 37000);
    sim_stop(s, 0, false);
    sim_for(s, 60000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS - 1);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    sim_destroy(s);
}

/* A member that hangs has not acknowledged the broadcast yet. */
static void c11_the_loss_of_a_member_does_not_complete_the_wiring_of_joiners(void **state)
{
    struct sim *s = boot(MEMBERS + 2, MEMBERS, 3);

    dvm_wait_wired(s, MEMBERS, 4000);
    dvm_put_size(s, 1, MEMBERS + 1);
    sim_crash(s, MEMBERS);
    sim_for(s, DVM_LOSS_MS / 2);
    sim_stop(s, 1, true);
    sim_start(s, MEMBERS + 1);
    assert_true(sim_until(s, last_is_lost, NULL, DVM_LOSS_MS));
    assert_true(is(s, MEMBERS + 1, MEMBER_REPORTED));
    sim_stop(s, 1, false);
    dvm_wait_wired(s, MEMBERS, 4000);
    assert_true(is(s, MEMBERS + 1, MEMBER_WIRED));
    sim_destroy(s);
}

/* It does not answer for two seconds, which is less than the limit. */
static void c6_a_shrink_is_complete_when_its_targets_have_left_themselves(void **state)
{
    struct sim *s = boot(5, 4, 5);
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .ntargets = 1,
                                     .targets = (uint32_t[]){4}};
    struct api_campaign c;
    enum api_reason reason;

    sim_for(s, 2000);
    sim_stop(s, 4, true);
    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    sim_for(s, 1500);
    assert_false(dvm_complete(s, "c"));
    sim_stop(s, 4, false);
    dvm_wait_complete(s, "c", 5000);
    sim_for(s, 500);
    assert_true(sim_parked(s, 4));
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c6_a_shrink_is_complete_when_its_targets_have_left_themselves),
        cmocka_unit_test(no_job_starves_in_a_storm_of_campaigns),
        cmocka_unit_test(c5_the_time_of_a_hold_goes_on_when_the_job_is_held_again),
        cmocka_unit_test(a_crash_looping_joiner_is_admitted_ever_later),
        cmocka_unit_test(a_vpid_that_shrinks_and_grows_again_and_again_is_never_made_to_wait),
        cmocka_unit_test(c2_a_shrink_refuses_a_caller_that_is_not_wired),
        cmocka_unit_test(c11_the_loss_of_a_member_does_not_complete_the_wiring_of_joiners),
        cmocka_unit_test(a_shrink_target_that_joins_again_has_lost_its_earlier_epoch),
        cmocka_unit_test(daemons_that_fall_silent_together_are_judged_together),
        cmocka_unit_test(a_child_of_a_silent_daemon_reports_in_time),
        cmocka_unit_test(a_head_that_was_suspended_declares_no_member_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
