/* SPDX-License-Identifier: BSD-3-Clause */
/* Several pure daemons: joining, jobs, shrinks, losses, the end; over virtual wires in virtual
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/msg/msg.h"
#include "dvm/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim *boot(uint32_t members, uint32_t radix, uint32_t slots)
{
    return dvm_boot(&(struct dvm_shape){
        .members = members, .started = members, .radix = radix, .slots = slots});
}

static void wait_wired(struct sim *s, size_t n)
{
    dvm_wait_wired(s, n, 4000); /* sooner than any heartbeat could detect it */
}

static int put(struct sim *s, const char *id, uint64_t seq, const uint32_t *targets, size_t n,
               enum api_drain_mode mode, enum api_phase *phase, struct err *err)
{
    struct api_campaign_request r = {.sequence = seq,
                                     .drain_mode = mode,
                                     .deadline_s = -1,
                                     .ntargets = n,
                                     .targets = (uint32_t *)targets};
    struct api_campaign c;
    enum api_reason reason = API_REASON_NONE;

    if (core_campaign_put(sim_core(s, 0), id, &r, &c, &reason, err) < 0) {
        snprintf(err->msg, sizeof(err->msg), "%s", api_reason_word(reason));
        return -1;
    }
    if (phase)
        *phase = c.phase;
    api_campaign_free(&c);
    sim_drain(s, 0);
    return 0;
}

static void members_join_at_any_radix_and_a_job_spans_them(void **state)
{
    static const uint32_t radixes[] = {2, 3, 64};

    for (size_t r = 0; r < 3; r++) {
        struct sim *s = boot(9, radixes[r], 1);

        wait_wired(s, 9);
        dvm_wait_job(s, sim_submit(s, 0, 9, 5, 0), 0);
        dvm_wait_job(s, sim_submit(s, 7, 9, 5, 0), 0);
        sim_destroy(s);
    }
}

/* Answers to input take the same way as output, and are acknowledged late. */
static void the_end_of_a_job_waits_for_its_output_only(void **state)
{
    struct sim *s = boot(3, 2, 2);
    uint64_t start;
    size_t a;

    wait_wired(s, 3);
    a = sim_submit(s, 0, 6, 50, 0);
    while (sim_ranks(s, 3) == 0)
        sim_for(s, 1);
    while (sim_ranks(s, 3) > 0)
        sim_for(s, 1);
    start = sim_now(s);
    while (!sim_job(s, a)->done && sim_now(s) < start + 1000) {
        assert_int_equal(core_app_send(sim_core(s, 3), 0, CLASS_BULK, 1, "x", 1, NULL), 0);
        sim_drain(s, 3);
        sim_for(s, 1);
    }
    assert_int_equal(sim_job(s, a)->exit_code, 0);
    assert_true(sim_now(s) - start < 40); /* less than the delay of an acknowledgement */
    sim_destroy(s);
}

static void a_job_counts_as_running_from_its_launch_to_its_end(void **state)
{
    struct sim *s = boot(3, 2, 2);

    wait_wired(s, 3);
    assert_int_equal(core_jobs_bound(sim_core(s, 0)), 0);
    size_t runs = sim_submit(s, 0, 6, 50, 0), waits = sim_submit(s, 0, 6, 50, 0);
    while (sim_ranks(s, 3) == 0)
        sim_for(s, 1);
    assert_int_equal(core_jobs_bound(sim_core(s, 0)), 1);
    assert_int_equal(core_jobs_bound(sim_core(s, 1)), 0);
    dvm_wait_job(s, runs, 0);
    dvm_wait_job(s, waits, 0);
    assert_int_equal(core_jobs_bound(sim_core(s, 0)), 0);
    sim_destroy(s);
}

static void a_failing_rank_gives_its_code_and_ends_the_others(void **state)
{
    struct sim *s = boot(3, 2, 1);

    wait_wired(s, 3);
    dvm_wait_job(s, sim_submit(s, 2, 3, 10, 7), 7);
    for (uint32_t v = 1; v <= 3; v++)
        assert_int_equal(sim_ranks(s, v), 0);
    sim_destroy(s);
}

static void a_job_that_never_fits_fails_at_once_with_the_numbers(void **state)
{
    struct sim *s = boot(2, 2, 2);
    size_t j;

    wait_wired(s, 2);
    j = sim_submit(s, 0, 5, 10, 0);
    dvm_wait_job(s, j, 125);
    assert_non_null(strstr(sim_job(s, j)->text, "5 ranks"));
    sim_destroy(s);
}

static void a_job_that_came_before_any_member_is_judged_when_there_are_some(void **state)
{
    struct sim *s = boot(2, 2, 2);
    size_t j = sim_submit(s, 0, 5, 10, 0);

    dvm_wait_job(s, j, 125);
    sim_destroy(s);
}

static void a_job_that_fits_waits_for_its_slots(void **state)
{
    struct sim *s = boot(2, 2, 1);
    size_t a, b;

    wait_wired(s, 2);
    a = sim_submit(s, 0, 2, 500, 0);
    b = sim_submit(s, 1, 2, 5, 0);
    sim_for(s, 200);
    assert_false(sim_job(s, b)->done);
    dvm_wait_job(s, a, 0);
    dvm_wait_job(s, b, 0);
    sim_destroy(s);
}

static void the_heads_vpid_and_vpids_in_the_middle_cannot_be_shrunk(void **state)
{
    struct sim *s = boot(4, 2, 1);
    struct err err = {0};

    wait_wired(s, 4);
    assert_int_equal(put(s, "a", 1, (uint32_t[]){0, 1}, 2, API_DRAIN_WAIT, NULL, &err), -1);
    assert_string_equal(err.msg, "HeadCannotLeave");
    assert_int_equal(put(s, "b", 1, (uint32_t[]){2}, 1, API_DRAIN_WAIT, NULL, &err), -1);
    assert_string_equal(err.msg, "NotTrailing");
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_ACCEPTED), 0);
    wait_wired(s, 4);
    sim_destroy(s);
}

static void a_shrink_removes_a_whole_branch_in_one_repair_with_one_event(void **state)
{
    struct sim *s = boot(12, 2, 1);
    uint32_t targets[] = {5, 6, 7, 8, 9, 10, 11, 12};

    wait_wired(s, 12);
    assert_int_equal(put(s, "c1", 1, targets, 8, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_true(sim_until(s, dvm_complete, "c1", 5000));
    sim_for(s, 3000);
    for (uint32_t v = 0; v <= 4; v++)
        assert_int_equal(core_stats(sim_core(s, v)).repairs, 1);
    for (uint32_t v = 5; v <= 12; v++)
        assert_true(sim_parked(s, v));
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 1);
    assert_int_equal(dvm_events(s, API_EVENT_NODES_OFFERED), 1);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 8);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    dvm_wait_job(s, sim_submit(s, 0, 4, 5, 0), 0);
    sim_destroy(s);
}

static void a_member_that_wants_to_leave_waits_when_too_many_campaigns_run(void **state)
{
    struct sim *s = boot(3, 2, 1);
    struct api_campaign c;
    enum api_reason reason;
    char id[16];

    wait_wired(s, 3);
    sim_submit(s, 0, 3, 1u << 30, 0);
    sim_for(s, 100);
    for (uint32_t i = 0; i < 256; i++) {
        snprintf(id, sizeof(id), "c%u", i);
        assert_int_equal(
            put(s, id, i + 1, (uint32_t[]){3}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    }
    core_sigterm(sim_core(s, 1));
    core_sigterm(sim_core(s, 2));
    sim_drain(s, 1);
    sim_drain(s, 2);
    sim_for(s, 1000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 2);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_ACCEPTED), 256);
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "c7", &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    sim_for(s, 200);
    assert_int_equal(dvm_in_state(s, MEMBER_DRAINING), 3); /* both in one */
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_ACCEPTED), 257);
    sim_destroy(s);
}

static void the_healthy_path_of_a_shrink_needs_no_departure_timer(void **state)
{
    struct sim *s = boot(12, 2, 1);
    uint64_t begun;

    wait_wired(s, 12);
    begun = sim_now(s);
    assert_int_equal(
        put(s, "c1", 1, (uint32_t[]){10, 11, 12}, 3, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_true(sim_until(s, dvm_complete, "c1", 5000));
    while (!(sim_parked(s, 10) && sim_parked(s, 11) && sim_parked(s, 12))) {
        assert_true(sim_now(s) - begun < 200);
        sim_for(s, 1);
    }
    sim_destroy(s);
}

static void a_shrink_that_removes_no_daemon_is_complete_at_once_without_event(void **state)
{
    struct sim *s = boot(2, 2, 1);
    enum api_phase phase = API_PHASE_DRAINING;

    wait_wired(s, 2);
    dvm_put_size(s, 1, 4);
    assert_int_equal(
        put(s, "c", 1, (uint32_t[]){3, 4}, 2, API_DRAIN_WAIT, &phase, &(struct err){0}), 0);
    assert_int_equal(phase, API_PHASE_COMPLETE);
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 0);
    sim_destroy(s);
}

/* As a pod is replaced: the daemon leaves, and a new one has its vpid. */
static void a_shrink_that_keeps_the_size_may_have_any_members_and_admits_new_ones(void **state)
{
    struct sim *s = boot(4, 2, 1);
    struct api_campaign_request r = {.sequence = 1,
                                     .keeps_size = true,
                                     .deadline_s = -1,
                                     .ntargets = 2,
                                     .targets = (uint32_t[]){1, 3}};
    struct api_campaign c;
    enum api_reason reason;
    size_t job;

    dvm_put_size(s, 1, 4);
    wait_wired(s, 4);
    job = sim_submit(s, 0, 4, 1000, 0);
    sim_for(s, 50);
    assert_int_equal(core_campaign_put(sim_core(s, 0), "u", &r, &c, &reason, NULL), 0);
    assert_int_equal(c.phase, API_PHASE_DRAINING);
    api_campaign_free(&c);
    sim_drain(s, 0);
    dvm_wait_job(s, job, 0); /* the drain has waited for it */
    dvm_wait_complete(s, "u", 5000);
    assert_int_equal(dvm_bound(s), 4);
    sim_for(s, 100);
    assert_true(sim_parked(s, 1) && sim_parked(s, 3));
    for (uint32_t v = 1; v <= 3; v += 2) {
        sim_crash(s, v);
        sim_start(s, v);
    }
    wait_wired(s, 4);
    dvm_wait_job(s, sim_submit(s, 0, 4, 5, 0), 0);
    sim_destroy(s);
}

static void a_shrink_that_keeps_the_size_cannot_have_the_head(void **state)
{
    struct sim *s = boot(2, 2, 1);
    struct api_campaign_request r = {.sequence = 1,
                                     .keeps_size = true,
                                     .deadline_s = -1,
                                     .ntargets = 1,
                                     .targets = (uint32_t[]){0}};
    struct api_campaign c;
    enum api_reason reason;

    wait_wired(s, 2);
    assert_int_equal(core_campaign_put(sim_core(s, 0), "u", &r, &c, &reason, NULL), -1);
    assert_int_equal(reason, API_REASON_HEAD_CANNOT_LEAVE);
    sim_destroy(s);
}

static void a_drain_waits_for_running_work_and_no_new_work_maps_there(void **state)
{
    struct sim *s = boot(4, 2, 1);
    size_t a, b;

    wait_wired(s, 4);
    a = sim_submit(s, 0, 4, 1000, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "c", 1, (uint32_t[]){3, 4}, 2, API_DRAIN_WAIT, NULL, &(struct err){0}),
                     0);
    sim_for(s, 100);
    assert_int_equal(dvm_phase(s, "c"), API_PHASE_DRAINING);
    b = sim_submit(s, 0, 2, 5, 0);
    dvm_wait_job(s, a, 0);
    assert_true(sim_until(s, dvm_complete, "c", 5000));
    dvm_wait_job(s, b, 0);
    sim_destroy(s);
}

static void a_drain_waits_for_a_job_that_was_only_submitted_there(void **state)
{
    struct sim *s = boot(4, 2, 1);
    size_t a;

    wait_wired(s, 4);
    a = sim_submit(s, 4, 2, 1000, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "c", 1, (uint32_t[]){4}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    sim_for(s, 100);
    assert_int_equal(dvm_phase(s, "c"), API_PHASE_DRAINING);
    dvm_wait_job(s, a, 0);
    assert_true(sim_until(s, dvm_complete, "c", 5000));
    sim_destroy(s);
}

static void a_job_whose_submitter_is_lost_with_its_daemon_is_ended(void **state)
{
    struct sim *s = boot(4, 2, 1);

    wait_wired(s, 4);
    sim_submit(s, 4, 2, 1000000, 0);
    sim_for(s, 50);
    assert_int_equal(sim_ranks(s, 1), 1);
    sim_crash(s, 4);
    sim_for(s, 10000);
    assert_int_equal(sim_ranks(s, 1), 0);
    assert_int_equal(sim_ranks(s, 2), 0);
    sim_destroy(s);
}

static void a_leaving_daemon_takes_no_new_jobs(void **state)
{
    struct sim *s = boot(4, 2, 2);
    size_t a;

    wait_wired(s, 4);
    sim_submit(s, 0, 8, 1000, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "c", 1, (uint32_t[]){4}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    a = sim_submit(s, 4, 1, 100000, 0);
    dvm_wait_job(s, a, 125);
    assert_non_null(strstr(sim_job(s, a)->text, "leaves"));
    assert_true(sim_until(s, dvm_complete, "c", 5000));
    sim_destroy(s);
}

static void a_cancel_does_not_undo_a_later_size_or_another_shrink(void **state)
{
    struct sim *s = boot(4, 2, 1);
    struct api_campaign c;
    enum api_reason reason;

    wait_wired(s, 4);
    sim_submit(s, 0, 4, 3000, 0);
    sim_for(s, 50);
    dvm_put_size(s, 71, 4);
    put(s, "a", 1, (uint32_t[]){4}, 1, API_DRAIN_WAIT, NULL, &(struct err){0});
    put(s, "b", 2, (uint32_t[]){2, 3, 4}, 3, API_DRAIN_WAIT, NULL, &(struct err){0});
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "a", &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    assert_int_equal(dvm_bound(s), 1);
    dvm_put_size(s, 72, 0);
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "b", &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    assert_int_equal(dvm_bound(s), 0);
    sim_destroy(s);
}

static void a_size_is_refused_above_the_limit_or_with_the_number_of_another(void **state)
{
    struct sim *s = boot(2, 2, 1);
    struct api_size in = {.sequence = 7, .members = 2};
    struct api_size out;
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    dvm_put_size(s, 7, 1);
    assert_int_equal(core_size_put(sim_core(s, 0), &in, &out, &reason, &err), -1);
    assert_int_equal(reason, API_REASON_SEQUENCE_TOO_OLD);
    assert_int_equal(dvm_bound(s), 1);
    dvm_put_size(s, 7, 1); /* a repetition changes nothing */
    in = (struct api_size){.sequence = 8, .members = VPID_MAX + 1};
    assert_int_equal(core_size_put(sim_core(s, 0), &in, &out, &reason, &err), -1);
    assert_int_equal(reason, API_REASON_BAD_REQUEST);
    assert_int_equal(dvm_bound(s), 1);
    sim_destroy(s);
}

static void say_frame(struct sim *s, uint32_t to, uint64_t conn, uint32_t src, struct epoch life,
                      struct msg *m)
{
    BUF_AUTO struct buf b = {0};
    struct frame f = {.type = m->type, .src = src, .dst = to, .src_epoch = life};

    buf_init(&b, 4096);
    frame_encode(&b, &f);
    msg_encode(&b, m);
    core_conn_frame(sim_core(s, to), conn, b.data, b.len);
    sim_drain(s, to);
}

static void a_child_cannot_end_or_shrink_the_dvm_by_a_broadcast_of_its_own(void **state)
{
    struct sim *s = boot(3, 2, 1);
    struct api_dvm d;
    enum api_reason reason;
    struct msg_member who = {.vpid = 3, .host = "", .address = ""};
    struct msg hello = {.type = MSG_HELLO, .hello = {.why = HELLO_LINK, .cluster = "sim"}};
    struct msg end = {.type = MSG_SHUTDOWN, .shutdown = {.why = SHUTDOWN_DVM, .text = ""}};

    wait_wired(s, 3);
    sim_for(s, 100);
    assert_int_equal(core_dvm(sim_core(s, 0), &d, &reason, NULL), 0);
    who.epoch = (struct epoch){strtoull(d.incarnation, NULL, 16), d.members[3].epoch};
    hello.hello.self = who;
    hello.hello.version = core_stats(sim_core(s, 1)).version;
    end.shutdown.op = hello.hello.version + 1;
    api_dvm_free(&d);
    core_conn_open(
        sim_core(s, 1), 4711,
        &(struct core_conn){.incoming = true, .role = API_ROLE_MEMBER, .cluster = "sim"});
    say_frame(s, 1, 4711, 3, who.epoch, &hello);
    say_frame(s, 1, 4711, 3, who.epoch, &end);
    assert_int_equal(core_state(sim_core(s, 1)), CORE_WIRED);
    assert_int_equal(core_stats(sim_core(s, 1)).version, hello.hello.version);
    sim_destroy(s);
}

static void a_drain_that_kills_is_the_reason_in_the_job_s_end(void **state)
{
    struct sim *s = boot(4, 2, 1);
    size_t a;

    wait_wired(s, 4);
    a = sim_submit(s, 0, 4, 100000, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "c", 1, (uint32_t[]){4}, 1, API_DRAIN_KILL, NULL, &(struct err){0}), 0);
    dvm_wait_job(s, a, 122);
    assert_true(sim_until(s, dvm_complete, "c", 5000));
    sim_destroy(s);
}

static void a_cancelled_drain_changes_nothing(void **state)
{
    struct sim *s = boot(3, 2, 1);
    struct api_campaign c;
    enum api_reason reason;
    size_t a;

    wait_wired(s, 3);
    a = sim_submit(s, 0, 3, 1000, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "c", 1, (uint32_t[]){3}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "c", &c, &reason, NULL), 0);
    assert_int_equal(c.phase, API_PHASE_CANCELLED);
    api_campaign_free(&c);
    sim_drain(s, 0);
    dvm_wait_job(s, a, 0);
    wait_wired(s, 3);
    dvm_wait_job(s, sim_submit(s, 0, 3, 5, 0), 0);
    sim_destroy(s);
}

static void two_shrinks_that_name_the_same_daemon_both_end(void **state)
{
    struct sim *s = boot(4, 2, 1);
    size_t a;

    wait_wired(s, 4);
    a = sim_submit(s, 0, 4, 500, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "a", 1, (uint32_t[]){4}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_int_equal(put(s, "b", 2, (uint32_t[]){3, 4}, 2, API_DRAIN_WAIT, NULL, &(struct err){0}),
                     0);
    dvm_wait_job(s, a, 0);
    assert_true(sim_until(s, dvm_complete, "a", 5000));
    assert_true(sim_until(s, dvm_complete, "b", 5000));
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 2);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 2);
    sim_destroy(s);
}

static void a_shrink_goes_on_when_another_of_the_same_daemon_is_cancelled(void **state)
{
    struct sim *s = boot(3, 2, 1);
    struct api_campaign c;
    enum api_reason reason;
    size_t a;

    wait_wired(s, 3);
    a = sim_submit(s, 0, 3, 500, 0);
    sim_for(s, 50);
    assert_int_equal(put(s, "a", 1, (uint32_t[]){3}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_int_equal(put(s, "b", 2, (uint32_t[]){3}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_int_equal(core_campaign_cancel(sim_core(s, 0), "a", &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    dvm_wait_job(s, a, 0);
    assert_true(sim_until(s, dvm_complete, "b", 5000));
    sim_for(s, 1000);
    assert_true(sim_parked(s, 3));
    sim_destroy(s);
}

static void the_same_vpids_shrink_and_grow_again_and_again_at_any_depth(void **state)
{
    struct sim *s = boot(8, 2, 1);
    char id[16];

    wait_wired(s, 8);
    for (unsigned i = 1; i <= 20; i++) {
        uint32_t first = 2 + i % 7;
        uint32_t targets[8];
        size_t n = 0;

        for (uint32_t v = first; v <= 8; v++)
            targets[n++] = v;
        snprintf(id, sizeof(id), "c%u", i);
        assert_int_equal(put(s, id, i, targets, n, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
        assert_true(sim_until(s, dvm_complete, id, 5000));
        for (uint32_t v = first; v <= 8; v++)
            sim_crash(s, v);
        dvm_put_size(s, i, 8);
        for (uint32_t v = 8; v >= first; v--)
            sim_start(s, v);
        wait_wired(s, 8);
        dvm_wait_job(s, sim_submit(s, 1, 8, 5, 0), 0);
    }
    sim_destroy(s);
}

static void a_vpid_outside_the_size_is_not_admitted(void **state)
{
    struct sim *s = boot(3, 2, 1);

    wait_wired(s, 3);
    assert_int_equal(put(s, "c", 1, (uint32_t[]){3}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_true(sim_until(s, dvm_complete, "c", 5000));
    sim_crash(s, 3);
    sim_start(s, 3);
    sim_for(s, 5000);
    assert_int_equal(core_state(sim_core(s, 3)), CORE_JOINING);
    dvm_put_size(s, 5, 3);
    wait_wired(s, 3);
    sim_destroy(s);
}

static void a_crash_is_repaired_around_and_ends_only_the_jobs_there(void **state)
{
    struct sim *s = boot(7, 2, 1);
    size_t a;

    wait_wired(s, 7);
    a = sim_submit(s, 5, 7, 100000, 0);
    sim_for(s, 100);
    sim_crash(s, 1);
    dvm_wait_job(s, a, 123);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 6);
    dvm_wait_job(s, sim_submit(s, 3, 6, 5, 0), 0);
    sim_start(s, 1);
    wait_wired(s, 7);
    dvm_wait_job(s, sim_submit(s, 3, 7, 5, 0), 0);
    sim_destroy(s);
}

static void a_broken_link_loses_no_message(void **state)
{
    struct sim *s = boot(7, 2, 1);
    size_t a;

    wait_wired(s, 7);
    for (unsigned i = 0; i < 20; i++) {
        a = sim_submit(s, 6, 7, 20, 0);
        sim_for(s, i);
        sim_break(s, i % 3, 1 + 2 * (i % 3));
        dvm_wait_job(s, a, 0);
    }
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    sim_destroy(s);
}

static void a_silent_daemon_is_declared_lost_and_notified_when_it_returns(void **state)
{
    struct sim *s = boot(5, 2, 1);
    size_t five = 5;

    wait_wired(s, 5);
    sim_stop(s, 2, true);
    assert_int_equal(put(s, "c", 1, (uint32_t[]){5}, 1, API_DRAIN_WAIT, NULL, &(struct err){0}), 0);
    assert_true(sim_until(s, dvm_complete, "c", 60000));
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    sim_stop(s, 2, false);
    dvm_put_size(s, 2, 5);
    sim_crash(s, 5);
    sim_start(s, 5);
    dvm_wait_wired(s, five, 60000);
    sim_destroy(s);
}

static void members_that_get_sigterm_together_leave_in_one_campaign(void **state)
{
    struct sim *s = boot(6, 2, 1);

    wait_wired(s, 6);
    core_sigterm(sim_core(s, 2));
    sim_drain(s, 2);
    core_sigterm(sim_core(s, 5));
    sim_drain(s, 5);
    sim_for(s, 3000);
    assert_true(sim_exited(s, 2));
    assert_true(sim_exited(s, 5));
    assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_ACCEPTED), 1);
    assert_int_equal(core_stats(sim_core(s, 1)).repairs, 1);
    sim_start(s, 2);
    sim_start(s, 5);
    wait_wired(s, 6);
    sim_destroy(s);
}

static void the_end_of_the_head_is_orderly_and_members_join_the_next_incarnation(void **state)
{
    struct sim *s = boot(6, 2, 1);
    size_t a;

    wait_wired(s, 6);
    a = sim_submit(s, 3, 6, 100000, 0);
    sim_for(s, 50);
    core_sigterm(sim_core(s, 0));
    sim_drain(s, 0);
    dvm_wait_job(s, a, 122);
    sim_for(s, 3000);
    assert_true(sim_exited(s, 0));
    sim_start(s, 0);
    wait_wired(s, 6);
    dvm_wait_job(s, sim_submit(s, 3, 6, 5, 0), 0);
    sim_destroy(s);
}

static void the_head_ends_although_a_daemon_with_ranks_is_silent(void **state)
{
    struct sim *s = boot(4, 2, 1);

    wait_wired(s, 4);
    sim_submit(s, 0, 4, 1000000, 0);
    sim_for(s, 50);
    sim_stop(s, 3, true);
    core_sigterm(sim_core(s, 0));
    sim_drain(s, 0);
    sim_for(s, 40000);
    assert_true(sim_exited(s, 0));
    sim_destroy(s);
}

static void a_member_that_got_sigterm_ends_although_the_head_has_ended(void **state)
{
    struct sim *s = boot(2, 2, 1);

    wait_wired(s, 2);
    sim_submit(s, 1, 2, 1000000, 0);
    sim_for(s, 50);
    core_sigterm(sim_core(s, 2));
    sim_drain(s, 2);
    sim_crash(s, 0);
    sim_for(s, 30000);
    assert_true(sim_exited(s, 2));
    assert_false(sim_exited(s, 1));
    assert_int_equal(sim_ranks(s, 2), 0);
    sim_destroy(s);
}

static bool ends(struct sim *s, void *vpid)
{
    return core_state(sim_core(s, *(uint32_t *)vpid)) == CORE_ENDING;
}

static bool has_exited(struct sim *s, void *vpid)
{
    return sim_exited(s, *(uint32_t *)vpid);
}

static void a_member_that_is_ordered_to_end_while_the_head_ends_does_not_rejoin(void **state)
{
    struct sim *s = boot(3, 2, 1);
    uint32_t one = 1;

    wait_wired(s, 3);
    core_sigterm(sim_core(s, 0));
    sim_drain(s, 0);
    assert_true(sim_until(s, ends, &one, 5000));
    assert_false(sim_exited(s, 1));
    core_sigterm(sim_core(s, 1));
    sim_drain(s, 1);
    assert_true(sim_until(s, has_exited, &one, 15000));
    sim_destroy(s);
}

static void a_shutdown_parks_every_member_and_ends_the_head(void **state)
{
    struct sim *s = boot(6, 2, 1);
    struct api_shutdown down = {1};
    enum api_reason reason;

    wait_wired(s, 6);
    core_shutdown(sim_core(s, 0), &down, &reason, NULL);
    sim_drain(s, 0);
    sim_for(s, 5000);
    for (uint32_t v = 1; v <= 6; v++)
        assert_true(sim_parked(s, v));
    assert_true(sim_exited(s, 0));
    sim_destroy(s);
}

static void a_malformed_frame_closes_its_link_and_changes_nothing(void **state)
{
    struct sim *s = boot(2, 2, 1);
    static const uint8_t junk[] = {9, 9, 9, 9};

    wait_wired(s, 2);
    core_conn_open(
        sim_core(s, 0), 4711,
        &(struct core_conn){.incoming = true, .role = API_ROLE_MEMBER, .cluster = "sim"});
    core_conn_frame(sim_core(s, 0), 4711, junk, sizeof(junk));
    assert_int_equal(core_stats(sim_core(s, 0)).stale_frames, 1);
    wait_wired(s, 2);
    dvm_wait_job(s, sim_submit(s, 0, 2, 5, 0), 0);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_join_at_any_radix_and_a_job_spans_them),
        cmocka_unit_test(the_end_of_a_job_waits_for_its_output_only),
        cmocka_unit_test(a_job_counts_as_running_from_its_launch_to_its_end),
        cmocka_unit_test(a_failing_rank_gives_its_code_and_ends_the_others),
        cmocka_unit_test(a_job_that_never_fits_fails_at_once_with_the_numbers),
        cmocka_unit_test(a_job_that_came_before_any_member_is_judged_when_there_are_some),
        cmocka_unit_test(a_job_that_fits_waits_for_its_slots),
        cmocka_unit_test(the_heads_vpid_and_vpids_in_the_middle_cannot_be_shrunk),
        cmocka_unit_test(a_shrink_removes_a_whole_branch_in_one_repair_with_one_event),
        cmocka_unit_test(a_member_that_wants_to_leave_waits_when_too_many_campaigns_run),
        cmocka_unit_test(the_healthy_path_of_a_shrink_needs_no_departure_timer),
        cmocka_unit_test(a_shrink_that_removes_no_daemon_is_complete_at_once_without_event),
        cmocka_unit_test(a_shrink_that_keeps_the_size_may_have_any_members_and_admits_new_ones),
        cmocka_unit_test(a_shrink_that_keeps_the_size_cannot_have_the_head),
        cmocka_unit_test(a_drain_waits_for_running_work_and_no_new_work_maps_there),
        cmocka_unit_test(a_drain_waits_for_a_job_that_was_only_submitted_there),
        cmocka_unit_test(a_job_whose_submitter_is_lost_with_its_daemon_is_ended),
        cmocka_unit_test(a_leaving_daemon_takes_no_new_jobs),
        cmocka_unit_test(a_cancel_does_not_undo_a_later_size_or_another_shrink),
        cmocka_unit_test(a_size_is_refused_above_the_limit_or_with_the_number_of_another),
        cmocka_unit_test(a_child_cannot_end_or_shrink_the_dvm_by_a_broadcast_of_its_own),
        cmocka_unit_test(a_drain_that_kills_is_the_reason_in_the_job_s_end),
        cmocka_unit_test(a_cancelled_drain_changes_nothing),
        cmocka_unit_test(two_shrinks_that_name_the_same_daemon_both_end),
        cmocka_unit_test(a_shrink_goes_on_when_another_of_the_same_daemon_is_cancelled),
        cmocka_unit_test(the_same_vpids_shrink_and_grow_again_and_again_at_any_depth),
        cmocka_unit_test(a_vpid_outside_the_size_is_not_admitted),
        cmocka_unit_test(a_crash_is_repaired_around_and_ends_only_the_jobs_there),
        cmocka_unit_test(a_broken_link_loses_no_message),
        cmocka_unit_test(a_silent_daemon_is_declared_lost_and_notified_when_it_returns),
        cmocka_unit_test(members_that_get_sigterm_together_leave_in_one_campaign),
        cmocka_unit_test(the_end_of_the_head_is_orderly_and_members_join_the_next_incarnation),
        cmocka_unit_test(the_head_ends_although_a_daemon_with_ranks_is_silent),
        cmocka_unit_test(a_member_that_got_sigterm_ends_although_the_head_has_ended),
        cmocka_unit_test(a_member_that_is_ordered_to_end_while_the_head_ends_does_not_rejoin),
        cmocka_unit_test(a_shutdown_parks_every_member_and_ends_the_head),
        cmocka_unit_test(a_malformed_frame_closes_its_link_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
