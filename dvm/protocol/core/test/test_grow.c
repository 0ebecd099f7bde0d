/* SPDX-License-Identifier: BSD-3-Clause */
/* Grow campaigns: all or nothing, reported once, without effect on others, in any overlap with
 * shrinks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/sim/check.h"
#include "dvm/sim/sim.h"

#include <stdlib.h>
#include <string.h>

struct world {
    struct sim *sim;
    struct check *check; /* all invariants hold, in every test */
    uint64_t sequence;
};

/* Up to `nodes` daemons may run. The head and members 1..size run, all wired. */
static struct world boot_with(uint32_t nodes, uint32_t size, bool disk)
{
    struct world w = {
        .sim = dvm_boot(&(struct dvm_shape){
            .members = size, .more = nodes - size - 1, .slots = 2, .delay_ms = 5, .disk = disk})};

    w.check = check_create(w.sim);
    for (uint32_t v = 1; v <= size; v++)
        sim_start(w.sim, v);
    sim_for(w.sim, 2000);
    return w;
}

static struct world boot(uint32_t nodes, uint32_t size)
{
    return boot_with(nodes, size, false);
}

static void end(struct world *w)
{
    sim_for(w->sim, 30000);
    if (!*check_failed(w->check))
        check_rest(w->check);
    if (*check_failed(w->check))
        fail_msg("%s: %s", check_failed(w->check), check_text(w->check));
    assert_int_equal(resize_fence_sum(head_resize(core_inspect_head(sim_core(w->sim, 0)))), 0);
    sim_destroy(w->sim);
    check_destroy(w->check);
}

static enum member_state state(struct world *w, uint32_t vpid)
{
    const struct member *m = members_get(core_inspect_members(sim_core(w->sim, 0)), vpid);

    return m ? m->state : MEMBER_ABSENT;
}

static bool live(struct world *w, uint32_t vpid)
{
    return members_live(core_inspect_members(sim_core(w->sim, 0)), vpid);
}

static uint32_t fence(struct world *w)
{
    return resize_fence_sum(head_resize(core_inspect_head(sim_core(w->sim, 0))));
}

/* The targets are first..last. Returns the phase of the answer; -1: refused. */
static int put(struct world *w, const char *id, enum api_kind kind, uint32_t first, uint32_t last,
               int64_t deadline_s, enum api_reason *reason)
{
    uint32_t targets[64];
    struct api_campaign_request r = {
        .sequence = ++w->sequence, .kind = kind, .deadline_s = deadline_s, .targets = targets};
    struct api_campaign out;
    enum api_reason why = API_REASON_NONE;
    int phase;

    for (uint32_t v = first; v <= last; v++)
        targets[r.ntargets++] = v;
    sim_clock(w->sim, 0);
    if (core_campaign_put(sim_core(w->sim, 0), id, &r, &out, &why, NULL) < 0) {
        if (reason)
            *reason = why;
        return -1;
    }
    phase = (int)out.phase;
    api_campaign_free(&out);
    sim_drain(w->sim, 0);
    return phase;
}

static int grow(struct world *w, const char *id, uint32_t first, uint32_t last)
{
    return put(w, id, API_KIND_GROW, first, last, -1, NULL);
}

static enum api_phase phase(struct world *w, const char *id, const char *cause)
{
    struct api_campaign c;
    enum api_reason reason;
    enum api_phase p;

    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), id, &c, &reason, NULL), 0);
    p = c.phase;
    if (cause && !strstr(c.cause, cause))
        fail_msg("the cause \"%s\" does not say \"%s\"", c.cause, cause);
    api_campaign_free(&c);
    return p;
}

struct awaited {
    struct world *w;
    const char *id;
    enum api_phase phase;
};

static bool there(struct sim *s, void *arg)
{
    const struct awaited *a = arg;

    return phase(a->w, a->id, NULL) == a->phase;
}

static void await(struct world *w, const char *id, enum api_phase p, uint64_t for_ms)
{
    struct awaited a = {w, id, p};

    assert_true(sim_until(w->sim, there, &a, for_ms));
}

static int cancel(struct world *w, const char *id, enum api_reason *reason)
{
    struct api_campaign out;
    int rc = core_campaign_cancel(sim_core(w->sim, 0), id, &out, reason, NULL);

    if (rc == 0)
        api_campaign_free(&out);
    sim_drain(w->sim, 0);
    return rc;
}

/* Events of the campaign of that type; the number of the last of them. */
static unsigned events(struct world *w, const char *id, enum api_event_type type, uint64_t *last)
{
    const struct core *head = sim_core(w->sim, 0);
    unsigned n = 0;

    for (uint64_t i = 1; i < core_event_next(head); i++) {
        const struct api_event *e = core_event(head, i);

        if (e->type != type || (e->has_campaign && strcmp(e->campaign.id, id) != 0))
            continue;
        n++;
        if (last)
            *last = i;
    }
    return n;
}

static void assert_failed(struct world *w, const char *id, const char *cause, uint32_t size)
{
    uint64_t offer = 0, told = 0;

    assert_int_equal(phase(w, id, cause), API_PHASE_FAILED);
    assert_int_equal(events(w, id, API_EVENT_CAMPAIGN_FAILED, &told), 1);
    assert_int_equal(events(w, id, API_EVENT_NODES_OFFERED, &offer), 1);
    assert_true(offer < told);
    assert_int_equal(events(w, id, API_EVENT_CAMPAIGN_COMPLETE, NULL), 0);
    assert_int_equal(dvm_bound(w->sim), size);
}

static void c7_a_grow_of_present_members_is_complete_with_its_answer(void **arg)
{
    struct world w = boot(5, 4);
    uint64_t before = core_event_next(sim_core(w.sim, 0));

    assert_int_equal(grow(&w, "g", 1, 4), API_PHASE_COMPLETE);
    assert_int_equal(fence(&w), 0);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_COMPLETE);
    assert_int_equal(core_event_next(sim_core(w.sim, 0)), before);
    end(&w);
}

static void c13_a_grow_wires_all_its_daemons_at_once_and_reports_it_once(void **arg)
{
    struct world w = boot(9, 5);
    uint64_t wired = 0, told = 0;
    size_t job;

    assert_int_equal(grow(&w, "g", 6, 8), API_PHASE_GATHERING);
    assert_int_equal(dvm_bound(w.sim), 8);
    sim_start(w.sim, 6);
    sim_start(w.sim, 8);
    sim_crash(w.sim, 2); /* other daemons join and leave meanwhile */
    sim_for(w.sim, 5000);
    sim_start(w.sim, 2);
    sim_for(w.sim, 2000);
    assert_int_equal(state(&w, 2), MEMBER_WIRED);
    assert_int_equal(state(&w, 6), MEMBER_REPORTED);
    assert_int_equal(state(&w, 8), MEMBER_REPORTED);
    assert_int_equal(fence(&w), 0);
    job = sim_submit(w.sim, 0, 10, 5, 0);
    sim_for(w.sim, 500);
    assert_true(sim_job(w.sim, job)->done);
    sim_start(w.sim, 7);
    await(&w, "g", API_PHASE_WIRING, 1000);
    assert_int_equal(fence(&w), 3);
    await(&w, "g", API_PHASE_COMPLETE, 1000);
    for (uint32_t v = 6; v <= 8; v++)
        assert_int_equal(state(&w, v), MEMBER_WIRED);
    assert_int_equal(events(&w, "g", API_EVENT_CAMPAIGN_ACCEPTED, NULL), 1);
    assert_int_equal(events(&w, "g", API_EVENT_CAMPAIGN_COMPLETE, &told), 1);
    assert_int_equal(events(&w, "g", API_EVENT_NODES_OFFERED, NULL), 0);
    (void)events(&w, "g", API_EVENT_DAEMON_WIRED, &wired);
    assert_true(wired < told);
    assert_int_equal(dvm_bound(w.sim), 8);
    end(&w);
}

static void c8_a_grow_whose_daemon_fails_before_all_have_come_is_rolled_back_whole(void **arg)
{
    struct world w = boot(9, 5);
    uint64_t version = core_stats(sim_core(w.sim, 0)).version;

    grow(&w, "g", 6, 8);
    sim_start(w.sim, 6);
    sim_start(w.sim, 7);
    sim_for(w.sim, 1000);
    sim_crash(w.sim, 7);
    sim_for(w.sim, 1000);
    assert_failed(&w, "g", "vpid 7", 5);
    assert_int_equal(core_stats(sim_core(w.sim, 0)).version, version); /* nothing was broadcast */
    assert_true(sim_parked(w.sim, 6));
    sim_start(w.sim, 8);
    sim_for(w.sim, 1000);
    assert_int_equal(state(&w, 8), MEMBER_ABSENT);
    end(&w);
}

static void c8_a_grow_whose_daemon_fails_while_all_are_wired_is_rolled_back_whole(void **arg)
{
    struct world w = boot(9, 5);
    size_t job = sim_submit(w.sim, 0, 10, 20000, 0);

    sim_for(w.sim, 500);
    grow(&w, "g", 6, 8);
    for (uint32_t v = 6; v <= 8; v++)
        sim_start(w.sim, v);
    await(&w, "g", API_PHASE_WIRING, 2000);
    sim_crash(w.sim, 7);
    await(&w, "g", API_PHASE_FAILED, 30000);
    assert_failed(&w, "g", "vpid 7", 5);
    for (uint32_t v = 6; v <= 8; v++)
        assert_false(live(&w, v));
    sim_for(w.sim, 1000);
    assert_true(sim_parked(w.sim, 6));
    assert_true(sim_parked(w.sim, 8));
    sim_for(w.sim, 20000);
    assert_int_equal(sim_job(w.sim, job)->exit_code, 0);
    end(&w);
}

static void c8_a_grow_that_is_not_complete_at_its_deadline_is_rolled_back(void **arg)
{
    struct world w = boot(9, 5);

    assert_int_equal(put(&w, "g", API_KIND_GROW, 6, 8, 3, NULL), API_PHASE_GATHERING);
    sim_start(w.sim, 6);
    sim_for(w.sim, 2900);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_GATHERING);
    sim_for(w.sim, 200);
    assert_failed(&w, "g", "deadline of 3 s", 5);
    sim_for(w.sim, 100);
    assert_true(sim_parked(w.sim, 6));
    end(&w);
}

static void c8_a_grow_with_no_time_is_rolled_back_at_once(void **arg)
{
    struct world w = boot(9, 5);

    put(&w, "g", API_KIND_GROW, 6, 8, 0, NULL);
    sim_for(w.sim, 100);
    assert_failed(&w, "g", "deadline of 0 s", 5);
    end(&w);
}

static void c8_a_daemon_that_is_silent_while_it_is_wired_does_not_outlast_the_deadline(void **arg)
{
    struct world w = boot(9, 5);

    assert_int_equal(put(&w, "g", API_KIND_GROW, 6, 8, 2, NULL), API_PHASE_GATHERING);
    for (uint32_t v = 6; v <= 8; v++)
        sim_start(w.sim, v);
    await(&w, "g", API_PHASE_WIRING, 1000);
    sim_stop(w.sim, 7, true);
    sim_for(w.sim, 2100);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_ROLLING_BACK);
    await(&w, "g", API_PHASE_FAILED, 30000);
    assert_failed(&w, "g", "deadline of 2 s", 5);
    assert_false(live(&w, 6) || live(&w, 7) || live(&w, 8));
    sim_stop(w.sim, 7, false);
    sim_for(w.sim, DVM_LOSS_MS);
    assert_non_null(strstr(core_state_text(sim_core(w.sim, 7)), "outside the size"));
    end(&w);
}

static void the_removal_of_targets_that_are_lost_while_it_waits_is_not_broadcast(void **arg)
{
    struct world w = boot(9, 5);
    uint64_t before = core_inspect_complete(sim_core(w.sim, 0));

    put(&w, "g", API_KIND_GROW, 6, 8, 2, NULL);
    for (uint32_t v = 6; v <= 8; v++)
        sim_start(w.sim, v);
    await(&w, "g", API_PHASE_WIRING, 1000);
    sim_stop(w.sim, 7, true);
    sim_for(w.sim, 2100);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_ROLLING_BACK); /* it waits for the ADD's end */
    for (uint32_t v = 6; v <= 8; v++)
        sim_crash(w.sim, v);
    await(&w, "g", API_PHASE_FAILED, 30000);
    sim_for(w.sim, 2000);
    assert_int_equal(core_inspect_complete(sim_core(w.sim, 0)), before + 4); /* ADD, three losses */
    end(&w);
}

static void c1_c8_a_failed_grow_aborts_only_jobs_that_wait_for_it(void **arg)
{
    struct world w = boot(6, 2);
    size_t busy, needs, fits, never;

    grow(&w, "g", 3, 4);
    busy = sim_submit(w.sim, 0, 4, 9000, 0);
    sim_for(w.sim, 200);
    never = sim_submit(w.sim, 0, 9, 10, 0); /* there are 4 slots, with the grow 8 */
    needs = sim_submit(w.sim, 0, 7, 10, 0);
    fits = sim_submit(w.sim, 0, 3, 10, 0); /* waits for slots only */
    sim_for(w.sim, 500);
    assert_true(sim_job(w.sim, never)->done);
    assert_non_null(strstr(sim_job(w.sim, never)->text, "8 slots"));
    assert_false(sim_job(w.sim, needs)->done);
    sim_start(w.sim, 3);
    sim_for(w.sim, 500);
    sim_crash(w.sim, 3);
    sim_for(w.sim, 500);
    assert_failed(&w, "g", "vpid 3", 2);
    assert_true(sim_job(w.sim, needs)->done);
    assert_int_equal(sim_job(w.sim, needs)->exit_code, 125);
    assert_non_null(strstr(sim_job(w.sim, needs)->text, "it needs the grow g, which has failed"));
    assert_false(sim_job(w.sim, busy)->done || sim_job(w.sim, fits)->done);
    sim_for(w.sim, 10000);
    assert_int_equal(sim_job(w.sim, busy)->exit_code, 0);
    assert_true(sim_job(w.sim, fits)->done && sim_job(w.sim, fits)->exit_code == 0);
    end(&w);
}

static void a_job_whose_grow_is_complete_does_not_end_with_a_later_one(void **arg)
{
    struct world w = boot(6, 2);
    size_t needs;

    grow(&w, "g", 3, 4);
    (void)sim_submit(w.sim, 0, 4, 20000, 0);
    sim_for(w.sim, 200);
    needs = sim_submit(w.sim, 0, 7, 10, 0);
    sim_start(w.sim, 3);
    sim_start(w.sim, 4);
    await(&w, "g", API_PHASE_COMPLETE, 3000);
    put(&w, "s", API_KIND_SHRINK, 3, 4, -1, NULL);
    await(&w, "s", API_PHASE_COMPLETE, 3000);
    put(&w, "h", API_KIND_GROW, 3, 4, 0, NULL);
    sim_for(w.sim, 100);
    assert_int_equal(phase(&w, "h", NULL), API_PHASE_FAILED);
    assert_false(sim_job(w.sim, needs)->done);
    grow(&w, "k", 3, 4);
    sim_start(w.sim, 3);
    sim_start(w.sim, 4);
    sim_for(w.sim, 25000);
    assert_int_equal(sim_job(w.sim, needs)->exit_code, 0);
    end(&w);
}

/* At size 0, only a grow brings slots. */
static void c1_c8_a_job_that_waits_for_the_grow_of_an_empty_dvm_ends_with_it(void **arg)
{
    struct world w = boot(6, 2);
    size_t job;

    put(&w, "s", API_KIND_SHRINK, 1, 2, -1, NULL);
    sim_for(w.sim, 3000);
    assert_int_equal(dvm_bound(w.sim), 0);
    put(&w, "g", API_KIND_GROW, 3, 3, 5, NULL);
    sim_crash(w.sim, 1); /* it is parked */
    sim_start(w.sim, 1); /* below the target: wired by itself */
    sim_for(w.sim, 500);
    assert_int_equal(state(&w, 1), MEMBER_WIRED);
    job = sim_submit(w.sim, 0, 5, 10, 0);
    sim_for(w.sim, 1000);
    assert_false(sim_job(w.sim, job)->done);
    sim_for(w.sim, 6000);
    assert_failed(&w, "g", "deadline", 0);
    assert_true(sim_job(w.sim, job)->done);
    assert_int_equal(sim_job(w.sim, job)->exit_code, 125);
    end(&w);
}

static void c1_a_job_that_needs_a_grow_runs_when_it_is_complete(void **arg)
{
    struct world w = boot(6, 2);
    size_t needs;

    grow(&w, "g", 3, 4);
    needs = sim_submit(w.sim, 0, 7, 10, 0);
    sim_start(w.sim, 3);
    sim_for(w.sim, 500);
    assert_false(sim_job(w.sim, needs)->done);
    sim_start(w.sim, 4);
    sim_for(w.sim, 1000);
    assert_true(sim_job(w.sim, needs)->done);
    assert_int_equal(sim_job(w.sim, needs)->exit_code, 0);
    end(&w);
}

static void c11_the_loss_of_another_daemon_neither_fails_nor_completes_a_grow(void **arg)
{
    struct world w = boot(9, 5);

    grow(&w, "g", 6, 8);
    sim_start(w.sim, 6);
    sim_start(w.sim, 7);
    sim_for(w.sim, 1000);
    sim_crash(w.sim, 3);
    sim_for(w.sim, DVM_LOSS_MS);
    assert_int_equal(state(&w, 3), MEMBER_LOST);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_GATHERING);
    sim_start(w.sim, 8);
    await(&w, "g", API_PHASE_WIRING, 1000);
    sim_crash(w.sim, 2); /* the parent of 5: lost before the broadcast is complete */
    await(&w, "g", API_PHASE_COMPLETE, 30000);
    assert_int_equal(state(&w, 8), MEMBER_WIRED);
    end(&w);
}

static void c12_a_grow_that_overlaps_another_is_refused_and_changes_nothing(void **arg)
{
    struct world w = boot(9, 4);
    enum api_reason reason = API_REASON_NONE;
    uint64_t before;

    grow(&w, "g", 5, 6);
    before = core_event_next(sim_core(w.sim, 0));
    assert_int_equal(put(&w, "h", API_KIND_GROW, 6, 8, -1, &reason), -1);
    assert_int_equal(reason, API_REASON_GROW_RUNNING);
    assert_int_equal(dvm_bound(w.sim), 6);
    assert_int_equal(core_event_next(sim_core(w.sim, 0)), before);
    assert_int_equal(grow(&w, "i", 7, 8), API_PHASE_GATHERING); /* beside it: two at once */
    for (uint32_t v = 5; v <= 8; v++)
        sim_start(w.sim, v);
    await(&w, "g", API_PHASE_COMPLETE, 3000);
    await(&w, "i", API_PHASE_COMPLETE, 3000);
    end(&w);
}

static void a_grow_of_what_is_no_member_is_refused_and_changes_nothing(void **arg)
{
    struct world w = boot(9, 4);
    enum api_reason reason = API_REASON_NONE;
    uint64_t before = core_event_next(sim_core(w.sim, 0));

    assert_int_equal(put(&w, "h", API_KIND_GROW, 0, 6, -1, &reason), -1);
    assert_int_equal(reason, API_REASON_BAD_REQUEST);
    assert_int_equal(put(&w, "h", API_KIND_GROW, VPID_MAX, VPID_MAX + 1, -1, &reason), -1);
    assert_int_equal(reason, API_REASON_BAD_REQUEST);
    assert_int_equal(put(&w, "h", API_KIND_GROW, 1048575, 1048575, -1, &reason), -1);
    assert_int_equal(reason, API_REASON_BAD_REQUEST);
    assert_int_equal(put(&w, "h", API_KIND_SHRINK, VPID_MAX + 1, VPID_MAX + 1, -1, &reason), -1);
    assert_int_equal(reason, API_REASON_BAD_REQUEST);
    assert_int_equal(dvm_bound(w.sim), 4);
    assert_int_equal(core_event_next(sim_core(w.sim, 0)), before);
    end(&w);
}

/* By the control API; an application's request: test_resize_request.c. */
static void c12_a_grow_above_the_largest_size_is_refused_and_changes_nothing(void **arg)
{
    static const uint32_t targets[] = {5, 7};
    const struct api_campaign_request r = {.sequence = 1,
                                           .kind = API_KIND_GROW,
                                           .deadline_s = -1,
                                           .targets = (uint32_t *)targets,
                                           .ntargets = 2};
    struct world w = boot(9, 4);
    struct api_size in = {.sequence = 1, .members = 4, .limits = {true, 2, 6}}, size;
    enum api_reason reason = API_REASON_NONE;
    struct api_campaign out;
    struct err err = {0};
    uint64_t before;

    assert_int_equal(core_size_put(sim_core(w.sim, 0), &in, &size, &reason, NULL), 0);
    before = core_event_next(sim_core(w.sim, 0));
    assert_int_equal(core_campaign_put(sim_core(w.sim, 0), "g", &r, &out, &reason, &err), -1);
    assert_int_equal(reason, API_REASON_BAD_REQUEST);
    assert_int_equal(err.code, 400);
    assert_string_equal(err.msg, "targets: 7 is above the largest size, 6");
    assert_int_equal(dvm_bound(w.sim), 4);
    assert_int_equal(core_event_next(sim_core(w.sim, 0)), before);
    assert_int_equal(grow(&w, "h", 5, 6), API_PHASE_GATHERING);
    end(&w);
}

static void a_campaign_beyond_the_limit_is_refused_until_another_has_ended(void **arg)
{
    struct world w = boot(9, 4);
    enum api_reason reason = API_REASON_NONE;
    char id[32];

    for (uint32_t i = 0; i < RESIZE_CAMPAIGNS_MAX; i++) {
        snprintf(id, sizeof(id), "g%u", i);
        assert_int_equal(grow(&w, id, 5 + i, 5 + i), API_PHASE_GATHERING);
    }
    assert_int_equal(put(&w, "more", API_KIND_GROW, 5 + RESIZE_CAMPAIGNS_MAX,
                         5 + RESIZE_CAMPAIGNS_MAX, -1, &reason),
                     -1);
    assert_int_equal(reason, API_REASON_TOO_MANY_CAMPAIGNS);
    assert_int_equal(dvm_bound(w.sim), 4 + RESIZE_CAMPAIGNS_MAX);
    for (uint32_t i = RESIZE_CAMPAIGNS_MAX; i-- > 0;) {
        snprintf(id, sizeof(id), "g%u", i);
        assert_int_equal(cancel(&w, id, &reason), 0);
    }
    assert_int_equal(grow(&w, "more", 5, 5), API_PHASE_GATHERING);
    end(&w);
}

/* A shrink that keeps the size removes a daemon that the grow has added, so the grow is rolled
 * back. At any moment of this the daemon and the head end, so nobody learns that it has left. A
 * grow without an end would hold all jobs for good. */
static void a_rollback_does_not_wait_for_a_daemon_that_another_campaign_removes(void **arg)
{
    uint32_t target = 2;
    struct api_campaign_request shrink = {.keeps_size = true,
                                          .kind = API_KIND_SHRINK,
                                          .drain_mode = API_DRAIN_KILL,
                                          .deadline_s = -1,
                                          .ntargets = 1,
                                          .targets = &target};

    for (uint64_t at_ms = 0; at_ms < 20; at_ms++) {
        struct world w = boot_with(4, 1, true);

        sim_stop(w.sim, 1, true); /* it does not acknowledge the ADD */
        grow(&w, "g", 2, 2);
        sim_start(w.sim, 2);
        sim_for(w.sim, 500);
        assert_int_equal(phase(&w, "g", NULL), API_PHASE_WIRING);
        shrink.sequence = ++w.sequence;
        dvm_put_campaign(w.sim, "s", &shrink);
        sim_for(w.sim, 100);
        sim_stop(w.sim, 1, false);
        sim_for(w.sim, at_ms);
        sim_crash(w.sim, 2);
        dvm_replace_head(w.sim);
        await(&w, "s", API_PHASE_COMPLETE, 60000);
        await(&w, "g", API_PHASE_FAILED, 60000);
        end(&w);
    }
}

/* The DVM ends when the job has. */
static void a_grow_that_gathers_fails_when_the_dvm_shuts_down(void **arg)
{
    const struct api_shutdown down = {.deadline_s = 60};
    struct world w = boot(9, 5);
    enum api_reason reason;

    (void)sim_submit(w.sim, 0, 1, 20000, 0);
    grow(&w, "g", 6, 8);
    sim_for(w.sim, 100);
    assert_int_equal(core_shutdown(sim_core(w.sim, 0), &down, &reason, NULL), 0);
    sim_drain(w.sim, 0);
    sim_for(w.sim, 100);
    assert_int_equal(phase(&w, "g", "the DVM shuts down"), API_PHASE_FAILED);
    assert_string_equal(check_failed(w.check), "");
    sim_destroy(w.sim);
    check_destroy(w.check);
}

static void c12_a_grow_can_be_cancelled_until_it_is_wired(void **arg)
{
    struct world w = boot(9, 5);
    enum api_reason reason = API_REASON_NONE;
    size_t needs;

    grow(&w, "g", 6, 8);
    needs = sim_submit(w.sim, 0, 16, 10, 0);
    sim_start(w.sim, 6);
    sim_for(w.sim, 1000);
    assert_int_equal(cancel(&w, "g", &reason), 0);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_CANCELLED);
    assert_int_equal(dvm_bound(w.sim), 5);
    assert_int_equal(events(&w, "g", API_EVENT_CAMPAIGN_CANCELLED, NULL), 1);
    sim_for(w.sim, 100);
    assert_true(sim_parked(w.sim, 6));
    assert_int_equal(sim_job(w.sim, needs)->exit_code, 125);
    sim_crash(w.sim, 6);
    grow(&w, "h", 6, 8);
    for (uint32_t v = 6; v <= 8; v++)
        sim_start(w.sim, v);
    await(&w, "h", API_PHASE_WIRING, 3000);
    assert_int_equal(cancel(&w, "h", &reason), -1);
    assert_int_equal(reason, API_REASON_TOO_LATE);
    await(&w, "h", API_PHASE_COMPLETE, 3000);
    end(&w);
}

static void c9_a_shrink_cancels_a_grow_that_it_leaves_no_room_for(void **arg)
{
    static const enum api_phase when[] = {API_PHASE_GATHERING, API_PHASE_WIRING};

    for (size_t i = 0; i < 2; i++) {
        struct world w = boot(9, 5);

        grow(&w, "g", 6, 8);
        for (uint32_t v = 6; v <= (when[i] == API_PHASE_WIRING ? 8 : 7); v++)
            sim_start(w.sim, v);
        if (when[i] == API_PHASE_WIRING)
            await(&w, "g", API_PHASE_WIRING, 2000);
        else
            sim_for(w.sim, 1000);
        assert_int_equal(phase(&w, "g", NULL), when[i]);
        assert_true(put(&w, "s", API_KIND_SHRINK, 5, 8, -1, NULL) >= 0);
        await(&w, "g", API_PHASE_FAILED, 3000);
        await(&w, "s", API_PHASE_COMPLETE, 3000);
        assert_failed(&w, "g", "the shrink s leaves no room", 4);
        for (uint32_t v = 5; v <= 8; v++)
            assert_false(live(&w, v));
        end(&w);
    }
}

static void c9_a_shrink_cancelled_while_a_grow_rolls_back_leaves_no_daemon_draining(void **arg)
{
    struct world w = boot(9, 5);
    enum api_reason reason = API_REASON_NONE;

    (void)sim_submit(w.sim, 0, 10, 8000, 0);
    sim_for(w.sim, 500);
    grow(&w, "g", 5, 8); /* 5 has joined */
    for (uint32_t v = 6; v <= 8; v++)
        sim_start(w.sim, v);
    await(&w, "g", API_PHASE_WIRING, 2000);
    assert_int_equal(put(&w, "s", API_KIND_SHRINK, 5, 8, -1, NULL), API_PHASE_DRAINING);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_ROLLING_BACK);
    assert_int_equal(cancel(&w, "s", &reason), 0);
    assert_int_equal(state(&w, 5), MEMBER_WIRED);
    await(&w, "g", API_PHASE_FAILED, 3000);
    assert_int_equal(state(&w, 5), MEMBER_WIRED);
    assert_int_equal(dvm_bound(w.sim), 5);
    end(&w);
}

static void c9_a_size_cancels_a_grow_that_it_leaves_no_room_for(void **arg)
{
    struct world w = boot(9, 5);
    struct api_size in = {.sequence = 1, .members = 6}, out;
    enum api_reason reason;

    grow(&w, "g", 6, 8);
    assert_int_equal(core_size_put(sim_core(w.sim, 0), &in, &out, &reason, NULL), 0);
    sim_drain(w.sim, 0);
    assert_failed(&w, "g", "the size in force leaves no room", 6);
    end(&w);
}

static void c9_a_grow_waits_for_a_shrink_of_the_same_daemons(void **arg)
{
    struct world w = boot(6, 5);
    size_t job = sim_submit(w.sim, 0, 10, 3000, 0);

    sim_for(w.sim, 500);
    assert_int_equal(put(&w, "s", API_KIND_SHRINK, 4, 5, -1, NULL), API_PHASE_DRAINING);
    assert_int_equal(grow(&w, "g", 4, 5), API_PHASE_GATHERING);
    await(&w, "s", API_PHASE_COMPLETE, 5000);
    assert_int_equal(sim_job(w.sim, job)->exit_code, 0);
    sim_for(w.sim, 200);
    for (uint32_t v = 4; v <= 5; v++) {
        assert_true(sim_parked(w.sim, v));
        sim_crash(w.sim, v);
        sim_start(w.sim, v);
    }
    await(&w, "g", API_PHASE_COMPLETE, 3000);
    assert_int_equal(dvm_bound(w.sim), 5);
    end(&w);
}

static void c9_a_grow_of_daemons_whose_shrink_is_cancelled_is_complete(void **arg)
{
    struct world w = boot(6, 5);
    enum api_reason reason = API_REASON_NONE;

    (void)sim_submit(w.sim, 0, 10, 3000, 0);
    sim_for(w.sim, 500);
    assert_int_equal(put(&w, "s", API_KIND_SHRINK, 4, 5, -1, NULL), API_PHASE_DRAINING);
    assert_int_equal(grow(&w, "g", 4, 5), API_PHASE_GATHERING);
    assert_int_equal(cancel(&w, "s", &reason), 0);
    assert_int_equal(phase(&w, "g", NULL), API_PHASE_COMPLETE);
    assert_int_equal(dvm_bound(w.sim), 5);
    end(&w);
}

static void c10_the_same_vpids_grow_and_fail_and_grow_again_and_again(void **arg)
{
    struct world w = boot(9, 5);

    for (unsigned i = 0; i < 6; i++) {
        char id[2] = {(char)('a' + i), 0};

        grow(&w, id, 6, 8);
        sim_start(w.sim, 6);
        sim_start(w.sim, 7);
        sim_for(w.sim, 200);
        if (i % 2) {
            sim_start(w.sim, 8);
            await(&w, id, API_PHASE_COMPLETE, 3000);
            put(&w, &"shrink"[i], API_KIND_SHRINK, 6, 8, -1, NULL);
        } else {
            sim_crash(w.sim, 6);
        }
        sim_for(w.sim, 1000);
        for (uint32_t v = 6; v <= 8; v++) {
            assert_false(live(&w, v));
            sim_crash(w.sim, v);
        }
        assert_int_equal(dvm_bound(w.sim), 5);
    }
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c7_a_grow_of_present_members_is_complete_with_its_answer),
        cmocka_unit_test(c13_a_grow_wires_all_its_daemons_at_once_and_reports_it_once),
        cmocka_unit_test(c8_a_grow_whose_daemon_fails_before_all_have_come_is_rolled_back_whole),
        cmocka_unit_test(c8_a_grow_whose_daemon_fails_while_all_are_wired_is_rolled_back_whole),
        cmocka_unit_test(c8_a_grow_that_is_not_complete_at_its_deadline_is_rolled_back),
        cmocka_unit_test(c8_a_grow_with_no_time_is_rolled_back_at_once),
        cmocka_unit_test(
            c8_a_daemon_that_is_silent_while_it_is_wired_does_not_outlast_the_deadline),
        cmocka_unit_test(the_removal_of_targets_that_are_lost_while_it_waits_is_not_broadcast),
        cmocka_unit_test(c1_c8_a_failed_grow_aborts_only_jobs_that_wait_for_it),
        cmocka_unit_test(a_job_whose_grow_is_complete_does_not_end_with_a_later_one),
        cmocka_unit_test(c1_c8_a_job_that_waits_for_the_grow_of_an_empty_dvm_ends_with_it),
        cmocka_unit_test(c1_a_job_that_needs_a_grow_runs_when_it_is_complete),
        cmocka_unit_test(c11_the_loss_of_another_daemon_neither_fails_nor_completes_a_grow),
        cmocka_unit_test(c12_a_grow_that_overlaps_another_is_refused_and_changes_nothing),
        cmocka_unit_test(a_grow_of_what_is_no_member_is_refused_and_changes_nothing),
        cmocka_unit_test(c12_a_grow_above_the_largest_size_is_refused_and_changes_nothing),
        cmocka_unit_test(a_campaign_beyond_the_limit_is_refused_until_another_has_ended),
        cmocka_unit_test(a_rollback_does_not_wait_for_a_daemon_that_another_campaign_removes),
        cmocka_unit_test(a_grow_that_gathers_fails_when_the_dvm_shuts_down),
        cmocka_unit_test(c12_a_grow_can_be_cancelled_until_it_is_wired),
        cmocka_unit_test(c9_a_shrink_cancels_a_grow_that_it_leaves_no_room_for),
        cmocka_unit_test(c9_a_shrink_cancelled_while_a_grow_rolls_back_leaves_no_daemon_draining),
        cmocka_unit_test(c9_a_size_cancels_a_grow_that_it_leaves_no_room_for),
        cmocka_unit_test(c9_a_grow_waits_for_a_shrink_of_the_same_daemons),
        cmocka_unit_test(c9_a_grow_of_daemons_whose_shrink_is_cancelled_is_complete),
        cmocka_unit_test(c10_the_same_vpids_grow_and_fail_and_grow_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
