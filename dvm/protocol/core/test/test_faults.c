/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of broken links, late frames and badly timed shrinks on membership; over virtual wires
 * in virtual time. */
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

#define FRAME_SPEAKS_AT 57 /* in the header */

static struct sim *boot(uint32_t members, uint32_t started, uint32_t radix)
{
    return dvm_boot(
        &(struct dvm_shape){.members = members, .started = started, .radix = radix, .slots = 2});
}

static void wait_wired(struct sim *s, size_t n)
{
    dvm_wait_wired(s, n, 4000);
}

static enum api_phase shrink(struct sim *s, const char *id, const uint32_t *targets, size_t n)
{
    static uint64_t sequence;
    struct api_campaign_request r = {.sequence = ++sequence,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .ntargets = n,
                                     .targets = (uint32_t *)targets};
    struct api_campaign c;
    enum api_reason reason = API_REASON_NONE;
    enum api_phase phase;

    assert_int_equal(core_campaign_put(sim_core(s, 0), id, &r, &c, &reason, NULL), 0);
    phase = c.phase;
    api_campaign_free(&c);
    sim_drain(s, 0);
    return phase;
}

static void cancel(struct sim *s, const char *id)
{
    struct api_campaign c;
    enum api_reason reason;

    assert_int_equal(core_campaign_cancel(sim_core(s, 0), id, &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
}

static void a_shrink_refuses_a_caller_that_is_not_in_the_tree(void **state)
{
    struct sim *s = boot(5, 3, 2);
    uint32_t target = 5;

    wait_wired(s, 3);
    sim_stop(s, 1, true); /* 4's operation stays under way, 5's waits */
    sim_start(s, 4);
    sim_for(s, 50);
    sim_start(s, 5);
    sim_for(s, 50);
    assert_int_equal(dvm_in_state(s, MEMBER_REPORTED), 2);
    assert_int_equal(shrink(s, "c", &target, 1), API_PHASE_COMPLETE); /* no daemon runs there */
    sim_stop(s, 1, false);
    wait_wired(s, 4);
    sim_for(s, 5000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    assert_int_equal(core_state(sim_core(s, 5)), CORE_JOINING);
    assert_non_null(strstr(core_state_text(sim_core(s, 5)), "outside the size"));
    sim_destroy(s);
}

static void a_daemon_wired_while_a_shrink_drains_it_takes_no_work(void **state)
{
    static const uint32_t targets[] = {3, 4};
    struct sim *s = boot(4, 3, 64);

    wait_wired(s, 3);
    sim_submit(s, 0, 6, 60000, 0); /* a job runs on vpid 3, so the drain waits */
    sim_for(s, 50);
    sim_stop(s, 1, true);
    sim_start(s, 4);
    sim_for(s, 50);
    assert_int_equal(dvm_in_state(s, MEMBER_REPORTED), 1);
    assert_int_equal(shrink(s, "c", targets, 2), API_PHASE_DRAINING);
    sim_stop(s, 1, false);
    sim_for(s, 500);
    assert_int_equal(dvm_in_state(s, MEMBER_REPORTED), 0);
    assert_int_equal(dvm_in_state(s, MEMBER_DRAINING), 2);
    cancel(s, "c");
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    sim_destroy(s);
}

/* 3 has replaced 1 and is linked to the head. It has to move below 1, which has joined. */
static void a_daemon_that_cannot_reach_its_new_parent_at_first_tries_again(void **state)
{
    struct sim *s = boot(3, 0, 2);

    sim_start(s, 2);
    sim_start(s, 3);
    wait_wired(s, 2);
    sim_start(s, 1);
    for (unsigned ms = 0; ms < 300; ms++) {
        sim_for(s, 1);
        sim_break(s, 3, 1);
    }
    sim_for(s, 20000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 3);
    sim_destroy(s);
}

static void a_daemon_whose_link_breaks_again_and_again_is_not_lost(void **state)
{
    struct sim *s = boot(4, 4, 2);

    wait_wired(s, 4);
    for (unsigned i = 0; i < 40; i++) {
        sim_break(s, 4, 1);
        sim_for(s, 500);
    }
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    sim_destroy(s);
}

static void say(struct sim *s, uint32_t to, uint64_t conn, const struct frame *f,
                const struct msg *m)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 4096);
    frame_encode(&b, f);
    msg_encode(&b, m);
    sim_clock(s, to);
    core_conn_frame(sim_core(s, to), conn, b.data, b.len);
    sim_drain(s, to);
}

struct seen {
    uint64_t conn; /* the head's, to vpid 1 */
};

static void note_conn(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct seen *x = arg;
    struct cur c = cur_of(data, len);
    struct frame f;

    if (vpid == 0 && frame_decode(&c, &f, NULL) == 0 && f.src == 1 && !msg_is_routed(f.type))
        x->conn = conn;
}

static void only_the_parent_s_report_makes_a_daemon_lost(void **state)
{
    struct sim *s = boot(4, 4, 2);
    struct seen x = {0};
    struct sim_hooks h = {.arg = &x, .frame = note_conn};

    sim_watch(s, &h);
    wait_wired(s, 4);
    sim_for(s, 100);
    for (uint32_t from = 2; from >= 1; from--) { /* 1 is the parent of 4 */
        struct msg_target four = {4, core_inspect_epoch(sim_core(s, 4))};
        struct msg lost = {.type = MSG_LOST, .lost = {four, "test"}};
        struct frame f = {.type = MSG_LOST,
                          .src = from,
                          .dst = 0,
                          .src_epoch = core_inspect_epoch(sim_core(s, from)),
                          .version = core_stats(sim_core(s, 0)).version};

        for (f.seq = 1; f.seq < 20; f.seq++) /* those that have arrived are dropped */
            say(s, 0, x.conn, &f, &lost);
        assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), from == 1);
    }
    sim_destroy(s);
}

static void a_daemon_that_was_cut_off_itself_declares_no_peer_lost(void **state)
{
    struct sim *s = boot(4, 4, 2);

    wait_wired(s, 4);
    sim_break_half(s, 1, 0, API_FAULTS_LINK_GRACE_MS - 500);
    sim_break(s, 1, 3);
    sim_partition(s, 1, 1);
    /* 3 has had no link to 1 for longer than the grace, and 1 none to the head */
    sim_for(s, API_FAULTS_LINK_GRACE_MS + 300);
    sim_heal(s);
    sim_for(s, 20000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    sim_destroy(s);
}

struct said {
    uint64_t conn; /* the head's, to vpid 1 */
    bool bye;
    unsigned after;
};

/* The type of a frame that is sent; empty for another action. */
static struct cur frame_of(const struct out_act *act)
{
    bool sent = act->kind == OUT_SEND;

    return cur_of(sent ? act->send.frame.data : NULL, sent ? act->send.frame.len : 0);
}

static void note_said(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct said *x = arg;
    struct cur c = frame_of(act);
    struct frame f;

    if (vpid || act->kind != OUT_SEND || act->send.conn != x->conn ||
        frame_decode(&c, &f, NULL) < 0)
        return;
    x->after += x->bye;
    x->bye |= f.type == MSG_BYE;
}

static bool has_said_bye(struct sim *s, void *arg)
{
    return ((struct said *)arg)->bye;
}

static void no_message_is_sent_on_a_link_after_bye(void **state)
{
    struct sim *s = boot(1, 1, 2);
    struct seen x = {0};
    struct said y = {0};
    struct sim_hooks frames = {.arg = &x, .frame = note_conn};
    struct sim_hooks actions = {.arg = &y, .action = note_said};
    struct msg ping = {.type = MSG_PING};
    struct frame f = {.type = MSG_PING, .src = 1, .dst = 0};
    uint32_t one = 1;

    sim_watch(s, &frames);
    wait_wired(s, 1);
    sim_for(s, 100);
    f.src_epoch = core_inspect_epoch(sim_core(s, 1));
    y.conn = x.conn;
    sim_watch(s, &actions);
    (void)shrink(s, "c", &one, 1);
    assert_true(sim_until(s, has_said_bye, &y, 100));
    say(s, 0, x.conn, &f, &ping);
    assert_int_equal(y.after, 0);
    sim_destroy(s);
}

/* --- a call of an earlier process */

struct late {
    struct sim *sim;
    unsigned calls;
};

static void cut_off_when_calling(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct late *x = arg;
    struct cur c = frame_of(act);
    struct frame f;

    if (vpid != 1 || act->kind != OUT_SEND || frame_decode(&c, &f, NULL) < 0 || f.type != MSG_HELLO)
        return;
    if (x->calls++ == 0)
        sim_partition(x->sim, 1, 1);
}

static void a_late_call_of_an_ended_process_does_not_end_its_successor(void **state)
{
    struct sim *s = boot(1, 0, 2);
    struct late x = {.sim = s};
    struct sim_hooks h = {.arg = &x, .action = cut_off_when_calling};

    sim_watch(s, &h);
    sim_start(s, 1);
    sim_for(s, 50); /* its call is delayed in the network */
    assert_int_equal(x.calls, 1);
    sim_crash(s, 1);
    sim_for(s, 50); /* and so is its end */
    sim_partition(s, 1, 0);
    sim_start(s, 1);
    wait_wired(s, 1);
    sim_heal(s); /* now the call arrives */
    sim_for(s, 5000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 1);
    sim_destroy(s);
}

static const struct api_event *loss_of(struct sim *s, uint32_t vpid)
{
    for (uint64_t i = 1; i < core_event_next(sim_core(s, 0)); i++) {
        const struct api_event *e = core_event(sim_core(s, 0), i);

        if (e && e->type == API_EVENT_DAEMON_LOST && e->vpid == vpid)
            return e;
    }
    fail_msg("no event of the loss of %u", vpid);
    return NULL;
}

static void c22_the_event_of_a_loss_names_its_cause(void **state)
{
    struct sim *s = boot(3, 3, 3);

    wait_wired(s, 3);
    sim_crash(s, 2);
    sim_for(s, 20000);
    sim_vanish(s, 1); /* no peer sees its links close */
    sim_for(s, 20000);
    assert_non_null(loss_of(s, 2)->cause);
    assert_string_equal(loss_of(s, 2)->cause, "its link broke and was not restored in time");
    assert_non_null(loss_of(s, 1)->cause);
    assert_string_equal(loss_of(s, 1)->cause,
                        "it was silent, and its link was not restored in time");
    sim_destroy(s);
}

static void a_daemon_that_is_back_before_its_loss_was_seen_is_wired_at_once(void **state)
{
    struct sim *s = boot(2, 2, 2);

    wait_wired(s, 2);
    sim_vanish(s, 1); /* no peer sees its links close */
    sim_start(s, 1);
    sim_for(s, 500);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 2);
    assert_int_equal(core_state(sim_core(s, 1)), CORE_WIRED);
    sim_destroy(s);
}

/* --- removed while disconnected */

static bool is_parked(struct sim *s, void *arg)
{
    return sim_parked(s, *(uint32_t *)arg);
}

static void a_daemon_shrunk_while_cut_off_is_notified_and_parks(void **state)
{
    static const uint32_t radixes[] = {2, 64}; /* its parent is another member, or the head */

    for (size_t i = 0; i < 2; i++) {
        struct sim *s = boot(4, 4, radixes[i]);
        uint32_t four = 4;

        wait_wired(s, 4);
        sim_partition(s, 4, 1);
        sim_break(s, 4, 1);
        sim_break(s, 4, 0);
        (void)shrink(s, "c", &four, 1);
        sim_for(s, 12000); /* longer than the shrink waits for it */
        assert_int_equal(dvm_events(s, API_EVENT_CAMPAIGN_COMPLETE), 1);
        assert_false(sim_parked(s, 4));
        sim_heal(s);
        assert_true(sim_until(s, is_parked, &four, 6000));
        sim_for(s, 5000);
        assert_int_equal(core_state(sim_core(s, 4)), CORE_PARKED);
        assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
        assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 1);
        sim_destroy(s);
    }
}

static bool has_exited(struct sim *s, void *arg)
{
    return sim_exited(s, *(uint32_t *)arg);
}

static void the_children_of_a_daemon_shrunk_while_cut_off_ask_the_head_at_once(void **state)
{
    struct sim *s = boot(6, 6, 2);
    uint32_t one = 1;

    wait_wired(s, 6);
    core_sigterm(sim_core(s, 1)); /* leaves by a campaign of its own; 3 and 4 are its children */
    sim_drain(s, 1);
    sim_for(s, 20);
    sim_partition(s, 1, 1);
    sim_break(s, 1, 0);
    sim_for(s, 1000);
    sim_heal(s);
    assert_true(sim_until(s, has_exited, &one, 4000));
    sim_for(s, 500); /* less than the grace for a broken link */
    assert_int_equal(core_stats(sim_core(s, 3)).version, core_stats(sim_core(s, 0)).version);
    assert_int_equal(core_stats(sim_core(s, 4)).version, core_stats(sim_core(s, 0)).version);
    sim_for(s, 20000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 5);
    sim_destroy(s);
}

/* A new process has the parent's place, and is refused while a shrink that names it drains. */
static void the_children_of_a_new_process_that_is_not_wired_ask_the_head_at_once(void **state)
{
    static const uint32_t targets[] = {1, 2};
    struct api_campaign_request r = {.sequence = 1,
                                     .keeps_size = true,
                                     .deadline_s = -1,
                                     .ntargets = 2,
                                     .targets = (uint32_t *)targets};
    struct sim *s = boot(6, 6, 2);
    enum api_reason reason;
    struct api_campaign c;

    wait_wired(s, 6);
    (void)sim_submit(s, 0, 2, 1, 0);
    (void)sim_submit(s, 0, 2, 3000, 0); /* on vpid 2 */
    sim_for(s, 10);
    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    sim_crash(s, 1); /* 3 and 4 are its children */
    sim_start(s, 1);
    sim_for(s, 1000); /* less than the grace for a broken link */
    assert_int_equal(dvm_phase(s, "c"), API_PHASE_DRAINING);
    assert_int_equal(core_state(sim_core(s, 1)), CORE_JOINING);
    assert_int_equal(core_stats(sim_core(s, 3)).version, core_stats(sim_core(s, 0)).version);
    assert_int_equal(core_stats(sim_core(s, 4)).version, core_stats(sim_core(s, 0)).version);
    sim_for(s, 20000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    sim_destroy(s);
}

/* --- the backlog for a peer is bounded */

static struct sim *boot_narrow(void)
{
    struct sim *s = dvm_boot(
        &(struct dvm_shape){.members = 2, .started = 2, .slots = 2, .backlog_max = 64u << 10});

    wait_wired(s, 2);
    sim_for(s, 100);
    return s;
}

static void a_launch_for_which_there_is_no_room_fails_its_job_and_no_other(void **state)
{
    struct sim *s = boot_narrow();
    static const char block[1024];
    struct err err = {0};
    size_t first, second;
    unsigned n = 0;

    first = sim_submit(s, 0, 1, 1000, 0); /* runs on vpid 1 */
    sim_for(s, 100);
    sim_stop(s, 1, true);
    for (size_t len = sizeof(block); len; len = len == sizeof(block) ? 16 : 0) {
        while (core_app_send(sim_core(s, 0), 1, CLASS_LAUNCH, 1, block, len, &err) == 0)
            assert_true(++n < 100);
    }
    assert_non_null(strstr(err.msg, "wait for it already"));
    second = sim_submit(s, 0, 3, 0, 0);
    sim_for(s, 500); /* its ranks on vpid 2 have to end */
    assert_true(sim_job(s, second)->done);
    assert_int_equal(sim_job(s, second)->exit_code, 125);
    assert_non_null(strstr(sim_job(s, second)->text, "wait for it already"));
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    sim_stop(s, 1, false);
    sim_for(s, 20000);
    assert_true(sim_job(s, first)->done);
    assert_int_equal(sim_job(s, first)->exit_code, 0);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 2);
    sim_destroy(s);
}

static void signal_until_it_is_too_much(struct sim *s, uint32_t at, size_t job)
{
    sim_clock(s, at);
    for (unsigned i = 0; i < 3000; i++)
        core_client_signal(sim_core(s, at), (uint32_t)job, 10);
    sim_drain(s, at);
}

static void a_member_whose_backlog_is_too_large_is_declared_lost(void **state)
{
    struct sim *s = boot_narrow();
    size_t job = sim_submit(s, 0, 1, 60000, 0); /* runs on vpid 1 */

    sim_for(s, 100);
    sim_stop(s, 1, true);
    signal_until_it_is_too_much(s, 0, job);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    sim_for(s, 10);
    assert_int_equal(sim_job(s, job)->exit_code, 123);
    sim_stop(s, 1, false);
    wait_wired(s, 2);
    sim_destroy(s);
}

static void a_member_that_the_head_does_not_acknowledge_ends_its_epoch(void **state)
{
    struct sim *s = boot_narrow();
    size_t job = sim_submit(s, 2, 1, 60000, 0);

    sim_for(s, 100);
    sim_stop(s, 0, true);
    signal_until_it_is_too_much(s, 2, job);
    assert_int_equal(core_state(sim_core(s, 2)), CORE_JOINING);
    assert_int_equal(sim_job(s, job)->exit_code, 123);
    assert_non_null(strstr(sim_job(s, job)->text, "bytes wait for vpid 0"));
    sim_stop(s, 0, false);
    wait_wired(s, 2);
    sim_for(s, 3000);
    assert_int_equal(core_state(sim_core(s, 2)), CORE_WIRED);
    sim_destroy(s);
}

static void members_whose_head_does_not_come_back_end_their_ranks(void **state)
{
    struct sim *s = boot(6, 6, 2);

    wait_wired(s, 6); /* 3 to 6 are children of 1 and 2 */
    sim_submit(s, 0, 12, 1u << 30, 0);
    sim_for(s, 100);
    sim_crash(s, 0);
    sim_for(s, API_FAULTS_HEAD_ABSENCE_MS - 10000);
    assert_int_equal(sim_ranks(s, 1), 2); /* it may still come back, */
    sim_for(s, API_FAULTS_HEAD_ABSENCE_MS + 60000);
    for (uint32_t v = 1; v <= 6; v++)
        assert_int_equal(sim_ranks(s, v), 0);
    sim_start(s, 0);
    wait_wired(s, 6); /* and a new process of it finds all of them */
    sim_destroy(s);
}

static void what_a_daemon_has_counted_stays_when_it_joins_anew(void **state)
{
    struct sim *s = boot(4, 4, 2);
    uint32_t target = 4;
    struct epoch epoch;

    wait_wired(s, 4);
    (void)shrink(s, "c", &target, 1);
    assert_true(sim_until(s, dvm_complete, "c", 5000));
    epoch = core_inspect_epoch(sim_core(s, 1));
    assert_int_equal(core_stats(sim_core(s, 1)).repairs, 1);
    sim_crash(s, 0);
    sim_start(s, 0);
    wait_wired(s, 3);
    assert_false(epoch_eq(core_inspect_epoch(sim_core(s, 1)), epoch));
    assert_int_equal(core_stats(sim_core(s, 1)).repairs, 1);
    sim_destroy(s);
}

/* It calls again, and is refused with LEFT. */
static void a_shrink_of_a_daemon_whose_link_just_broke_does_not_wait_for_a_limit(void **state)
{
    struct sim *s = boot(4, 4, 2);
    uint32_t target = 4;

    wait_wired(s, 4);
    sim_break(s, 4, 1);
    shrink(s, "c", &target, 1);
    dvm_wait_complete(s, "c", 500);
    sim_for(s, 500);
    assert_true(sim_parked(s, 4));
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 1);
    sim_destroy(s);
}

static void count_app(void *arg, uint32_t vpid, const struct out_act *act)
{
    if (vpid == 7)
        *(unsigned *)arg += act->kind == OUT_APP;
}

/* A message of the head to 7, which is below it, is on its way meanwhile. */
static void check_subtree_of(uint32_t hung, uint64_t after_ms)
{
    struct sim *s = boot(14, 14, 2);
    uint32_t target = 14;
    unsigned got = 0;
    struct sim_hooks h = {.arg = &got, .action = count_app};

    wait_wired(s, 14);
    sim_for(s, after_ms);
    sim_watch(s, &h);
    sim_stop(s, hung, true);
    sim_clock(s, 0);
    assert_int_equal(core_app_send(sim_core(s, 0), 7, CLASS_CONTROL, 1, "x", 1, NULL), 0);
    sim_drain(s, 0);
    sim_for(s, API_FAULTS_SILENCE_MS + 1000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 13);
    assert_int_equal(got, 1);
    shrink(s, "c", &target, 1);
    dvm_wait_complete(s, "c", 500);
    sim_destroy(s);
}

/* Its children call the head when it falls silent, so its parent need not wait for it. A broadcast
 * that all members acknowledge shows that they have lifelines again. */
static void the_subtree_of_a_hung_daemon_is_repaired_within_a_second_after_the_silence(void **state)
{
    for (uint64_t ms = 0; ms < 5000; ms += 500) { /* anywhere between two probes */
        check_subtree_of(1, ms);                  /* its parent is the head */
        check_subtree_of(3, ms);
    }
}

/* Frames of 1 to the head are those of a daemon of the former edition. */
static void speak_as_former(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data,
                            size_t len)
{
    struct cur c = cur_of(data, len);
    struct frame f;

    if (vpid == 0 && frame_decode(&c, &f, NULL) == 0 && f.src == 1)
        memset((uint8_t *)data + FRAME_SPEAKS_AT, 0, 1);
}

static void note_orphaned(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct cur c = frame_of(act);
    struct frame f;

    if (vpid == 0 && frame_decode(&c, &f, NULL) == 0)
        *(bool *)arg |= f.type == MSG_ORPHANED;
}

static void a_parent_of_the_former_edition_is_not_notified_of_orphans(void **state)
{
    bool notified = false;
    struct sim_hooks h = {.arg = &notified, .frame = speak_as_former, .action = note_orphaned};
    struct sim *s = dvm_boot(
        &(struct dvm_shape){.members = 14, .started = 14, .radix = 2, .slots = 2, .hooks = &h});

    wait_wired(s, 14);
    sim_stop(s, 3, true);
    sim_for(s, API_FAULTS_SILENCE_MS + 2000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 14);
    sim_for(s, API_FAULTS_LINK_GRACE_MS);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 13);
    assert_false(notified);
    sim_destroy(s);
}

static void a_daemon_without_children_has_the_grace_after_the_silence(void **state)
{
    struct sim *s = boot(6, 6, 2);

    wait_wired(s, 6);
    sim_stop(s, 3, true);
    sim_for(s, API_FAULTS_SILENCE_MS + API_FAULTS_LINK_GRACE_MS - 500);
    sim_stop(s, 3, false);
    sim_for(s, 2 * API_FAULTS_LINK_GRACE_MS);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    sim_destroy(s);
}

/* Its parent hears from it, so what its child says has no effect. */
static void c24_a_daemon_is_not_lost_because_its_child_has_no_link_to_it(void **state)
{
    struct sim *s = boot(14, 14, 2);
    struct msg m = {.type = MSG_ORPHANED};

    wait_wired(s, 14);
    m.orphaned.who = (struct msg_target){3, core_inspect_epoch(sim_core(s, 3))};
    sim_clock(s, 0);
    assert_int_equal(core_inspect_send(sim_core(s, 0), 1, CLASS_CONTROL, &m), 0);
    sim_drain(s, 0);
    sim_for(s, 20); /* before another frame of 3 */
    sim_partition(s, 3, 1);
    sim_break(s, 1, 3);
    sim_for(s, API_FAULTS_LINK_GRACE_MS - 1000);
    sim_heal(s);
    sim_for(s, 20000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    sim_destroy(s);
}

/* The head removes 4 while 4 is cut off; then 4 is stopped for longer than the absence. */
static void stop_while_cut_off(uint64_t after_ms)
{
    struct sim *s = boot(4, 4, 2);
    uint32_t target = 4;

    wait_wired(s, 4);
    sim_break(s, 4, 1);
    sim_partition(s, 4, 1);
    sim_for(s, 100);
    shrink(s, "c", &target, 1);
    sim_for(s, after_ms);
    sim_stop(s, 4, true);
    sim_for(s, API_FAULTS_HEAD_ABSENCE_MS + 30000);
    sim_heal(s);
    sim_stop(s, 4, false);
    sim_for(s, 2 * API_FAULTS_LINK_GRACE_MS);
    assert_true(sim_parked(s, 4));
    assert_int_equal(dvm_phase(s, "c"), API_PHASE_COMPLETE);
    sim_destroy(s);
}

static void a_daemon_that_was_stopped_does_not_count_that_time_as_the_head_s_absence(void **state)
{
    for (uint64_t ms = 0; ms < 25000; ms += 100) /* during calls and in the pauses between them */
        stop_while_cut_off(ms);
}

static void a_daemon_that_is_cut_off_and_runs_counts_the_head_s_absence(void **state)
{
    struct sim *s = boot(4, 4, 2);

    wait_wired(s, 4);
    sim_break(s, 4, 1);
    sim_partition(s, 4, 1);
    sim_for(s, API_FAULTS_HEAD_ABSENCE_MS - 1000);
    assert_int_equal(core_state(sim_core(s, 4)), CORE_WIRED);
    sim_for(s, 10000); /* and steps that were some ms late, and the pause before the next attempt */
    assert_int_equal(core_state(sim_core(s, 4)), CORE_JOINING);
    sim_destroy(s);
}

/* For sim_until(): the head has exited. Until then its table has at most that version. */
static bool head_exited(struct sim *s, void *arg)
{
    if (sim_core(s, 0))
        assert_in_range(core_stats(sim_core(s, 0)).version, 0, *(uint64_t *)arg);
    return sim_exited(s, 0);
}

static void no_shrink_begins_after_the_broadcast_that_ends_the_dvm(void **state)
{
    struct sim *s = boot(4, 4, 2);
    const uint32_t targets[] = {3, 4};
    uint64_t last;

    wait_wired(s, 4);
    (void)shrink(s, "first", targets + 1, 1);
    (void)shrink(s, "second", targets, 2);
    assert_int_equal(dvm_phase(s, "second"), API_PHASE_DRAINING); /* until the first ends */
    last = core_stats(sim_core(s, 0)).version + 1;
    sim_clock(s, 0);
    core_sigterm(sim_core(s, 0));
    sim_drain(s, 0);
    assert_true(sim_until(s, head_exited, &last, 30000));
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_daemon_that_was_stopped_does_not_count_that_time_as_the_head_s_absence),
        cmocka_unit_test(a_shrink_of_a_daemon_whose_link_just_broke_does_not_wait_for_a_limit),
        cmocka_unit_test(
            the_subtree_of_a_hung_daemon_is_repaired_within_a_second_after_the_silence),
        cmocka_unit_test(a_parent_of_the_former_edition_is_not_notified_of_orphans),
        cmocka_unit_test(a_daemon_without_children_has_the_grace_after_the_silence),
        cmocka_unit_test(c24_a_daemon_is_not_lost_because_its_child_has_no_link_to_it),
        cmocka_unit_test(a_daemon_that_is_cut_off_and_runs_counts_the_head_s_absence),
        cmocka_unit_test(a_shrink_refuses_a_caller_that_is_not_in_the_tree),
        cmocka_unit_test(a_daemon_wired_while_a_shrink_drains_it_takes_no_work),
        cmocka_unit_test(a_daemon_that_cannot_reach_its_new_parent_at_first_tries_again),
        cmocka_unit_test(a_daemon_whose_link_breaks_again_and_again_is_not_lost),
        cmocka_unit_test(only_the_parent_s_report_makes_a_daemon_lost),
        cmocka_unit_test(a_daemon_that_was_cut_off_itself_declares_no_peer_lost),
        cmocka_unit_test(no_message_is_sent_on_a_link_after_bye),
        cmocka_unit_test(a_late_call_of_an_ended_process_does_not_end_its_successor),
        cmocka_unit_test(c22_the_event_of_a_loss_names_its_cause),
        cmocka_unit_test(a_daemon_that_is_back_before_its_loss_was_seen_is_wired_at_once),
        cmocka_unit_test(a_daemon_shrunk_while_cut_off_is_notified_and_parks),
        cmocka_unit_test(a_launch_for_which_there_is_no_room_fails_its_job_and_no_other),
        cmocka_unit_test(a_member_whose_backlog_is_too_large_is_declared_lost),
        cmocka_unit_test(a_member_that_the_head_does_not_acknowledge_ends_its_epoch),
        cmocka_unit_test(members_whose_head_does_not_come_back_end_their_ranks),
        cmocka_unit_test(what_a_daemon_has_counted_stays_when_it_joins_anew),
        cmocka_unit_test(the_children_of_a_daemon_shrunk_while_cut_off_ask_the_head_at_once),
        cmocka_unit_test(the_children_of_a_new_process_that_is_not_wired_ask_the_head_at_once),
        cmocka_unit_test(no_shrink_begins_after_the_broadcast_that_ends_the_dvm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
