/* SPDX-License-Identifier: BSD-3-Clause */
/* Daemons that a shrink removes: the command reaches them, and the head hears that they have left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/exit_code.h"
#include "dvm/protocol/wire/msg/msg.h"

#include <string.h>

#define MEMBERS 6      /* below the head: 1 and 2; below 1: 3 and 4; below 2: 5 and 6 */
#define SOON_MS 1000   /* much less than the time after which a target counts as silent */
#define LIMIT_MS 10000 /* for a link that is not closed */

static unsigned commands[MEMBERS + 1]; /* REMOVE messages that a daemon has got */
static uint64_t link_2_6;              /* the connection of vpid 6 at vpid 2 */

static void on_frame(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct cur c = cur_of(data, len);
    struct frame f;

    if (vpid > MEMBERS || frame_decode(&c, &f, NULL) < 0)
        return;
    commands[vpid] += f.type == MSG_REMOVE;
    if (vpid == 2 && f.src == 6)
        link_2_6 = conn;
}

static struct sim *boot(void)
{
    static const struct sim_hooks hooks = {.frame = on_frame};
    struct sim *s = dvm_boot(
        &(struct dvm_shape){.members = MEMBERS, .started = MEMBERS, .slots = 1, .hooks = &hooks});

    dvm_wait_wired(s, MEMBERS, 4000);
    sim_for(s, 100);
    memset(commands, 0, sizeof(commands));
    return s;
}

static void shrink(struct sim *s, const char *id, uint64_t sequence, uint32_t *targets, size_t n)
{
    struct api_campaign_request r = {.sequence = sequence,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .keeps_size = true,
                                     .deadline_s = -1,
                                     .ntargets = n,
                                     .targets = targets};

    dvm_put_campaign(s, id, &r);
}

/* Also a target whose parent is one. */
static void c6_each_target_of_a_shrink_gets_the_command_once(void **state)
{
    uint32_t targets[] = {1, 3, 5};
    struct sim *s = boot();

    shrink(s, "c", 1, targets, 3);
    dvm_wait_complete(s, "c", SOON_MS);
    sim_for(s, SOON_MS);
    for (size_t i = 0; i < 3; i++) {
        assert_true(sim_parked(s, targets[i]));
        assert_int_equal(commands[targets[i]], 1);
    }
    sim_destroy(s);
}

/* Vpid 1 reports that its child 3 has left. The head hangs, and reads the report only after it has
 * removed vpid 1: it refuses the report then. */
static void c6_a_departure_is_known_although_its_reporter_is_removed_meanwhile(void **state)
{
    uint32_t child = 3, parent = 1;

    for (uint64_t at = 0; at < 20; at++) {
        struct sim *s = boot();

        sim_stop(s, child, true); /* the others acknowledge the first removal before it leaves */
        shrink(s, "child", 1, &child, 1);
        sim_for(s, 100);
        sim_stop(s, child, false);
        sim_for(s, at);
        sim_stop(s, VPID_HEAD, true);
        sim_for(s, 100);
        sim_stop(s, VPID_HEAD, false);
        shrink(s, "parent", 2, &parent, 1);
        dvm_wait_complete(s, "child", SOON_MS);
        dvm_wait_complete(s, "parent", SOON_MS);
        sim_destroy(s);
    }
}

/* The parent of a daemon that has left and joined again repeats its report of the departure, while
 * a job keeps the next shrink waiting. */
static void c6_a_late_report_about_an_earlier_epoch_of_a_target_does_not_count(void **state)
{
    uint32_t target = 3;
    struct sim *s = boot();
    struct msg gone = {.type = MSG_GONE, .gone = {.link_closed = true}};

    gone.gone.who = (struct msg_target){target, core_inspect_epoch(sim_core(s, target))};
    shrink(s, "first", 1, &target, 1);
    dvm_wait_complete(s, "first", SOON_MS);
    sim_crash(s, target);
    sim_start(s, target);
    dvm_wait_wired(s, MEMBERS, 4000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 1);
    sim_submit(s, 0, MEMBERS, 60000, 0);
    sim_for(s, 500);
    shrink(s, "second", 2, &target, 1);
    sim_clock(s, 1);
    assert_int_equal(core_inspect_send(sim_core(s, 1), VPID_HEAD, CLASS_CONTROL, &gone), 0);
    sim_drain(s, 1);
    sim_for(s, 500);
    assert_int_equal(dvm_phase(s, "second"), API_PHASE_DRAINING);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 1);
    dvm_wait_complete(s, "second", 61000);
    sim_for(s, SOON_MS);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 2);
    sim_destroy(s);
}

/* The link breaks at any moment near the command: before the command has come, while LEFT is under
 * way, or before its answer has come. The target calls again and learns that it was removed. */
static void c6_a_target_whose_link_breaks_is_out_at_once_and_parks_when_it_calls(void **state)
{
    for (uint64_t at = 0; at < 20; at++) {
        uint32_t target = 6;
        struct sim *s = boot();

        if (at == 0)
            sim_break(s, 2, target);
        shrink(s, "c", 1, &target, 1);
        sim_for(s, at);
        if (at > 0)
            sim_break(s, 2, target);
        dvm_wait_complete(s, "c", SOON_MS);
        sim_for(s, SOON_MS);
        assert_true(sim_parked(s, target));
        assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 1);
        sim_destroy(s);
    }
}

static void job_of_another_starts_soon(struct sim *s)
{
    const struct sim_want want = {.ranks = 1, .run_ms = 1, .nhosts = 1, .hosts = {3}};
    size_t job = sim_submit_job(s, 3, &want);

    assert_true(sim_until(s, dvm_job_over, &job, SOON_MS));
    assert_int_equal(sim_job(s, job)->exit_code, 0);
}

/* It is below the head or below a member, and ends up to 5 s before the command, while this is
 * under way, or before LEFT has come. */
static void c6_a_target_that_is_killed_holds_up_nobody(void **state)
{
    static const int64_t before_ms[] = {5000, 1000, 10, 3, 1, 0, -1, -2, -3, -4, -5, -6, -7, -9};
    static const uint32_t targets[] = {2, 6};

    for (size_t i = 0; i < 2 * sizeof(before_ms) / sizeof(*before_ms); i++) {
        int64_t before = before_ms[i / 2];
        uint32_t target = targets[i % 2];
        struct sim *s = boot();

        if (before >= 0) {
            sim_crash(s, target);
            sim_for(s, (uint64_t)before);
        }
        shrink(s, "c", 1, &target, 1);
        if (before < 0) {
            sim_for(s, (uint64_t)-before);
            sim_crash(s, target);
        }
        job_of_another_starts_soon(s);
        dvm_wait_complete(s, "c", SOON_MS);
        assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 1);
        sim_destroy(s);
    }
}

/* Its parent leaves too, and reports it before it goes. */
static void c6_a_target_that_is_killed_below_a_target_holds_up_nobody(void **state)
{
    uint32_t targets[] = {2, 6};

    for (uint64_t before = 0; before < 20; before++) {
        struct sim *s = boot();

        sim_crash(s, 6);
        sim_for(s, before);
        shrink(s, "c", 1, targets, 2);
        job_of_another_starts_soon(s);
        dvm_wait_complete(s, "c", SOON_MS);
        sim_destroy(s);
    }
}

static void ping_from_vpid_6(struct sim *s)
{
    struct frame f = {
        .type = MSG_PING, .src = 6, .dst = 2, .src_epoch = core_inspect_epoch(sim_core(s, 6))};
    struct msg ping = {.type = MSG_PING};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, MSG_DATA_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, &ping);
    sim_clock(s, 2);
    core_conn_frame(sim_core(s, 2), link_2_6, b.data, b.len);
    sim_drain(s, 2);
}

/* Vpid 6 hangs, but its link to vpid 2 is not silent. */
static struct sim *shrink_beside_hung(uint32_t target)
{
    struct sim *s = boot();

    sim_stop(s, 6, true);
    shrink(s, "c", 1, &target, 1);
    sim_for(s, 100);
    return s;
}

static void ping_until_just_before(struct sim *s, uint64_t limit_ms)
{
    uint64_t since = sim_now(s);

    while (sim_now(s) < since + limit_ms - SOON_MS) {
        ping_from_vpid_6(s);
        sim_for(s, 500);
    }
}

static void a_daemon_that_leaves_waits_for_a_link_that_is_not_closed_with_a_limit(void **state)
{
    struct sim *s = shrink_beside_hung(2);

    ping_until_just_before(s, LIMIT_MS);
    assert_int_equal(core_state(sim_core(s, 2)), CORE_LEAVING);
    ping_from_vpid_6(s);
    sim_for(s, SOON_MS);
    assert_true(sim_parked(s, 2));
    sim_destroy(s);
}

static void a_child_that_is_removed_and_does_not_leave_is_cut_off_after_a_limit(void **state)
{
    struct sim *s = shrink_beside_hung(6);

    ping_until_just_before(s, LIMIT_MS);
    assert_true(core_inspect_up(sim_core(s, 2), link_2_6));
    ping_from_vpid_6(s);
    sim_for(s, SOON_MS);
    assert_false(core_inspect_up(sim_core(s, 2), link_2_6));
    assert_true(dvm_complete(s, "c"));
    sim_destroy(s);
}

/* Its jobs are ended at once. Without a limit they would be waited for. */
static void a_daemon_that_asks_to_leave_with_no_time_leaves_at_once(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 3, .started = 3, .slots = 1});
    struct msg ask = {.type = MSG_RELEASE_ME, .release_me = {.deadline_s = 0, .kill = false}};
    const struct sim_want want = {.ranks = 1, .run_ms = 100000, .nhosts = 1, .hosts = {3}};
    size_t job;

    dvm_wait_wired(s, 3, 4000);
    job = sim_submit_job(s, 1, &want);
    sim_for(s, 100);
    assert_int_equal(sim_ranks(s, 3), 1);
    sim_clock(s, 3);
    assert_int_equal(core_inspect_send(sim_core(s, 3), VPID_HEAD, CLASS_CONTROL, &ask), 0);
    sim_drain(s, 3);
    sim_for(s, 20000);
    assert_true(sim_parked(s, 3));
    assert_int_equal(sim_job(s, job)->exit_code, EXIT_CODE_CANCELLED);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c6_each_target_of_a_shrink_gets_the_command_once),
        cmocka_unit_test(c6_a_departure_is_known_although_its_reporter_is_removed_meanwhile),
        cmocka_unit_test(c6_a_late_report_about_an_earlier_epoch_of_a_target_does_not_count),
        cmocka_unit_test(c6_a_target_whose_link_breaks_is_out_at_once_and_parks_when_it_calls),
        cmocka_unit_test(c6_a_target_that_is_killed_holds_up_nobody),
        cmocka_unit_test(c6_a_target_that_is_killed_below_a_target_holds_up_nobody),
        cmocka_unit_test(a_daemon_that_leaves_waits_for_a_link_that_is_not_closed_with_a_limit),
        cmocka_unit_test(a_child_that_is_removed_and_does_not_leave_is_cut_off_after_a_limit),
        cmocka_unit_test(a_daemon_that_asks_to_leave_with_no_time_leaves_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
