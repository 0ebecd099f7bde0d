/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of the elastic contract that the core can show, each under its number. Each test fails
 * under a deliberate mistake (ci/contract.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/msg/msg.h"
#include "dvm/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MS 1000000

static struct sim *boot(uint32_t members, uint32_t started, uint32_t slots)
{
    return dvm_boot(&(struct dvm_shape){.members = members, .started = started, .slots = slots});
}

/* --- records of the head */

static struct head *head(struct sim *s)
{
    return (struct head *)core_inspect_head(sim_core(s, 0));
}

static void wait_wired(struct sim *s, uint32_t n)
{
    dvm_wait_wired(s, n, 15000);
    sim_for(s, 100);
    assert_int_equal(resize_fence_sum(head_resize(head(s))), 0);
}

static uint32_t slots_used(struct sim *s)
{
    const struct members *m = core_inspect_members(sim_core(s, 0));
    uint32_t n = 0;

    for (uint32_t v = 0; v < m->n; v++)
        n += members_get(m, v) ? members_get(m, v)->slots_used : 0;
    return n;
}

struct wanted {
    const char *nspace;
    struct job_look found;
};

static void on_job(void *arg, const struct job_look *j)
{
    struct wanted *w = arg;

    if (strcmp(j->nspace, w->nspace) == 0)
        w->found = *j;
}

static struct job_look job_of(struct sim *s, size_t index)
{
    struct wanted w = {.nspace = sim_job(s, index)->nspace};

    jobs_each(head_jobs(head(s)), on_job, &w);
    return w.found;
}

static bool job_maps_to(struct sim *s, size_t index, uint32_t vpid)
{
    struct job_look j = job_of(s, index);

    for (size_t i = 0; i < j.nnodes; i++) {
        if (j.nodes[i].vpid == vpid)
            return true;
    }
    return false;
}

static uint64_t event_number(struct sim *s, enum api_event_type type)
{
    for (uint64_t i = 1; i < core_event_next(sim_core(s, 0)); i++) {
        if (core_event(sim_core(s, 0), i)->type == type)
            return i;
    }
    return 0;
}

/* --- requests to the head */

static int put(struct sim *s, const char *id, uint64_t sequence, uint32_t from, uint32_t to,
               enum api_phase *phase)
{
    uint32_t targets[16];
    struct api_campaign_request r = {
        .sequence = sequence, .drain_mode = API_DRAIN_WAIT, .deadline_s = -1, .targets = targets};
    struct api_campaign c;
    enum api_reason reason = API_REASON_NONE;
    int rc;

    for (uint32_t v = from; v <= to; v++)
        targets[r.ntargets++] = v;
    rc = core_campaign_put(sim_core(s, 0), id, &r, &c, &reason, NULL);
    if (rc < 0)
        return rc;
    if (phase)
        *phase = c.phase;
    api_campaign_free(&c);
    sim_drain(s, 0);
    return 0;
}

static bool fence_up(struct sim *s, void *arg)
{
    return resize_fence_sum(head_resize(head(s))) > 0;
}

static bool goes_on(struct sim *s, void *job)
{
    return job_of(s, *(size_t *)job).state != JOB_WAITING_FOR_DAEMONS;
}

/* --- C1..C5: admission */

/* A slot of daemon 1 is taken, so a job of three maps to 2, 3 and 4. Then 4 is named by a shrink
 * before the job is sent. */
static size_t mapped_to_a_leaving_one(struct sim *s)
{
    size_t job;

    wait_wired(s, 4);
    sim_submit(s, 0, 1, 300, 0);
    sim_for(s, 50);
    job = sim_submit(s, 0, 3, 10, 0);
    assert_true(job_maps_to(s, job, 4));
    assert_false(job_of(s, job).sent);
    assert_int_equal(put(s, "c", 1, 4, 4, NULL), 0);
    return job;
}

static void c1_a_job_that_a_resize_catches_is_held_and_launched_on_the_new_membership(void **state)
{
    struct sim *s = boot(4, 4, 1);
    size_t job = mapped_to_a_leaving_one(s);

    assert_int_equal(sim_job(s, job)->state, JOB_WAITING_FOR_DAEMONS);
    dvm_wait_complete(s, "c", 30000);
    dvm_wait_job(s, job, 0);
    assert_true(core_stats(sim_core(s, 0)).remapped >= 1);
    sim_destroy(s);
}

/* The job fits when it comes, and the second shrink leaves no room for it before its map. */
static void c1_a_job_that_is_held_before_its_map_waits_when_a_shrink_leaves_no_room(void **state)
{
    struct sim *s = boot(4, 4, 2);
    size_t job;

    wait_wired(s, 4);
    put(s, "first", 1, 4, 4, NULL);
    job = sim_submit(s, 0, 6, 10, 0);
    assert_int_equal(sim_job(s, job)->state, JOB_WAITING_FOR_DAEMONS);
    put(s, "second", 2, 2, 3, NULL);
    dvm_wait_complete(s, "second", 30000);
    sim_for(s, 1000);
    assert_false(sim_job(s, job)->done);
    dvm_put_size(s, 3, 4);
    for (uint32_t v = 2; v <= 4; v++) {
        sim_crash(s, v); /* its pod is removed, and made again */
        sim_start(s, v);
    }
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

static void c2_nothing_maps_to_a_daemon_that_a_shrink_names(void **state)
{
    struct sim *s = boot(3, 3, 2);
    size_t a, b;

    wait_wired(s, 3);
    a = sim_submit(s, 0, 5, 1000, 0);
    sim_for(s, 50);
    assert_int_equal(sim_ranks(s, 3), 1);
    put(s, "c", 1, 3, 3, NULL);
    b = sim_submit(s, 0, 1, 10, 0);
    sim_for(s, 200);
    assert_int_equal(sim_ranks(s, 3), 1);
    assert_false(sim_job(s, b)->done);
    dvm_wait_job(s, a, 0);
    dvm_wait_job(s, b, 0);
    sim_destroy(s);
}

static void c2_nothing_maps_to_a_daemon_that_is_not_wired_yet(void **state)
{
    struct sim *s = boot(2, 1, 1);
    size_t job;

    wait_wired(s, 1);
    sim_start(s, 2);
    assert_true(sim_until(s, fence_up, NULL, 1000));
    assert_int_equal(dvm_in_state(s, MEMBER_REPORTED), 1);
    job = sim_submit(s, 0, 2, 10, 0);
    assert_false(job_of(s, job).mapped);
    dvm_wait_job(s, job, 0);
    assert_int_equal(core_stats(sim_core(s, 0)).held_map, 1);
    sim_destroy(s);
}

struct sent { /* launch data that the head gave to the wire */
    uint32_t to;
    size_t n;
};

static void count_launch(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct sent *x = arg;
    struct frame f;
    struct cur c;

    if (vpid != 0 || act->kind != OUT_SEND)
        return;
    c = cur_of(act->send.frame.data, act->send.frame.len);
    if (frame_decode(&c, &f, NULL) == 0)
        x->n += f.type == MSG_LAUNCH && f.dst == x->to;
}

static void c3_no_launch_data_goes_to_a_leaving_daemon_and_its_job_is_mapped_again(void **state)
{
    struct sim *s = boot(4, 4, 1);
    struct sent sent = {.to = 4};
    struct sim_hooks h = {.arg = &sent, .action = count_launch};
    size_t job;

    sim_watch(s, &h);
    job = mapped_to_a_leaving_one(s);
    dvm_wait_complete(s, "c", 30000);
    dvm_wait_job(s, job, 0);
    assert_int_equal(sent.n, 0);
    sim_destroy(s);
}

static void c3_a_job_that_is_mapped_on_survivors_only_launches_as_it_was_mapped(void **state)
{
    struct sim *s = boot(4, 4, 1);
    size_t job;

    wait_wired(s, 4);
    job = sim_submit(s, 0, 2, 10, 0);
    assert_true(job_maps_to(s, job, 1));
    put(s, "c", 1, 4, 4, NULL);
    assert_int_equal(job_of(s, job).state, JOB_WAITING_FOR_DAEMONS);
    assert_true(job_of(s, job).mapped);
    dvm_wait_job(s, job, 0);
    assert_int_equal(core_stats(sim_core(s, 0)).remapped, 0);
    sim_destroy(s);
}

/* One slot is free, on daemon 4. The shrink of 4 drains when the job is to be sent there. */
static void c3_a_job_that_is_mapped_to_a_draining_daemon_is_mapped_again(void **state)
{
    struct sim *s = boot(4, 4, 2);
    size_t first, job;

    wait_wired(s, 4);
    first = sim_submit(s, 0, 7, 2000, 0);
    sim_for(s, 500);
    job = sim_submit(s, 0, 1, 3000, 0);
    assert_true(job_maps_to(s, job, 4));
    put(s, "c", 1, 4, 4, NULL);
    sim_for(s, 500);
    assert_int_equal(sim_ranks(s, 4), 1);
    assert_false(job_maps_to(s, job, 4));
    dvm_wait_job(s, first, 0);
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

static void c4_a_grow_and_a_shrink_hold_at_the_map_boundary(void **state)
{
    struct sim *s = boot(3, 2, 1);
    size_t a, b;

    wait_wired(s, 2);
    sim_start(s, 3);
    assert_true(sim_until(s, fence_up, NULL, 1000));
    a = sim_submit(s, 0, 1, 10, 0);
    assert_int_equal(job_of(s, a).state, JOB_WAITING_FOR_DAEMONS);
    dvm_wait_job(s, a, 0);
    wait_wired(s, 3);
    put(s, "c", 1, 3, 3, NULL);
    b = sim_submit(s, 0, 1, 10, 0);
    assert_int_equal(job_of(s, b).state, JOB_WAITING_FOR_DAEMONS);
    dvm_wait_job(s, b, 0);
    assert_int_equal(core_stats(sim_core(s, 0)).held_map, 2);
    sim_destroy(s);
}

static void c4_a_shrink_holds_at_the_launch_boundary(void **state)
{
    struct sim *s = boot(4, 4, 1);
    size_t job;

    wait_wired(s, 4);
    job = sim_submit(s, 0, 2, 10, 0);
    put(s, "c", 1, 4, 4, NULL);
    assert_int_equal(core_stats(sim_core(s, 0)).held_launch, 1);
    assert_false(job_of(s, job).sent);
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

static void a_job_that_is_held_at_the_launch_boundary_has_no_daemons(void **state)
{
    struct sim *s = boot(4, 4, 1);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    size_t job;

    wait_wired(s, 4);
    job = sim_submit(s, 0, 2, 10, 0);
    put(s, "c", 1, 4, 4, NULL);
    assert_true(job_of(s, job).mapped && !job_of(s, job).sent);
    core_daemons_of(sim_core(s, 0), sim_job(s, job)->nspace, JOB_RANK_ALL, set);
    core_daemons_of(sim_core(s, 0), NULL, JOB_RANK_ALL, set);
    assert_true(hwloc_bitmap_iszero(set));
    dvm_wait_job(s, job, 0);
    hwloc_bitmap_free(set);
    sim_destroy(s);
}

static bool is_sent(struct sim *s, void *job)
{
    return job_of(s, *(size_t *)job).sent;
}

/* A joiner has called during a shrink. When the shrink ends, a held job is mapped, and the joiner's
 * batch begins in the same turn. */
static void c4_a_grow_does_not_hold_at_the_launch_boundary(void **state)
{
    struct sim *s = boot(4, 3, 1);
    size_t job;

    wait_wired(s, 3);
    core_sigterm(sim_core(s, 3));
    sim_drain(s, 3);
    assert_true(sim_until(s, fence_up, NULL, 1000));
    sim_stop(s, 2, true);
    sim_start(s, 4);
    sim_for(s, 100);
    assert_int_equal(dvm_in_state(s, MEMBER_REPORTED), 1);
    job = sim_submit(s, 0, 1, 10, 0);
    assert_int_equal(job_of(s, job).state, JOB_WAITING_FOR_DAEMONS);
    sim_stop(s, 2, false);
    assert_true(sim_until(s, is_sent, &job, 5000));
    assert_true(resize_growing(head_resize(head(s))));
    assert_true(resize_fence_sum(head_resize(head(s))) > 0);
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

static void c5_a_held_job_goes_on_when_the_last_campaign_has_ended_and_not_before(void **state)
{
    struct sim *s = boot(4, 4, 1);
    enum api_phase a = API_PHASE_DRAINING;
    enum api_phase b = API_PHASE_DRAINING;
    size_t job;

    wait_wired(s, 4);
    sim_stop(s, 1, true); /* withholds its acknowledgement */
    put(s, "a", 1, 4, 4, NULL);
    put(s, "b", 2, 3, 3, NULL);
    job = sim_submit(s, 0, 1, 10, 0);
    sim_for(s, 100);
    assert_int_equal(resize_fence_sum(head_resize(head(s))), 2);
    assert_int_equal(job_of(s, job).state, JOB_WAITING_FOR_DAEMONS);
    sim_stop(s, 1, false);
    assert_true(sim_until(s, goes_on, &job, 5000));
    a = dvm_phase(s, "a");
    b = dvm_phase(s, "b");
    assert_int_equal(a, API_PHASE_COMPLETE);
    assert_int_equal(b, API_PHASE_COMPLETE);
    assert_int_equal(resize_fence_sum(head_resize(head(s))), 0);
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

/* --- C6..C11: campaigns */

static void c6_a_shrink_takes_all_its_targets_out_once_and_in_one_batch(void **state)
{
    struct sim *s = boot(8, 8, 1);
    uint64_t version;

    wait_wired(s, 8);
    version = core_stats(sim_core(s, 0)).version;
    put(s, "c", 1, 4, 8, NULL);
    dvm_wait_complete(s, "c", 30000);
    sim_for(s, 3000);
    assert_int_equal(core_stats(sim_core(s, 0)).version, version + 1);
    for (uint32_t v = 0; v <= 3; v++)
        assert_int_equal(core_stats(sim_core(s, v)).repairs, 1);
    assert_int_equal(core_stats(sim_core(s, 0)).live, 4);
    assert_int_equal(dvm_in_state(s, MEMBER_PARKED), 5);
    for (uint32_t v = 4; v <= 8; v++)
        assert_true(sim_parked(s, v));
    sim_destroy(s);
}

/* No timer takes part: each target has the command and its own BYE within a few round trips. */
static void c6_the_targets_of_a_shrink_have_left_soon(void **state)
{
    struct sim *s = boot(8, 8, 1);

    wait_wired(s, 8);
    put(s, "c", 1, 4, 8, NULL);
    dvm_wait_complete(s, "c", 30000);
    sim_for(s, 200);
    for (uint32_t v = 4; v <= 8; v++)
        assert_true(sim_parked(s, v));
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 5);
    sim_destroy(s);
}

static void c6_a_target_that_crashes_is_out_like_one_that_leaves(void **state)
{
    struct sim *s = boot(4, 4, 1);

    wait_wired(s, 4);
    put(s, "c", 1, 3, 4, NULL);
    sim_crash(s, 4);
    dvm_wait_complete(s, "c", 30000);
    sim_for(s, 3000);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 1);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 2);
    assert_int_equal(resize_fence_sum(head_resize(head(s))), 0);
    sim_destroy(s);
}

static void c6_a_second_report_of_a_loss_changes_nothing(void **state)
{
    struct sim *s = boot(3, 3, 1);
    struct epoch life;
    uint64_t version;

    wait_wired(s, 3);
    life = core_inspect_epoch(sim_core(s, 3));
    sim_crash(s, 3);
    sim_for(s, DVM_LOSS_MS);
    version = core_stats(sim_core(s, 0)).version;
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    head_lost(head(s), 3, life, "told again");
    core_tick(sim_core(s, 0));
    sim_drain(s, 0);
    sim_for(s, 1000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    assert_int_equal(core_stats(sim_core(s, 0)).version, version);
    sim_destroy(s);
}

static void c7_a_shrink_that_removes_no_daemon_is_complete_at_once_without_an_event(void **state)
{
    struct sim *s = boot(4, 2, 1);
    enum api_phase phase = API_PHASE_DRAINING;
    uint64_t before;

    wait_wired(s, 2);
    before = core_event_next(sim_core(s, 0));
    assert_int_equal(put(s, "c", 1, 3, 4, &phase), 0);
    assert_int_equal(phase, API_PHASE_COMPLETE);
    assert_int_equal(resize_fence_sum(head_resize(head(s))), 0);
    sim_for(s, 1000);
    assert_int_equal(core_event_next(sim_core(s, 0)), before);
    sim_destroy(s);
}

static void c9_shrinks_that_share_a_target_both_end(void **state)
{
    struct sim *s = boot(4, 4, 1);
    size_t job;

    wait_wired(s, 4);
    job = sim_submit(s, 0, 4, 500, 0);
    sim_for(s, 50);
    put(s, "a", 1, 4, 4, NULL);
    put(s, "b", 2, 3, 4, NULL);
    dvm_wait_job(s, job, 0);
    dvm_wait_complete(s, "a", 30000);
    dvm_wait_complete(s, "b", 30000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 2);
    sim_destroy(s);
}

static void c9_a_shrink_cancelled_midway_and_a_grow_meanwhile_leave_no_trace(void **state)
{
    struct sim *s = boot(5, 4, 1);
    struct api_campaign c;
    enum api_reason reason;
    size_t job;

    wait_wired(s, 4);
    job = sim_submit(s, 0, 4, 500, 0);
    sim_for(s, 50);
    put(s, "a", 1, 3, 4, NULL);
    sim_start(s, 5);
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "a", &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    wait_wired(s, 5);
    dvm_wait_job(s, job, 0);
    dvm_wait_job(s, sim_submit(s, 0, 5, 10, 0), 0);
    sim_for(s, 1000);
    assert_int_equal(slots_used(s), 0);
    assert_int_equal(resize_fence_sum(head_resize(head(s))), 0);
    sim_destroy(s);
}

static void c9_jobs_that_resizes_catch_leave_no_slot_behind(void **state)
{
    struct sim *s = boot(4, 4, 1);
    size_t job = mapped_to_a_leaving_one(s);

    dvm_wait_job(s, job, 0);
    sim_for(s, 1000);
    assert_int_equal(slots_used(s), 0);
    dvm_wait_job(s, sim_submit(s, 0, 3, 10, 0), 0);
    sim_destroy(s);
}

static void c10_the_vpids_of_a_shrink_can_be_grown_again_at_once_at_any_depth(void **state)
{
    struct sim *s = boot(7, 7, 1);
    char id[16];

    wait_wired(s, 7);
    for (uint32_t i = 1; i <= 4; i++) {
        uint32_t first = 2 * i - 1; /* from the top of the tree down to a leaf */

        snprintf(id, sizeof(id), "c%u", i);
        assert_int_equal(put(s, id, i, first, 7, NULL), 0);
        dvm_wait_complete(s, id, 30000);
        dvm_put_size(s, i, 7);
        for (uint32_t v = first; v <= 7; v++) {
            sim_crash(s, v);
            sim_start(s, v);
        }
        wait_wired(s, 7);
        dvm_wait_job(s, sim_submit(s, 0, 7, 5, 0), 0);
    }
    sim_destroy(s);
}

static void c11_the_loss_of_a_bystander_neither_ends_nor_releases_a_held_job(void **state)
{
    struct sim *s = boot(4, 4, 1);
    enum api_phase phase = API_PHASE_DRAINING;
    size_t job;

    wait_wired(s, 4);
    job = sim_submit(s, 0, 2, 10, 0);
    assert_true(job_maps_to(s, job, 2));
    sim_stop(s, 1, true); /* keeps the campaign from completing */
    put(s, "c", 1, 4, 4, NULL);
    assert_int_equal(job_of(s, job).state, JOB_WAITING_FOR_DAEMONS);
    sim_crash(s, 2);
    while (dvm_events(s, API_EVENT_DAEMON_LOST) == 0)
        sim_for(s, 1);
    phase = dvm_phase(s, "c");
    assert_int_equal(phase, API_PHASE_REMOVING);
    assert_int_equal(job_of(s, job).state, JOB_WAITING_FOR_DAEMONS);
    assert_int_equal(resize_fence_sum(head_resize(head(s))), 1);
    sim_stop(s, 1, false);
    dvm_wait_job(s, job, 0);
    assert_int_equal(core_stats(sim_core(s, 0)).remapped, 1);
    sim_destroy(s);
}

/* --- C12..C14, C18: the answer */

static void c12_a_rejected_request_changes_nothing_and_yields_no_event(void **state)
{
    struct sim *s = boot(4, 4, 1);
    uint64_t before;

    wait_wired(s, 4);
    before = core_event_next(sim_core(s, 0));
    assert_int_equal(put(s, "head", 5, 0, 1, NULL), -1);
    assert_int_equal(put(s, "middle", 5, 2, 2, NULL), -1);
    sim_for(s, 100);
    assert_int_equal(core_event_next(sim_core(s, 0)), before);
    assert_int_equal(dvm_bound(s), 4);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    assert_int_equal(put(s, "c", 1, 4, 4, NULL), 0); /* nor the sequence */
    sim_destroy(s);
}

static void c12_an_accepted_campaign_can_be_queried_after_its_end(void **state)
{
    struct sim *s = boot(3, 3, 1);
    enum api_phase phase = API_PHASE_DRAINING;

    wait_wired(s, 3);
    put(s, "c", 1, 3, 3, NULL);
    sim_for(s, 5000);
    phase = dvm_phase(s, "c");
    assert_int_equal(phase, API_PHASE_COMPLETE);
    sim_destroy(s);
}

static void c13_a_campaign_with_a_requester_ends_with_exactly_one_event(void **state)
{
    struct sim *s = boot(4, 4, 1);

    wait_wired(s, 4);
    put(s, "c", 1, 3, 4, NULL);
    dvm_wait_complete(s, "c", 30000);
    sim_for(s, 3000);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 1);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_CANCELLED), 0);
    sim_destroy(s);
}

static void c13_a_release_without_a_requester_ends_without_an_event(void **state)
{
    struct sim *s = boot(3, 3, 1);

    wait_wired(s, 3);
    core_sigterm(sim_core(s, 3));
    sim_drain(s, 3);
    sim_for(s, 3000);
    assert_true(sim_exited(s, 3));
    assert_int_equal(dvm_events(s, API_EVENT_NODES_OFFERED), 1);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 0);
    sim_destroy(s);
}

static void c14_the_nodes_are_offered_before_the_end_is_reported(void **state)
{
    struct sim *s = boot(3, 3, 1);

    wait_wired(s, 3);
    put(s, "c", 1, 3, 3, NULL);
    dvm_wait_complete(s, "c", 30000);
    assert_true(event_number(s, API_EVENT_NODES_OFFERED) > 0);
    assert_true(event_number(s, API_EVENT_NODES_OFFERED) <
                event_number(s, API_EVENT_CAMPAIGN_COMPLETE));
    sim_destroy(s);
}

/* Ranks 0, 1 are on vpid 1; 2, 3 on vpid 2; 4, 5 on vpid 3, which is removed at once. */
/* The second shrink is accepted while the first one removes. A target of both is offered by the
 * first alone. */
static void c14_a_node_is_offered_once_however_many_shrinks_name_it(void **state)
{
    struct sim *s = boot(4, 4, 1);
    const struct api_event *e;
    uint64_t last;

    wait_wired(s, 4);
    put(s, "a", 1, 4, 4, NULL);
    put(s, "b", 2, 3, 4, NULL);
    put(s, "c", 3, 3, 4, NULL);
    dvm_wait_complete(s, "a", 30000);
    dvm_wait_complete(s, "b", 30000);
    dvm_wait_complete(s, "c", 30000);
    assert_int_equal(dvm_events(s, API_EVENT_NODES_OFFERED), 2);
    for (last = core_event_next(sim_core(s, 0)) - 1;; last--) {
        e = core_event(sim_core(s, 0), last);
        if (e->type == API_EVENT_NODES_OFFERED)
            break;
    }
    assert_string_equal(e->campaign.id, "b");
    assert_int_equal(e->campaign.ntargets, 1);
    assert_int_equal(e->campaign.targets[0], 3);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 3);
    sim_destroy(s);
}

static void c15_a_shrink_that_ends_ranks_names_them_in_its_record_and_event(void **state)
{
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_KILL,
                                     .deadline_s = -1,
                                     .ntargets = 1,
                                     .targets = (uint32_t[]){3}};
    struct sim *s = boot(3, 3, 2);
    const struct api_event *end;
    struct api_campaign c;
    enum api_reason reason;
    size_t job;

    wait_wired(s, 3);
    job = sim_submit(s, 0, 6, LONG_MS, 0);
    sim_for(s, 100);
    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    dvm_wait_complete(s, "c", 30000);
    dvm_wait_job(s, job, 122);
    end = core_event(sim_core(s, 0), event_number(s, API_EVENT_CAMPAIGN_COMPLETE));
    assert_int_equal(core_campaign_get(sim_core(s, 0), "c", &c, &reason, NULL), 0);
    for (int i = 0; i < 2; i++) {
        const struct api_campaign *told = i ? &end->campaign : &c;

        assert_int_equal(told->nended, 1);
        assert_string_equal(told->ended[0].job, sim_job(s, job)->nspace);
        assert_int_equal(told->ended[0].nranks, 2);
        assert_int_equal(told->ended[0].ranks[0], 4);
        assert_int_equal(told->ended[0].ranks[1], 5);
    }
    api_campaign_free(&c);
    sim_destroy(s);
}

/* An operator that was restarted repeats its request at any point, and gets the same campaign. */
static void c18_the_same_campaign_asked_for_again_is_the_same_one_at_any_point(void **state)
{
    struct sim *s = boot(4, 4, 1);
    enum api_phase phase = API_PHASE_COMPLETE;
    size_t job;

    wait_wired(s, 4);
    job = sim_submit(s, 0, 4, 500, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "c", 1, 3, 4, NULL), 0);
    assert_int_equal(put(s, "c", 1, 3, 4, &phase), 0);
    assert_int_equal(phase, API_PHASE_DRAINING);
    dvm_wait_job(s, job, 0);
    assert_true(sim_until(s, fence_up, NULL, 5000));
    assert_int_equal(put(s, "c", 1, 3, 4, &phase), 0);
    assert_int_equal(phase, API_PHASE_REMOVING);
    dvm_wait_complete(s, "c", 30000);
    assert_int_equal(put(s, "c", 1, 3, 4, &phase), 0);
    assert_int_equal(phase, API_PHASE_COMPLETE);
    sim_for(s, 3000);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_ACCEPTED), 1);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 1);
    sim_destroy(s);
}

static void c20_new_members_join_the_pool_that_a_plain_job_maps_to(void **state)
{
    struct sim *s = boot(7, 5, 1);
    size_t job;

    wait_wired(s, 5);
    sim_start(s, 6);
    sim_start(s, 7);
    wait_wired(s, 7);
    job = sim_submit(s, 0, 7, 10, 0);
    assert_true(job_maps_to(s, job, 6));
    assert_true(job_maps_to(s, job, 7));
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c1_a_job_that_a_resize_catches_is_held_and_launched_on_the_new_membership),
        cmocka_unit_test(c1_a_job_that_is_held_before_its_map_waits_when_a_shrink_leaves_no_room),
        cmocka_unit_test(c2_nothing_maps_to_a_daemon_that_a_shrink_names),
        cmocka_unit_test(c2_nothing_maps_to_a_daemon_that_is_not_wired_yet),
        cmocka_unit_test(c3_no_launch_data_goes_to_a_leaving_daemon_and_its_job_is_mapped_again),
        cmocka_unit_test(c3_a_job_that_is_mapped_on_survivors_only_launches_as_it_was_mapped),
        cmocka_unit_test(c3_a_job_that_is_mapped_to_a_draining_daemon_is_mapped_again),
        cmocka_unit_test(c4_a_grow_and_a_shrink_hold_at_the_map_boundary),
        cmocka_unit_test(c4_a_shrink_holds_at_the_launch_boundary),
        cmocka_unit_test(a_job_that_is_held_at_the_launch_boundary_has_no_daemons),
        cmocka_unit_test(c4_a_grow_does_not_hold_at_the_launch_boundary),
        cmocka_unit_test(c5_a_held_job_goes_on_when_the_last_campaign_has_ended_and_not_before),
        cmocka_unit_test(c6_a_shrink_takes_all_its_targets_out_once_and_in_one_batch),
        cmocka_unit_test(c6_the_targets_of_a_shrink_have_left_soon),
        cmocka_unit_test(c6_a_target_that_crashes_is_out_like_one_that_leaves),
        cmocka_unit_test(c6_a_second_report_of_a_loss_changes_nothing),
        cmocka_unit_test(c7_a_shrink_that_removes_no_daemon_is_complete_at_once_without_an_event),
        cmocka_unit_test(c9_shrinks_that_share_a_target_both_end),
        cmocka_unit_test(c9_a_shrink_cancelled_midway_and_a_grow_meanwhile_leave_no_trace),
        cmocka_unit_test(c9_jobs_that_resizes_catch_leave_no_slot_behind),
        cmocka_unit_test(c10_the_vpids_of_a_shrink_can_be_grown_again_at_once_at_any_depth),
        cmocka_unit_test(c11_the_loss_of_a_bystander_neither_ends_nor_releases_a_held_job),
        cmocka_unit_test(c12_a_rejected_request_changes_nothing_and_yields_no_event),
        cmocka_unit_test(c12_an_accepted_campaign_can_be_queried_after_its_end),
        cmocka_unit_test(c13_a_campaign_with_a_requester_ends_with_exactly_one_event),
        cmocka_unit_test(c13_a_release_without_a_requester_ends_without_an_event),
        cmocka_unit_test(c14_the_nodes_are_offered_before_the_end_is_reported),
        cmocka_unit_test(c14_a_node_is_offered_once_however_many_shrinks_name_it),
        cmocka_unit_test(c15_a_shrink_that_ends_ranks_names_them_in_its_record_and_event),
        cmocka_unit_test(c18_the_same_campaign_asked_for_again_is_the_same_one_at_any_point),
        cmocka_unit_test(c20_new_members_join_the_pool_that_a_plain_job_maps_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
