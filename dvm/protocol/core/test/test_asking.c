/* SPDX-License-Identifier: BSD-3-Clause */
/* A new head with keepers asks the members that call it: whose records it takes, how long it
 * waits, and what becomes of members that have seen more. */
#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/keepers.h"
#include "dvm/protocol/wire/exit_code.h"

#include <utlist.h>

/* One keeper was left behind, and both are there when the new head asks. */
static void c21_the_keeper_that_has_all_records_is_chosen(void **state)
{
    for (uint32_t behind = 1; behind <= 2; behind++) {
        struct sim *s = boot_shape(MEMBERS, 8);
        size_t job;

        sim_stop(s, behind, true);
        sim_submit(s, 4, 1, 1000, 0);
        sim_for(s, 2500);
        job = sim_submit(s, 4, 2, 1000, 5);
        sim_for(s, 100);
        assert_true(sim_job(s, job)->accepted);
        sim_crash(s, 0);
        sim_stop(s, behind, false);
        sim_for(s, DVM_AWAY_MS);
        sim_start(s, 0);
        dvm_wait_job(s, job, 5);
        sim_destroy(s);
    }
}

/* The head and its good keepers end; the other one was left behind before a member came anew. */
static void refuse_old_records(uint64_t clock_ms)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = MEMBERS,
                                                 .started = MEMBERS,
                                                 .radix = 8,
                                                 .slots = 2,
                                                 .clock_ms = clock_ms,
                                                 .keepers = true});
    struct epoch before;

    dvm_wait_wired(s, MEMBERS, 20000);
    sim_for(s, 100);
    before = core_inspect_epoch(sim_core(s, 0));
    sim_stop(s, 2, true);
    sim_submit(s, 3, 1, 10, 0);
    sim_for(s, 1500);
    assert_int_equal(core_stats(sim_core(s, 0)).left_behind, 1);
    sim_crash(s, 6);
    sim_start(s, 6);
    sim_for(s, 2000);
    sim_crash(s, 1);
    sim_crash(s, 3);
    sim_crash(s, 4); /* no majority is left */
    sim_crash(s, 0);
    sim_stop(s, 2, false);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc != before.inc);
    dvm_wait_wired(s, MEMBERS - 3, 60000);
    sim_destroy(s);
}

static void c21_records_that_a_member_is_ahead_of_are_not_taken(void **state)
{
    refuse_old_records(0);
}

/* The keeper that was cut off has older records, in which the incarnation goes on. */
static void c21_an_incarnation_that_ends_does_not_go_on_with_older_records(void **state)
{
    const struct api_shutdown end = {.deadline_s = 60};
    struct sim *s = boot_shape(MEMBERS, 8);
    struct epoch before = core_inspect_epoch(sim_core(s, 0));
    enum api_reason reason;

    sim_submit(s, 3, 1, 30000, 0);
    sim_for(s, 500);
    cut_off(s, 1);
    sim_clock(s, 0);
    assert_int_equal(core_shutdown(sim_core(s, 0), &end, &reason, NULL), 0);
    sim_for(s, 2000);
    sim_crash(s, 0);
    sim_heal(s);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc != before.inc);
    sim_destroy(s);
}

/* The clock of the former head, which those records give, is not that of the new one. */
static void c21_a_head_that_refuses_records_keeps_its_own_clock(void **state)
{
    refuse_old_records(1000000000);
}

static uint64_t known_epoch(struct sim *s, uint32_t vpid)
{
    const struct members *m = core_inspect_members(sim_core(s, vpid));
    const struct member *head = members_get(m, VPID_HEAD);

    return head ? members_epoch(m, head).ctr : 0;
}

static uint64_t most_known_epoch(struct sim *s)
{
    uint64_t most = 0;

    for (uint32_t v = 1; v <= MEMBERS; v++) {
        uint64_t ctr = known_epoch(s, v);

        most = ctr > most ? ctr : most;
    }
    return most;
}

/* Nobody has the records of the second one. */
static void c21_an_heir_that_ends_soon_is_followed_by_a_later_epoch(void **state)
{
    for (uint64_t after = 0; after < 30; after++) {
        struct sim *s = boot_shape(MEMBERS, 8);
        uint64_t inc = core_inspect_epoch(sim_core(s, 0)).inc, known;
        size_t job = sim_submit(s, 5, 6, 20000, 9);

        sim_for(s, 500);
        replace_head(s);
        sim_for(s, after);
        sim_break(s, 0, 1);
        sim_break(s, 0, 2);
        sim_crash(s, 0);
        sim_for(s, DVM_AWAY_MS);
        known = most_known_epoch(s);
        sim_start(s, 0);
        assert_true(sim_until(s, is_head, NULL, 30000));
        assert_true(core_inspect_epoch(sim_core(s, 0)).inc == inc);
        assert_true(core_inspect_epoch(sim_core(s, 0)).ctr > known);
        dvm_wait_job(s, job, 9);
        sim_destroy(s);
    }
}

struct link_look {
    uint64_t known;     /* epoch of the head */
    bool older;         /* a link leads to an earlier one */
    struct epoch ahead; /* at a head: of the last member, if that one knows a later head */
    bool welcomed;      /* a link leads to it */
};

static void look_at_link(void *arg, const struct core_inspect_peer *p)
{
    struct link_look *l = arg;

    l->older |= p->vpid == VPID_HEAD && p->epoch.ctr < l->known;
    l->welcomed |= p->vpid == MEMBERS && !epoch_none(l->ahead) && epoch_eq(p->epoch, l->ahead);
}

static void refuse_older_link(void *arg, uint32_t vpid)
{
    struct sim *s = arg;
    struct link_look l = {.known = known_epoch(s, vpid)};

    if (vpid == VPID_HEAD && known_epoch(s, MEMBERS) > l.known)
        l.ahead = core_inspect_epoch(sim_core(s, MEMBERS));
    core_inspect_peers(sim_core(s, vpid), look_at_link, &l);
    assert_false(l.older || l.welcomed);
}

/* Vpid 1 is cut off while two heirs follow each other. Then the others are, and a head goes on with
 * the records of vpid 1. It has done as much as the second heir when vpid 6 calls, which knows that
 * one and has lost its parent. */
static void c21_a_member_that_knows_a_later_head_has_no_link_to_an_older_one(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = MEMBERS + 1, .started = MEMBERS, .radix = 2, .slots = 2, .keepers = true});

    dvm_wait_wired(s, MEMBERS, 20000);
    sim_for(s, 100);
    cut_off(s, 1);
    replace_head(s);
    sim_for(s, 100);
    replace_head(s);
    sim_for(s, 100);
    sim_crash(s, 0);
    sim_heal(s);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        sim_partition(s, v, 1);
    sim_start(s, MEMBERS + 1);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(core_inspect_epoch(sim_core(s, 0)).ctr < known_epoch(s, MEMBERS));
    sim_for(s, 100);
    assert_int_equal(core_stats(sim_core(s, 0)).version, core_stats(sim_core(s, MEMBERS)).version);
    sim_watch(s, &(struct sim_hooks){.arg = s, .after = refuse_older_link});
    sim_crash(s, 2);
    sim_heal(s);
    sim_for(s, 60000);
    assert_int_equal(known_epoch(s, MEMBERS), core_inspect_epoch(sim_core(s, 0)).ctr);
    sim_destroy(s);
}

struct calling {
    uint64_t conn; /* vpid 3 has called the head by it; 0: it has not */
};

static void note_call(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct calling *at = arg;

    if (vpid == 3 && act->kind == OUT_CONNECT)
        at->conn = act->connect.conn;
}

static bool has_called(struct sim *s, void *arg)
{
    return ((struct calling *)arg)->conn;
}

/* The former head answers vpid 3 by that connection. */
static void forge_welcome(struct sim *s, const struct calling *at, struct epoch former)
{
    struct msg_member head = {VPID_HEAD, former, "host", "wire", 1, 1, 0, {0}, {0}};
    struct msg m = {
        .type = MSG_WELCOME,
        .welcome = {
            .radix = 8, .epoch = core_inspect_epoch(sim_core(s, 3)), .self = head, .session = 7}};
    struct frame f = {.type = MSG_WELCOME, .dst = VPID_NONE, .src_epoch = former};
    BUF_AUTO struct buf b = {0};

    f.speaks = WIRE_EDITION;
    buf_init(&b, MSG_TEXT_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, &m);
    sim_clock(s, 3);
    core_conn_open(sim_core(s, 3), at->conn,
                   &(struct core_conn){.role = API_ROLE_HEAD, .cluster = "sim"});
    core_conn_frame(sim_core(s, 3), at->conn, b.data, b.len);
    sim_drain(s, 3);
}

static void note_session(void *arg, const struct core_inspect_peer *p)
{
    if (p->vpid == VPID_HEAD)
        *(uint64_t *)arg = p->session;
}

static uint64_t session_with_head(struct sim *s, uint32_t vpid)
{
    uint64_t session = 0;

    core_inspect_peers(sim_core(s, vpid), note_session, &session);
    return session;
}

/* Its session with the next one goes on. */
static void c21_an_answer_of_a_former_head_is_refused_if_the_next_one_is_known(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    struct epoch former = core_inspect_epoch(sim_core(s, 0));
    struct calling at = {0};
    uint64_t session;

    replace_head(s);
    sim_for(s, 1000);
    assert_true(known_epoch(s, 3) > former.ctr);
    session = session_with_head(s, 3);
    assert_true(session != 0);
    sim_watch(s, &(struct sim_hooks){.arg = &at, .action = note_call});
    cut_off(s, 3);
    assert_true(sim_until(s, has_called, &at, 30000));
    forge_welcome(s, &at, former);
    refuse_older_link(s, 3);
    sim_watch(s, &(struct sim_hooks){0});
    sim_heal(s);
    sim_for(s, 10000);
    assert_true(session_with_head(s, 3) == session);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    sim_destroy(s);
}

/* Vpids 2 to 6 know an heir; the next one has the records of vpid 1, which do not know it. */
static void c21_heirs_of_the_same_records_have_different_epochs(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);

    cut_off(s, 1);
    replace_head(s);
    sim_for(s, 100);
    sim_crash(s, 0);
    sim_heal(s);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        sim_partition(s, v, 1);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_int_not_equal(core_inspect_epoch(sim_core(s, 0)).ctr, known_epoch(s, MEMBERS));
    sim_heal(s);
    sim_for(s, 60000);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(known_epoch(s, v), core_inspect_epoch(sim_core(s, 0)).ctr);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    sim_destroy(s);
}

/* Members other than vpid 1 know of vpid 7, which has joined and is lost with the head. Vpid 1 is
 * the only one that can call the next head. */
static struct sim *end_head_after_a_join(void)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = MEMBERS + 1, .started = MEMBERS, .radix = 8, .slots = 2, .keepers = true});

    dvm_wait_wired(s, MEMBERS, 20000);
    sim_for(s, 100);
    cut_off(s, 1);
    sim_start(s, MEMBERS + 1);
    sim_for(s, 500);
    sim_crash(s, 0);
    sim_crash(s, MEMBERS + 1);
    sim_heal(s);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        sim_partition(s, v, 1);
    return s;
}

/* Vpid 1 does not know of vpid 7, whose ADD has the number that the heir gives to its own one. */
static void c21_a_member_that_has_seen_what_the_heir_does_not_know_joins_anew(void **state)
{
    struct sim *s = end_head_after_a_join();

    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    sim_for(s, 100);
    assert_int_equal(core_stats(sim_core(s, 0)).version, core_stats(sim_core(s, MEMBERS)).version);
    sim_heal(s);
    sim_for(s, 5000);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        assert_int_equal(known_epoch(s, v), core_inspect_epoch(sim_core(s, 0)).ctr);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    sim_destroy(s);
}

/* Members other than vpid 1 know of vpid 7, whose ADD has the number of an heir's ADD. They call
 * the heir of that one, whose own ADD has a later number than they have seen. */
static void c21_a_member_that_has_seen_what_a_former_heir_did_not_know_joins_anew(void **state)
{
    struct sim *s = end_head_after_a_join();

    for (int heirs = 0; heirs < 2; heirs++) {
        sim_crash(s, 0);
        sim_start(s, 0);
        assert_true(sim_until(s, is_head, NULL, 30000));
        sim_for(s, 100);
    }
    assert_int_equal(core_stats(sim_core(s, 0)).version,
                     core_stats(sim_core(s, MEMBERS)).version + 1);
    sim_heal(s);
    sim_for(s, 5000);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        assert_false(members_live(core_inspect_members(sim_core(s, v)), MEMBERS + 1));
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    sim_destroy(s);
}

/* Vpid 1 has old records, 2 has all, and so has 3, which does not call. */
static struct sim *end_head_of_old_keeper(size_t *job)
{
    const struct sim_want on_5 = {.ranks = 2, .run_ms = 9000, .code = 5, .nhosts = 1, .hosts = {5}};
    struct sim *s = boot_shape(MEMBERS, 8);

    cut_off(s, 1);
    sim_for(s, 100);
    *job = sim_submit_job(s, 5, &on_5);
    sim_for(s, 100);
    assert_true(sim_job(s, *job)->accepted);
    sim_crash(s, 0);
    sim_heal(s);
    sim_partition(s, 3, 1);
    sim_for(s, DVM_AWAY_MS);
    return s;
}

/* When the new head has its records, if vpid 2 calls or not. */
static uint64_t find_begin(bool calls)
{
    size_t job;
    struct sim *s = end_head_of_old_keeper(&job);
    uint64_t begun;

    if (!calls)
        sim_partition(s, 2, 1);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    begun = sim_now(s);
    sim_destroy(s);
    return begun;
}

static bool knows_head(struct sim *s, void *arg)
{
    const uint32_t *vpid = arg;

    return known_epoch(s, *vpid) == core_inspect_epoch(sim_core(s, 0)).ctr;
}

static bool is_below_vpid_1(struct sim *s, void *arg)
{
    return core_inspect_lifeline(sim_core(s, 4)) == 1;
}

/* Vpid 4 knows an heir, which has ended. Its parent, vpid 1, knows only the head before, and no
 * other daemon can be reached from the two. */
static struct sim *boot_former_and_later(void)
{
    struct sim *s = boot();
    uint32_t vpid = 4;

    sim_partition(s, 1, 1);
    replace_head_at_once(s);
    assert_true(sim_until(s, knows_head, &vpid, 9000));
    sim_crash(s, 0);
    sim_heal(s);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        sim_partition(s, v, v == 1 || v == 4 ? 1 : 2);
    return s;
}

/* Vpid 1 takes vpid 4 as its child, as one that knew the same head when it called. */
static void come_below(struct sim *s)
{
    struct member *head = &sim_core(s, 1)->members.tab[VPID_HEAD];
    uint64_t ctr = head->ctr;

    head->ctr = known_epoch(s, 4);
    assert_true(sim_until(s, is_below_vpid_1, NULL, 9000));
    head->ctr = ctr;
}

static void
c21_a_member_that_knows_a_former_head_is_no_parent_of_one_that_knows_the_next(void **state)
{
    struct sim *s = boot_former_and_later();

    assert_false(sim_until(s, is_below_vpid_1, NULL, 9000));
    sim_destroy(s);
}

static void c21_what_a_former_head_broadcasts_is_not_taken_from_a_parent(void **state)
{
    struct sim *s = boot_former_and_later();
    struct msg m = {.type = MSG_REMOVE, .remove = {.why = REMOVE_LOST}};
    struct msg_target lost = {3, core_inspect_epoch(sim_core(s, 3))};
    uint64_t version;

    come_below(s);
    version = core_inspect_members(sim_core(s, 4))->version;
    m.remove.ntargets = 1;
    m.remove.targets = &lost;
    m.remove.text = "";
    m.remove.op = version;
    sim_clock(s, 1);
    apply_op(sim_core(s, 1), &m);
    m.remove.op = version + 1;
    apply_op(sim_core(s, 1), &m);
    sim_drain(s, 1);
    sim_for(s, 1000);
    assert_int_equal(core_inspect_members(sim_core(s, 1))->version, version + 1);
    assert_int_equal(core_inspect_members(sim_core(s, 4))->version, version);
    assert_true(members_live(core_inspect_members(sim_core(s, 4)), 3));
    assert_false(is_below_vpid_1(s, NULL));
    sim_destroy(s);
}

/* Vpid 4 has an heir's ADD. It is below vpid 1, which does not have it, and from whose records the
 * next heir has the same number for its own ADD. */
static void c21_a_member_below_another_one_may_have_seen_what_the_heir_does_not_know(void **state)
{
    struct sim *s = boot_former_and_later();
    uint32_t vpid = 4;

    come_below(s);
    sim_heal(s);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        sim_partition(s, v, v == 4 ? 0 : 2);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(sim_until(s, knows_head, &vpid, 9000));
    sim_destroy(s);
}

static void c21_the_best_keeper_is_waited_for_when_its_connection_breaks(void **state)
{
    uint64_t begun = find_begin(true);
    size_t job;
    struct sim *s = end_head_of_old_keeper(&job);

    sim_start(s, 0);
    sim_for(s, begun - 50 - sim_now(s));
    assert_false(is_head(s, NULL));
    sim_break(s, 0, 2);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

static bool has_asked(struct sim *s, void *arg)
{
    return sim_core(s, 0)->asking.from != 0;
}

/* Vpid 2 hangs when it is asked, for less than the silence. */
static void c21_the_best_keeper_is_waited_for_although_older_records_are_there(void **state)
{
    size_t job;
    struct sim *s = end_head_of_old_keeper(&job);

    sim_start(s, 0);
    assert_true(sim_until(s, has_asked, NULL, 12000));
    sim_stop(s, 2, true);
    sim_for(s, 6000);
    assert_false(is_head(s, NULL));
    sim_stop(s, 2, false);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

/* A second greeting of vpid 2 arrives, on a connection that it has closed long ago. */
static void forge_call(struct sim *s)
{
    struct msg_member who = {2,  core_inspect_epoch(sim_core(s, 2)), "host", "wire", 1, 1, 0, {0},
                             {0}};
    struct msg m = {.type = MSG_HELLO,
                    .hello = {.why = HELLO_LINK, .cluster = "sim", .self = who, .version = 1}};
    struct frame f = {.type = MSG_HELLO, .src = 2, .dst = VPID_NONE, .src_epoch = who.epoch};
    const uint64_t conn = 1u << 20;
    BUF_AUTO struct buf b = {0};

    f.speaks = WIRE_EDITION;
    buf_init(&b, MSG_TEXT_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, &m);
    sim_clock(s, 0);
    core_conn_open(
        sim_core(s, 0), conn,
        &(struct core_conn){.incoming = true,
                            .role = API_ROLE_MEMBER,
                            .cluster = "sim",
                            .key = members_key(core_inspect_members(sim_core(s, 1)), 2)});
    core_conn_frame(sim_core(s, 0), conn, b.data, b.len);
    sim_drain(s, 0);
}

static void c21_a_late_greeting_does_not_replace_a_keeper(void **state)
{
    uint64_t begun = find_begin(true);
    size_t job;
    struct sim *s = end_head_of_old_keeper(&job);

    sim_start(s, 0);
    sim_for(s, begun - 50 - sim_now(s));
    assert_false(is_head(s, NULL));
    forge_call(s);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

static bool is_about_to_answer(struct sim *s, void *arg)
{
    const struct asking_caller *x;

    DL_FOREACH(sim_core(s, 0)->asking.callers, x)
    {
        if (x->vpid == 2 && !x->answered)
            return true;
    }
    return false;
}

static void c21_a_keeper_calls_again_when_a_late_greeting_has_taken_its_place(void **state)
{
    size_t job;
    struct sim *s = end_head_of_old_keeper(&job);

    sim_start(s, 0);
    assert_true(sim_until(s, is_about_to_answer, NULL, 12000));
    forge_call(s);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

/* The records of vpid 1 are on their way for long. */
static void c21_a_better_keeper_that_answers_late_is_asked(void **state)
{
    uint64_t begun = find_begin(false);
    size_t job;
    struct sim *s = end_head_of_old_keeper(&job);

    sim_partition(s, 2, 1);
    sim_start(s, 0);
    sim_for(s, begun - 50 - sim_now(s));
    assert_false(is_head(s, NULL));
    sim_stop(s, 1, true);
    sim_for(s, 100); /* it has been asked for all */
    assert_false(is_head(s, NULL));
    sim_heal(s);
    sim_partition(s, 3, 1);
    sim_for(s, 20);
    sim_stop(s, 1, false);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

/* Vpids 1 and 2 have old records, and call first with most others; 3 and 4 have all records. */
static void c21_keepers_that_were_left_behind_are_not_believed_alone(void **state)
{
    const struct sim_want on_5 = {.ranks = 2, .run_ms = 3000, .code = 5, .nhosts = 1, .hosts = {5}};
    struct sim *s = boot_shape(MEMBERS, 8);
    size_t job;

    for (uint32_t v = 1; v <= 2; v++) {
        cut_off(s, v);
        sim_for(s, 100);
    }
    job = sim_submit_job(s, 5, &on_5);
    sim_for(s, 100);
    assert_true(sim_job(s, job)->accepted);
    sim_crash(s, 0);
    sim_heal(s);
    for (uint32_t v = 3; v <= 4; v++)
        sim_partition(s, v, 1);
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
    sim_for(s, 1500);
    sim_heal(s);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

/* Vpids 1 and 2 call, the other four do not; `again_at`: both call once more from then on. */
static uint64_t await_two_callers(uint64_t again_at)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    uint64_t begun;

    sim_crash(s, 0);
    for (uint32_t v = 3; v <= MEMBERS; v++)
        sim_partition(s, v, 1);
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
    if (again_at) {
        sim_for(s, again_at - sim_now(s));
        sim_break_half(s, 1, 0, 5000);
        sim_break_half(s, 2, 0, 5000);
    }
    assert_true(sim_until(s, is_head, NULL, 20000));
    begun = sim_now(s);
    sim_destroy(s);
    return begun;
}

/* Else four callers of six would be enough. */
static void a_member_that_calls_twice_counts_once(void **state)
{
    uint64_t begun = await_two_callers(0);

    assert_true(await_two_callers(begun - 4500) >= begun);
}

static void forge_message(struct sim *s, uint32_t from, const struct msg *m)
{
    struct frame f = {.type = m->type,
                      .src = from,
                      .dst = VPID_NONE,
                      .src_epoch = core_inspect_epoch(sim_core(s, from)),
                      .version = core_stats(sim_core(s, from)).version};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, MSG_DATA_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, m);
    assert_true(sim_forge(s, from, 0, &b));
    sim_for(s, 10);
}

/* Vpid 3 claims to have the latest records, and sends garbage. */
static void records_that_are_damaged_are_not_taken(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    struct msg kept = {.type = MSG_KEPT, .kept = {.ctr = 1, .seq = 1u << 30, .callers = MEMBERS}};
    struct msg all = {.type = MSG_RECORDS,
                      .records = {.begins = true,
                                  .ends = true,
                                  .snapshot = true,
                                  .data = (const uint8_t *)"garbage",
                                  .len = 7}};
    uint64_t inc = core_inspect_epoch(sim_core(s, 0)).inc;

    sim_crash(s, 0);
    sim_partition(s, 1, 1);
    sim_partition(s, 2, 1);
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
    sim_for(s, 2200); /* all others have called */
    forge_message(s, 3, &kept);
    sim_heal(s);
    assert_true(sim_until(s, has_asked, NULL, 3000));
    forge_message(s, 3, &all);
    assert_true(sim_until(s, is_head, NULL, 1000));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc == inc);
    sim_destroy(s);
}

static void a_first_head_begins_soon_after_its_members_call(void **state)
{
    struct sim *s =
        dvm_boot(&(struct dvm_shape){.members = 3, .started = 3, .slots = 2, .keepers = true});

    assert_true(sim_until(s, is_head, NULL, 3000));
    dvm_wait_wired(s, 3, 100);
    sim_destroy(s);
}

static void a_first_head_without_members_begins_too(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 3, .slots = 2, .keepers = true});

    assert_true(sim_until(s, is_head, NULL, 11000));
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c21_the_keeper_that_has_all_records_is_chosen),
        cmocka_unit_test(c21_records_that_a_member_is_ahead_of_are_not_taken),
        cmocka_unit_test(c21_an_incarnation_that_ends_does_not_go_on_with_older_records),
        cmocka_unit_test(c21_a_head_that_refuses_records_keeps_its_own_clock),
        cmocka_unit_test(c21_an_heir_that_ends_soon_is_followed_by_a_later_epoch),
        cmocka_unit_test(c21_a_member_that_knows_a_later_head_has_no_link_to_an_older_one),
        cmocka_unit_test(c21_an_answer_of_a_former_head_is_refused_if_the_next_one_is_known),
        cmocka_unit_test(c21_heirs_of_the_same_records_have_different_epochs),
        cmocka_unit_test(c21_a_member_that_has_seen_what_the_heir_does_not_know_joins_anew),
        cmocka_unit_test(c21_a_member_that_has_seen_what_a_former_heir_did_not_know_joins_anew),
        cmocka_unit_test(
            c21_a_member_that_knows_a_former_head_is_no_parent_of_one_that_knows_the_next),
        cmocka_unit_test(c21_what_a_former_head_broadcasts_is_not_taken_from_a_parent),
        cmocka_unit_test(c21_a_member_below_another_one_may_have_seen_what_the_heir_does_not_know),
        cmocka_unit_test(c21_the_best_keeper_is_waited_for_when_its_connection_breaks),
        cmocka_unit_test(c21_the_best_keeper_is_waited_for_although_older_records_are_there),
        cmocka_unit_test(c21_a_late_greeting_does_not_replace_a_keeper),
        cmocka_unit_test(c21_a_keeper_calls_again_when_a_late_greeting_has_taken_its_place),
        cmocka_unit_test(c21_a_better_keeper_that_answers_late_is_asked),
        cmocka_unit_test(c21_keepers_that_were_left_behind_are_not_believed_alone),
        cmocka_unit_test(a_member_that_calls_twice_counts_once),
        cmocka_unit_test(records_that_are_damaged_are_not_taken),
        cmocka_unit_test(a_first_head_begins_soon_after_its_members_call),
        cmocka_unit_test(a_first_head_without_members_begins_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
