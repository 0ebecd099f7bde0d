/* SPDX-License-Identifier: BSD-3-Clause */
/* A member that lies hurts nobody else: it sends reports about other daemons and other jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/local_private.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/msg/msg.h"
#include "dvm/sim/lie.h"

#include <utlist.h>

/* Vpids 1 and 2 below the head, 3 and 4 below vpid 1. */
static struct sim *four_members(void)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 1});

    dvm_wait_wired(s, 4, 5000);
    return s;
}

static struct msg_target target_of(struct sim *s, uint32_t vpid)
{
    return (struct msg_target){vpid, core_inspect_epoch(sim_core(s, vpid))};
}

static void send_as_member(struct sim *s, uint32_t liar, uint32_t to, const struct msg *m)
{
    sim_clock(s, liar);
    (void)core_inspect_send(sim_core(s, liar), to, CLASS_CONTROL, m);
    sim_drain(s, liar);
    sim_for(s, 100);
}

static void put_shrink(struct sim *s, uint32_t vpid)
{
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .ntargets = 1,
                                     .targets = &vpid};
    enum api_reason reason;
    struct api_campaign c;

    sim_clock(s, 0);
    assert_int_equal(core_campaign_put(sim_core(s, 0), "c", &r, &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(s, 0);
    sim_for(s, 100);
}

static void c25_a_member_cannot_report_that_another_member_has_left(void **state)
{
    struct sim *s = four_members();
    struct msg gone = {.type = MSG_GONE, .gone = {target_of(s, 4), true}};

    sim_stop(s, 4, true); /* it will not leave before it goes on */
    put_shrink(s, 4);
    send_as_member(s, 2, 0, &gone);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 0);
    send_as_member(s, 3, 0, &gone);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 0);
    sim_stop(s, 4, false);
    dvm_wait_complete(s, "c", 5000);
    sim_for(s, 1000);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 1);
    sim_destroy(s);
}

static void c25_a_member_cannot_report_the_loss_of_another_member(void **state)
{
    struct sim *s = four_members();
    struct msg lost = {.type = MSG_LOST, .lost = {target_of(s, 4), "it lies"}};

    send_as_member(s, 2, 0, &lost);
    send_as_member(s, 3, 0, &lost);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    sim_destroy(s);
}

/* It reports the job as one that it runs itself. */
static void c25_a_member_cannot_end_a_job_of_others_by_reporting_another_map(void **state)
{
    const struct sim_want want = {.ranks = 1, .run_ms = 2000, .nhosts = 1, .hosts = {1}};
    struct sim *s = four_members();
    size_t job = sim_submit_job(s, 2, &want);
    struct job_node node = {.vpid = 4, .epoch = target_of(s, 4).epoch.ctr, .host = "node4"};
    struct msg report = {.type = MSG_LOCAL_JOB};

    sim_for(s, 500);
    assert_int_equal(sim_ranks(s, 1), 1);
    report.local_job.map = *local_find_any(sim_core(s, 1), sim_job(s, job)->nspace)->launch;
    report.local_job.map.nodes = &node;
    send_as_member(s, 4, VPID_HEAD, &report);
    dvm_wait_job(s, job, 0);
    sim_destroy(s);
}

/* --- calls in the name of another member, whose key the caller lacks */

static void call_as(struct sim *s, uint32_t to, uint32_t who, bool anew)
{
    assert_true(lie_call(s, 2, to, who, anew));
    sim_for(s, 1000);
}

static uint64_t forged_at(struct sim *s, uint32_t vpid)
{
    return core_stats(sim_core(s, vpid)).forged_frames;
}

static void c25_a_member_cannot_call_the_head_as_a_new_process_of_another_vpid(void **state)
{
    struct sim *s = four_members();
    struct epoch one = target_of(s, 1).epoch, three = target_of(s, 3).epoch;

    call_as(s, VPID_HEAD, 1, true);
    call_as(s, VPID_HEAD, 3, true);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    assert_true(epoch_eq(target_of(s, 1).epoch, one) && epoch_eq(target_of(s, 3).epoch, three));
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    sim_destroy(s);
}

/* Vpid 4 waits for vpid 5, which its campaign wants too. */
static struct sim *let_join(void)
{
    uint32_t wanted[] = {4, 5};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = 60, .ntargets = 2, .targets = wanted};
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 3, .started = 3, .more = 2});

    dvm_wait_wired(s, 3, 5000);
    dvm_put_campaign(s, "g", &r);
    sim_start(s, 4);
    sim_for(s, 1000);
    return s;
}

static void c25_a_member_cannot_take_the_vpid_of_a_joiner(void **state)
{
    struct sim *s = let_join();
    struct epoch before = target_of(s, 4).epoch;

    assert_false(epoch_none(before));
    call_as(s, VPID_HEAD, 4, true);
    sim_start(s, 5);
    dvm_wait_complete(s, "g", 10000);
    assert_true(epoch_eq(target_of(s, 4).epoch, before));
    sim_destroy(s);
}

static void c25_a_member_cannot_call_in_the_epoch_of_another_one(void **state)
{
    struct sim *s = four_members();

    call_as(s, VPID_HEAD, 1, false); /* a child of the head */
    assert_int_equal(forged_at(s, VPID_HEAD), 1);
    call_as(s, VPID_HEAD, 3, false);
    assert_int_equal(forged_at(s, VPID_HEAD), 2);
    call_as(s, 1, 3, false); /* its parent has the key from ADD */
    assert_int_equal(forged_at(s, 1), 1);
    call_as(s, 3, 4, false); /* it has joined before, or got the key with SNAPSHOT */
    assert_int_equal(forged_at(s, 3), 1);
    call_as(s, 4, 3, false);
    assert_int_equal(forged_at(s, 4), 1);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    sim_destroy(s);
}

static void c25_a_member_cannot_confirm_by_a_call_that_another_one_has_left(void **state)
{
    struct sim *s = four_members();

    sim_stop(s, 4, true);
    put_shrink(s, 4);
    call_as(s, VPID_HEAD, 4, false);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_DEPARTED), 0);
    sim_stop(s, 4, false);
    dvm_wait_complete(s, "c", 5000);
    sim_destroy(s);
}

static void c25_the_next_head_knows_the_keys_that_the_former_one_has_seen(void **state)
{
    struct sim *s =
        dvm_boot(&(struct dvm_shape){.members = 3, .started = 3, .slots = 1, .disk = true});
    uint32_t last = 3;

    dvm_wait_wired(s, 3, 5000);
    for (int i = 0; i < 2; i++) { /* from records, then from their snapshot */
        dvm_replace_head(s);
        assert_true(sim_until(s, dvm_head_known, &last, 20000));
        call_as(s, VPID_HEAD, 1, false);
        call_as(s, VPID_HEAD, 3, true);
        assert_int_equal(forged_at(s, VPID_HEAD), 1);
        assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 3);
    }
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 0);
    sim_destroy(s);
}

static const struct asking_caller *caller_of(struct sim *s, uint32_t vpid)
{
    const struct asking_caller *x;

    DL_FOREACH(sim_core(s, VPID_HEAD)->asking.callers, x)
    {
        if (x->vpid == vpid && x->answered)
            return x;
    }
    return NULL;
}

/* A caller with that certificate asks the head to admit it as vpid 4; returns its epoch. */
static struct epoch call_with_role(struct sim *s, uint64_t conn, unsigned role)
{
    struct msg_member who = {4, {0, 0}, "host", "wire", 1, 1, 0, {0}, {0}};
    struct msg m = {.type = MSG_HELLO,
                    .hello = {.why = HELLO_JOIN, .cluster = "sim", .self = who, .alone = true}};
    struct frame f = {.type = MSG_HELLO, .src = 4, .dst = VPID_NONE, .speaks = WIRE_EDITION};
    const struct members *t = core_inspect_members(sim_core(s, VPID_HEAD));
    BUF_AUTO struct buf b = {0};

    buf_init(&b, MSG_TEXT_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, &m);
    sim_clock(s, VPID_HEAD);
    core_conn_open(sim_core(s, VPID_HEAD), conn,
                   &(struct core_conn){.incoming = true, .role = role, .cluster = "sim"});
    core_conn_frame(sim_core(s, VPID_HEAD), conn, b.data, b.len);
    sim_drain(s, VPID_HEAD);
    return members_get(t, 4) ? members_epoch(t, members_get(t, 4)) : (struct epoch){0, 0};
}

static void c25_a_head_s_certificate_does_not_join_as_a_member(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 3});

    dvm_wait_wired(s, 3, 5000);
    assert_true(epoch_none(call_with_role(s, 1u << 20, API_ROLE_HEAD)));
    assert_true(epoch_none(call_with_role(s, (1u << 20) + 1, API_ROLE_OPERATOR)));
    assert_false(epoch_none(call_with_role(s, (1u << 20) + 2, API_ROLE_MEMBER)));
    sim_destroy(s);
}

static bool has_called(struct sim *s, void *arg)
{
    return caller_of(s, *(uint32_t *)arg) != NULL;
}

/* The new head waits for vpid 2, which keeps records too, while vpid 4 calls as vpid 3. */
static void c25_a_member_cannot_end_the_call_of_another_one_to_a_head_that_asks(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = 4, .started = 4, .slots = 1, .radix = 3, .disk = true, .keepers = true});
    uint32_t vpid = 3;
    uint64_t conn;

    dvm_wait_wired(s, 4, 5000);
    sim_stop(s, 2, true);
    sim_crash(s, VPID_HEAD);
    sim_start(s, VPID_HEAD);
    assert_true(sim_until(s, has_called, &vpid, 5000));
    conn = caller_of(s, 3)->conn;
    assert_true(lie_call(s, 4, VPID_HEAD, 3, false));
    sim_for(s, 100);
    assert_true(sim_core(s, VPID_HEAD)->asking.on);
    assert_non_null(caller_of(s, 3));
    assert_true(caller_of(s, 3)->conn == conn);
    assert_int_equal(sim_core(s, VPID_HEAD)->asking.nseen, 3); /* vpid 1, and two keys of vpid 3 */
    sim_destroy(s);
}

static size_t count_calls(struct sim *s, uint32_t vpid)
{
    const struct asking_caller *x;
    size_t n = 0;

    DL_FOREACH(sim_core(s, VPID_HEAD)->asking.callers, x)
    {
        n += x->vpid == vpid;
    }
    return n;
}

/* Two daemons of the first size have called, one of them twice, with two keys. */
static void a_vpid_that_calls_with_two_keys_counts_once_at_a_head_that_asks(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 2, .disk = true, .keepers = true});

    (void)call_with_role(s, 1u << 20, API_ROLE_MEMBER);
    sim_core(s, VPID_HEAD)->asking.callers->key.low = 7;
    (void)call_with_role(s, (1u << 20) + 1, API_ROLE_MEMBER);
    assert_int_equal(count_calls(s, 4), 2);
    sim_for(s, 1000);
    assert_true(sim_core(s, VPID_HEAD)->asking.on);
    sim_destroy(s);
}

/* It calls the head, and a daemon with that role answers. True: it is greeted. */
static bool is_greeted(enum api_role role)
{
    struct core_opts o = {.vpid = 1,
                          .cluster = "sim",
                          .host = "n",
                          .address = "a",
                          .head_host = "h",
                          .head_port = 1,
                          .slots = 1,
                          .radix = 2};
    struct core *c = core_create(&o, 1000, 1000);
    struct out_act act;
    bool sent = false;
    uint64_t conn = 0;

    core_tick(c);
    while (core_next(c, &act)) {
        if (act.kind == OUT_CONNECT)
            conn = act.connect.conn;
        out_act_free(&act);
    }
    assert_true(conn);
    core_conn_open(c, conn, &(struct core_conn){.role = role, .cluster = "sim"});
    while (core_next(c, &act)) {
        sent |= act.kind == OUT_SEND;
        out_act_free(&act);
    }
    core_destroy(c);
    return sent;
}

static void c25_a_member_that_is_called_as_the_head_is_not_greeted(void **state)
{
    assert_false(is_greeted(API_ROLE_MEMBER));
    assert_true(is_greeted(API_ROLE_HEAD));
}

/* A member without a key, which could not read them, comes between the two: here it only loses
 * its key in the head's table. */
static void an_add_has_no_keys_if_a_member_without_one_is_there_when_it_starts(void **state)
{
    for (int loses = 0; loses < 2; loses++) {
        struct sim *s = let_join();

        if (loses)
            members_set_key(&sim_core(s, VPID_HEAD)->members, 2, (struct key_id){0, 0});
        sim_start(s, 5);
        dvm_wait_complete(s, "g", 10000);
        assert_int_equal(key_id_none(members_key(core_inspect_members(sim_core(s, 1)), 4)), loses);
        sim_destroy(s);
    }
}

/* The second process of a vpid has the key of the first one, the third one has another
 * (dvm/sim/wire.c). */
static void restart_member(struct sim *s, uint32_t vpid)
{
    sim_crash(s, vpid);
    sim_start(s, vpid);
}

static void a_new_process_with_the_key_ends_the_epoch_of_the_old_one_at_once(void **state)
{
    struct sim *s = four_members();

    restart_member(s, 4);
    sim_for(s, API_FAULTS_LINK_GRACE_MS / 2);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    sim_destroy(s);
}

static void a_new_process_without_the_key_is_admitted_when_the_old_one_is_lost(void **state)
{
    struct sim *s = four_members();

    restart_member(s, 4);
    sim_for(s, API_FAULTS_LINK_GRACE_MS / 2);
    restart_member(s, 4);
    sim_for(s, API_FAULTS_LINK_GRACE_MS - 500);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 1);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4); /* the old one, as far as the head knows */
    sim_for(s, DVM_LOSS_MS + 4000 - API_FAULTS_LINK_GRACE_MS);
    assert_int_equal(dvm_events(s, API_EVENT_DAEMON_LOST), 2);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), 4);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c25_a_member_cannot_report_that_another_member_has_left),
        cmocka_unit_test(c25_a_member_cannot_report_the_loss_of_another_member),
        cmocka_unit_test(c25_a_member_cannot_end_a_job_of_others_by_reporting_another_map),
        cmocka_unit_test(c25_a_member_cannot_call_the_head_as_a_new_process_of_another_vpid),
        cmocka_unit_test(c25_a_member_cannot_take_the_vpid_of_a_joiner),
        cmocka_unit_test(c25_a_member_cannot_call_in_the_epoch_of_another_one),
        cmocka_unit_test(c25_a_member_cannot_confirm_by_a_call_that_another_one_has_left),
        cmocka_unit_test(c25_the_next_head_knows_the_keys_that_the_former_one_has_seen),
        cmocka_unit_test(c25_a_head_s_certificate_does_not_join_as_a_member),
        cmocka_unit_test(c25_a_member_cannot_end_the_call_of_another_one_to_a_head_that_asks),
        cmocka_unit_test(a_vpid_that_calls_with_two_keys_counts_once_at_a_head_that_asks),
        cmocka_unit_test(c25_a_member_that_is_called_as_the_head_is_not_greeted),
        cmocka_unit_test(an_add_has_no_keys_if_a_member_without_one_is_there_when_it_starts),
        cmocka_unit_test(a_new_process_with_the_key_ends_the_epoch_of_the_old_one_at_once),
        cmocka_unit_test(a_new_process_without_the_key_is_admitted_when_the_old_one_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
