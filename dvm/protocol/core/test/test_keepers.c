/* SPDX-License-Identifier: BSD-3-Clause */
/* Members keep the head's records, and the DVM goes on when its process ends. */
#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/keepers.h"
#include "dvm/protocol/wire/exit_code.h"

static void the_epochs_of_the_members_and_the_incarnation_stay(void **state)
{
    struct sim *s = boot();
    uint32_t members = MEMBERS;
    struct epoch before[MEMBERS + 1];

    for (uint32_t v = 0; v <= MEMBERS; v++)
        before[v] = core_inspect_epoch(sim_core(s, v));
    replace_head(s);
    assert_true(sim_until(s, dvm_head_known, &members, 20000));
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_true(epoch_eq(before[v], core_inspect_epoch(sim_core(s, v))));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc == before[0].inc);
    assert_true(core_inspect_epoch(sim_core(s, 0)).ctr > before[MEMBERS].ctr);
    sim_for(s, 60000); /* nobody is declared lost later */
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    sim_destroy(s);
}

static void c21_a_running_job_ends_with_its_own_code(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 8, 5000, 7);

    sim_for(s, 1000);
    assert_true(sim_ranks(s, 4) > 0);
    replace_head(s);
    dvm_wait_job(s, job, 7);
    sim_destroy(s);
}

static void a_job_that_a_keeper_saves_is_not_bound_to_the_head(void **state)
{
    struct sim *s = boot();

    for (int i = 0; core_stats(sim_core(s, 0)).keepers == 0 && i < 5000; i++)
        sim_for(s, 1);
    size_t elsewhere = sim_submit(s, 3, 2, 200, 0);
    sim_for(s, 100);
    assert_int_equal(core_jobs_bound(sim_core(s, 0)), 0);
    size_t here = sim_submit(s, 0, 2, 200, 0); /* its client ends with the head */
    sim_for(s, 100);
    assert_int_equal(core_jobs_bound(sim_core(s, 0)), 1);
    dvm_wait_job(s, elsewhere, 0);
    dvm_wait_job(s, here, 0);
    assert_int_equal(core_jobs_bound(sim_core(s, 0)), 0);
    sim_destroy(s);
}

/* The head ends at any moment of a job's life. */
static void c21_a_job_goes_on_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 200; at++) {
        struct sim *s = boot();
        size_t job = sim_submit(s, 5, 6, 50, 9);

        sim_for(s, at);
        replace_head_at_once(s);
        dvm_wait_job(s, job, 9);
        sim_for(s, 5000);
        for (uint32_t v = 1; v <= MEMBERS; v++)
            assert_null(core_job(sim_core(s, v), sim_job(s, job)->nspace));
        sim_destroy(s);
    }
}

static void c21_one_keeper_is_enough(void **state)
{
    for (uint32_t lost = 1; lost <= 2; lost++) {
        struct sim *s = boot_shape(MEMBERS, 8);
        size_t job = sim_submit(s, 5, 2, 5000, 7);

        sim_for(s, 1000);
        sim_crash(s, lost);
        replace_head(s);
        dvm_wait_job(s, job, lost == 1 ? EXIT_CODE_LOST : 7); /* its ranks are on vpid 1 */
        sim_destroy(s);
    }
}

static void without_keepers_and_a_majority_a_new_incarnation_begins(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    struct epoch before = core_inspect_epoch(sim_core(s, 0));

    sim_crash(s, 1);
    sim_crash(s, 2);
    sim_crash(s, 3);
    replace_head(s);
    dvm_wait_wired(s, MEMBERS - 3, 60000);
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc != before.inc);
    sim_destroy(s);
}

static void the_next_members_keep_the_records_when_keepers_depart(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    struct epoch before = core_inspect_epoch(sim_core(s, 0));

    sim_crash(s, 1);
    sim_crash(s, 2);
    sim_for(s, DVM_LOSS_MS + 2000);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS - 2);
    replace_head(s);
    dvm_wait_wired(s, MEMBERS - 2, 20000);
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc == before.inc);
    sim_destroy(s);
}

static void the_head_may_be_replaced_again_and_again(void **state)
{
    struct sim *s = boot();
    size_t job = sim_submit(s, 2, 8, 60000, 7);

    for (unsigned i = 0; i < 8; i++) {
        sim_for(s, 200 + 37 * i);
        replace_head(s);
    }
    dvm_wait_job(s, job, 7);
    sim_destroy(s);
}

static void put_shrink(struct sim *s)
{
    uint32_t two[] = {5, 6};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_SHRINK, .deadline_s = -1, .ntargets = 2, .targets = two};

    dvm_put_campaign(s, "down", &r);
}

/* From 10 ms on a keeper has it. */
static void c21_a_shrink_is_completed_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 10; at < 120; at++) {
        struct sim *s = boot();

        put_shrink(s);
        sim_for(s, at);
        replace_head_at_once(s);
        dvm_wait_complete(s, "down", 60000);
        sim_for(s, 10000);
        assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS - 2);
        assert_true(sim_parked(s, 5) && sim_parked(s, 6));
        sim_destroy(s);
    }
}

static void send_sigterm(struct sim *s, uint32_t vpid)
{
    sim_clock(s, vpid);
    core_sigterm(sim_core(s, vpid));
    sim_drain(s, vpid);
}

static bool has_exited(struct sim *s, void *arg)
{
    return sim_core(s, *(uint32_t *)arg) == NULL;
}

static void wait_exited(struct sim *s, uint32_t vpid, uint64_t within_ms)
{
    assert_true(sim_until(s, has_exited, &vpid, within_ms));
}

/* The next process is the head within a second of its start. */
static void c21_a_head_that_gets_sigterm_hands_over(void **state)
{
    for (uint64_t at = 0; at < 150; at++) {
        struct sim *s = boot();
        uint64_t inc = core_inspect_epoch(sim_core(s, 0)).inc;
        size_t job = sim_submit(s, 5, 6, 50, 9);

        sim_for(s, at);
        send_sigterm(s, 0);
        wait_exited(s, 0, 100);
        sim_for(s, DVM_AWAY_MS);
        sim_start(s, 0);
        assert_true(sim_until(s, is_head, NULL, 1000));
        assert_true(core_inspect_epoch(sim_core(s, 0)).inc == inc);
        dvm_wait_job(s, job, 9);
        sim_destroy(s);
    }
}

static void without_a_keeper_sigterm_ends_the_incarnation(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 1, .slots = 1, .keepers = true});
    uint64_t inc;

    assert_true(sim_until(s, is_head, NULL, 11000));
    inc = core_inspect_epoch(sim_core(s, 0)).inc;
    send_sigterm(s, 0);
    wait_exited(s, 0, 20000);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 11000));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc != inc);
    sim_destroy(s);
}

/* A new head waits for nobody when the whole DVM ends. */
static void members_that_get_sigterm_with_the_head_end_soon(void **state)
{
    struct sim *s = boot();

    for (uint32_t v = 0; v <= MEMBERS; v++)
        send_sigterm(s, v);
    for (uint32_t v = 0; v <= MEMBERS; v++)
        wait_exited(s, v, 4000);
    sim_destroy(s);
}

/* Others get messages of the head until it ends; its last records do not reach the keepers. */
static void c21_what_others_have_seen_is_kept(void **state)
{
    for (uint64_t at = 0; at < 200; at++) {
        struct sim *s = boot_shape(MEMBERS, 8);
        size_t job = sim_submit(s, 5, 6, 50, 9);
        char nspace[JOB_NSPACE_MAX + 1] = "";

        sim_for(s, at);
        sim_partition(s, 1, 1);
        sim_partition(s, 2, 1);
        sim_for(s, 10);
        if (sim_job(s, job)->accepted)
            snprintf(nspace, sizeof(nspace), "%s", sim_job(s, job)->nspace);
        sim_break(s, 0, 1);
        sim_break(s, 0, 2);
        sim_crash(s, 0);
        sim_heal(s);
        replace_head(s);
        dvm_wait_job(s, job, 9);
        assert_true(!*nspace || strcmp(nspace, sim_job(s, job)->nspace) == 0);
        sim_destroy(s);
    }
}

static void a_daemon_joins_whenever_the_head_ends(void **state)
{
    for (uint64_t at = 0; at < 60; at++) {
        struct sim *s =
            dvm_boot(&(struct dvm_shape){.members = 4, .started = 3, .slots = 2, .keepers = true});

        dvm_wait_wired(s, 3, 20000);
        sim_start(s, 4);
        sim_for(s, at);
        replace_head_at_once(s);
        dvm_wait_wired(s, 4, 60000);
        sim_destroy(s);
    }
}

static void a_keeper_that_hangs_holds_no_job_for_long(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    size_t job;

    sim_stop(s, 2, true);
    sim_for(s, 10);
    job = sim_submit(s, 3, 1, 10, 4);
    sim_for(s, 2500);
    assert_true(sim_job(s, job)->done);
    sim_destroy(s);
}

/* Records come all the time, so the other keeper never has the last group either. */
static void c21_a_keeper_that_hangs_takes_no_other_with_it(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);

    sim_stop(s, 1, true);
    for (unsigned i = 0; i < 1500; i++) {
        if (i % 2 == 0)
            sim_submit(s, 3, 1, 10, 0);
        sim_for(s, 1);
        assert_true(core_stats(sim_core(s, 0)).keepers >= 1);
    }
    assert_int_equal(core_stats(sim_core(s, 0)).left_behind, 1);
    sim_destroy(s);
}

/* Each has 64 KiB; groups come so often that the last one is never acknowledged. */
static void submit_large(struct sim *s, uint32_t client, char *bytes)
{
    char *argv[] = {"1", "0", NULL};
    char *env[] = {bytes, NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = 1};
    struct job_spec spec = {.parent_nspace = "", .napps = 1, .apps = &app};

    sim_clock(s, 1);
    core_submit(sim_core(s, 1), client, &spec);
    sim_drain(s, 1);
}

static void a_steady_load_stops_no_stream(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = 2, .started = 2, .radix = 8, .slots = 8, .delay_ms = 40, .keepers = true});
    char bytes[64 << 10];

    memset(bytes, 'x', sizeof(bytes) - 1);
    bytes[1] = '=';
    bytes[sizeof(bytes) - 1] = '\0';
    dvm_wait_wired(s, 2, 20000);
    sim_for(s, 500);
    for (uint32_t i = 0; i < 600; i++) {
        submit_large(s, i, bytes);
        sim_for(s, 10);
        assert_int_equal(core_stats(sim_core(s, 0)).keepers, 2);
    }
    sim_destroy(s);
}

/* Two keepers are cut off, and the next two before they have a snapshot. */
static void streams_that_lead_nowhere_make_room(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    uint32_t now[2];

    sim_stop(s, 3, true);
    sim_stop(s, 4, true);
    cut_off(s, 1);
    cut_off(s, 2);
    sim_for(s, 100);
    cut_off(s, 3);
    cut_off(s, 4);
    sim_for(s, 100);
    assert_int_equal(dvm_in_state(s, MEMBER_WIRED), MEMBERS);
    assert_int_equal(core_inspect_keepers(sim_core(s, 0), now, 2), 2);
    assert_true(now[0] + now[1] == 5 + 6);
    sim_destroy(s);
}

static void assert_keepers(struct sim *s, uint32_t a, uint32_t b)
{
    uint32_t now[3] = {0};

    assert_int_equal(core_inspect_keepers(sim_core(s, 0), now, 3), 2);
    assert_true((now[0] == a && now[1] == b) || (now[0] == b && now[1] == a));
}

/* Vpid 5 is in the place of vpid 2, and vpid 3 below vpid 1. */
static void a_child_of_the_head_with_a_high_vpid_keeps_the_records(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 2);

    sim_crash(s, 2);
    sim_for(s, DVM_LOSS_MS);
    assert_keepers(s, 1, 5);
    sim_destroy(s);
}

static bool is_linked(struct sim *s, uint32_t vpid)
{
    struct core *head = sim_core(s, 0);

    return neighbours_up(head->neighbours, &head->members, vpid) != NULL;
}

/* Vpids 7 and 10 are in the places of vpids 2 and 3. Vpid 1 hangs, so its children 4 to 6 call the
 * head, until vpid 4 has its place. */
static void children_of_a_member_that_hangs_keep_no_records_while_others_can(void **state)
{
    struct sim *s = boot_shape(12, 3);
    bool linked = false;

    sim_crash(s, 2);
    sim_crash(s, 3);
    sim_for(s, DVM_LOSS_MS);
    sim_stop(s, 1, true);
    sim_submit(s, 8, 1, 10, 0);
    sim_for(s, 1500);
    while (members_live(core_inspect_members(sim_core(s, 0)), 1)) {
        assert_keepers(s, 7, 10);
        linked |= is_linked(s, 4);
        sim_for(s, 50);
    }
    assert_true(linked);
    sim_destroy(s);
}

static void c21_while_keepers_hang_the_next_members_keep_the_records(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);

    sim_stop(s, 1, true);
    sim_stop(s, 2, true);
    sim_submit(s, 5, 1, 10, 0);
    sim_for(s, 1500);
    assert_keepers(s, 3, 4);
    sim_for(s, 20000); /* both are tried again */
    assert_keepers(s, 3, 4);
    sim_stop(s, 1, false);
    sim_stop(s, 2, false);
    sim_for(s, 6000);
    assert_keepers(s, 1, 2);
    sim_destroy(s);
}

static void c21_a_keeper_that_hangs_with_its_first_snapshot_is_replaced(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);

    for (uint32_t v = 1; v <= 3; v++)
        sim_stop(s, v, true);
    sim_submit(s, 5, 1, 10, 0);
    sim_for(s, 2500);
    assert_keepers(s, 4, 5);
    sim_destroy(s);
}

/* Its records are not acknowledged, since both keepers hang. */
static void sigterm_ends_the_incarnation_if_no_keeper_gets_the_last_records(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    uint64_t inc = core_inspect_epoch(sim_core(s, 0)).inc;

    sim_stop(s, 1, true);
    sim_stop(s, 2, true);
    sim_submit(s, 3, 1, 1000, 0);
    sim_for(s, 10);
    send_sigterm(s, 0);
    wait_exited(s, 0, 60000);
    sim_stop(s, 1, false);
    sim_stop(s, 2, false);
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc != inc);
    sim_destroy(s);
}

struct answers {
    size_t n;
    bool kept; /* a keeper has acknowledged records */
};

static void note_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct answers *a = arg;

    if (act->kind != OUT_ANSWER)
        return;
    assert_int_equal(vpid, 0);
    assert_int_equal(act->answer.number, 7);
    assert_true(a->kept);
    a->n++;
}

static void put_and_answer(struct sim *s)
{
    uint32_t one[] = {6};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_SHRINK, .deadline_s = -1, .ntargets = 1, .targets = one};
    struct core *head = sim_core(s, 0);
    struct api_campaign record;
    enum api_reason reason;
    struct out_act act;

    sim_clock(s, 0);
    assert_int_equal(core_campaign_put(head, "c", &r, &record, &reason, NULL), 0);
    api_campaign_free(&record);
    while (core_next_records(head, &act))
        out_act_free(&act);
    assert_true(core_holds(head));
    core_answer(head, 7);
    sim_drain(s, 0);
}

static void an_answer_of_the_control_api_waits_for_the_keepers(void **state)
{
    struct answers a = {0};
    struct sim_hooks h = {.arg = &a, .action = note_action};
    struct sim *s = boot_shape(MEMBERS, 8);

    sim_watch(s, &h);
    put_and_answer(s);
    assert_int_equal(a.n, 0);
    sim_for(s, 1); /* RECORDS are under way, KEPT is not */
    assert_int_equal(a.n, 0);
    a.kept = true;
    sim_for(s, 10);
    assert_int_equal(a.n, 1);
    sim_destroy(s);
}

static void an_answer_waits_for_keepers_that_hang_no_longer_than_a_second(void **state)
{
    struct answers a = {0};
    struct sim_hooks h = {.arg = &a, .action = note_action};
    struct sim *s = boot_shape(MEMBERS, 8);

    sim_watch(s, &h);
    sim_stop(s, 1, true);
    sim_stop(s, 2, true);
    put_and_answer(s);
    sim_for(s, 900);
    a.kept = true;
    sim_for(s, 200);
    assert_int_equal(a.n, 1);
    sim_destroy(s);
}

/* RECORDS of the head to vpid 1. */
struct older {
    struct buf first; /* the snapshot of the first stream */
    uint64_t conn;    /* of the last ones */
};

static void note_records(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct cur c = cur_of(data, len);
    struct older *o = arg;
    struct frame f;

    if (vpid != 1 || frame_decode(&c, &f, NULL) < 0 || f.type != MSG_RECORDS)
        return;
    o->conn = conn;
    if (o->first.len == 0)
        buf_put_raw(&o->first, data, len);
}

static void deliver_to_keeper(struct sim *s, const struct older *o, const struct buf *frame)
{
    sim_clock(s, 1);
    core_conn_frame(sim_core(s, 1), o->conn, frame->data, frame->len);
    sim_drain(s, 1);
}

/* The end of the first stream, as its head would have sent it. */
static void encode_drop(struct buf *b, const struct older *o)
{
    struct cur c = cur_of(o->first.data, o->first.len);
    struct msg drop = {.type = MSG_RECORDS};
    struct frame f;
    struct msg m;

    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    assert_int_equal(msg_decode(&c, f.type, &m, NULL), 0);
    assert_true(m.records.begins && m.records.snapshot);
    drop.records = (struct msg_records){.stream = m.records.stream, .drop = true};
    frame_encode(b, &f);
    msg_encode(b, &drop);
    msg_free(&m);
}

/* A message of the first stream was on a slow link while the second one has begun on another. Then
 * vpid 1 is the only keeper that is left. */
static void deliver_late(bool drop)
{
    const struct sim_want want = {.ranks = 1, .run_ms = 9000, .code = 5, .nhosts = 1, .hosts = {3}};
    struct older o = {.first = {.max = 1 << 20}};
    BUF_AUTO struct buf dropped = {.max = 1 << 10};
    struct sim *s = dvm_boot(
        &(struct dvm_shape){.members = MEMBERS,
                            .started = MEMBERS,
                            .radix = 8,
                            .slots = 2,
                            .keepers = true,
                            .hooks = &(struct sim_hooks){.arg = &o, .frame = note_records}});
    size_t job;

    dvm_wait_wired(s, MEMBERS, 20000);
    sim_for(s, 100);
    sim_break(s, 0, 1);
    sim_for(s, 2000);
    job = sim_submit_job(s, 4, &want);
    sim_for(s, 100);
    assert_true(sim_job(s, job)->accepted);
    encode_drop(&dropped, &o);
    deliver_to_keeper(s, &o, drop ? &dropped : &o.first);
    sim_crash(s, 2);
    replace_head(s);
    assert_true(has_records(s));
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
    buf_free(&o.first);
}

static void c21_late_records_of_an_earlier_stream_replace_no_later_ones(void **state)
{
    deliver_late(false);
}

static void c21_the_late_end_of_an_earlier_stream_ends_no_later_one(void **state)
{
    deliver_late(true);
}

static uint32_t some_child_of(struct sim *s, uint32_t vpid)
{
    for (uint32_t v = 1; v <= MEMBERS; v++) {
        if (members_parent(core_inspect_members(sim_core(s, v))) == vpid)
            return v;
    }
    fail_msg("vpid %u has no child", vpid);
    return 0;
}

/* Vpid 1 is the only keeper that is left. */
static void c25_a_child_of_a_keeper_cannot_end_its_records(void **state)
{
    const struct sim_want want = {.ranks = 1, .run_ms = 9000, .code = 5, .nhosts = 1, .hosts = {1}};
    struct msg drop = {.type = MSG_RECORDS, .records = {.stream = UINT64_MAX, .drop = true}};
    struct frame f = {.traffic = CLASS_CONTROL, .type = MSG_RECORDS, .dst = 1};
    BUF_AUTO struct buf lie = {.max = 1 << 10};
    struct sim *s = boot();
    uint32_t liar = some_child_of(s, 1);
    size_t job = sim_submit_job(s, 1, &want);

    sim_for(s, 100);
    assert_true(sim_job(s, job)->accepted);
    f.src = liar;
    f.src_epoch = core_inspect_epoch(sim_core(s, liar));
    frame_encode(&lie, &f);
    msg_encode(&lie, &drop);
    assert_true(sim_forge(s, liar, 1, &lie));
    sim_for(s, 10);
    sim_crash(s, 2);
    replace_head(s);
    assert_true(has_records(s));
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

static bool records_are_asked_for(struct sim *s, void *arg)
{
    return sim_core(s, 0)->asking.from != 0;
}

/* Vpid 2 was cut off while a member came anew. When its records are on their way, no call of a
 * member that knows more is open: vpid 1, which has all, calls again in a moment. */
static void c21_a_member_that_has_called_shows_that_records_are_older(void **state)
{
    struct sim *s = boot_shape(MEMBERS, 8);
    struct epoch epoch;
    uint64_t inc = core_inspect_epoch(sim_core(s, 0)).inc;

    sim_crash(s, 6);
    cut_off(s, 2);
    sim_start(s, 6);
    sim_for(s, 1000);
    for (uint32_t v = 3; v <= MEMBERS; v++)
        sim_crash(s, v);
    sim_crash(s, 0);
    sim_start(s, 0);
    sim_for(s, 2500);
    sim_heal(s);
    cut_off(s, 1);
    epoch = core_inspect_epoch(sim_core(s, 1));
    assert_true(sim_until(s, records_are_asked_for, NULL, 30000));
    sim_for(s, 100);
    sim_heal(s);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(core_inspect_epoch(sim_core(s, 0)).inc == inc);
    dvm_wait_wired(s, 2, 60000);
    assert_true(epoch_eq(epoch, core_inspect_epoch(sim_core(s, 1))));
    sim_destroy(s);
}

/* Each group of records has to be acknowledged by those that keep them. */
static void leave_behind(struct sim *s, uint32_t vpid, uint32_t other)
{
    sim_stop(s, vpid, true);
    sim_stop(s, other, true);
    sim_submit(s, 5, 1, 1, 0);
    sim_for(s, 1500);
}

/* Vpids 3 and 4 were left behind with the same records, and vpid 5 has all. It calls late. Vpid 1
 * ends shortly before the head, and its two children call in its place: as many members as the head
 * had children. */
static void c21_a_member_that_is_no_child_of_the_head_stands_for_none(void **state)
{
    const struct sim_want want = {
        .ranks = 1, .run_ms = 20000, .code = 5, .nhosts = 1, .hosts = {5}};
    struct sim *s = boot_shape(7, 5);
    size_t job;

    for (uint32_t v = 6; v <= 7; v++) /* or they would call this head */
        sim_stop(s, v, true);
    sim_crash(s, 1);
    leave_behind(s, 1, 2);
    leave_behind(s, 3, 4);
    assert_int_equal(core_stats(sim_core(s, 0)).left_behind, 4);
    job = sim_submit_job(s, 5, &want);
    sim_for(s, 500);
    assert_true(sim_job(s, job)->accepted);
    sim_crash(s, 0);
    for (uint32_t v = 2; v <= 7; v++)
        sim_stop(s, v, false);
    sim_partition(s, 5, 1);
    sim_for(s, 100);
    sim_start(s, 0);
    sim_for(s, 2200);
    sim_heal(s);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

/* Vpid 2 has got this snapshot in the place of broadcasts, and passes it on to its child. */
static void pass_snapshot(struct sim *s, uint64_t op, struct epoch head)
{
    const struct members *known = core_inspect_members(sim_core(s, 2));
    struct msg_member of = members_facts(known, VPID_HEAD);
    struct msg m = {.type = MSG_SNAPSHOT, .snapshot = {.op = op, .radix = 2}};
    struct frame f = {.type = MSG_SNAPSHOT, .dst = VPID_NONE, .src = 2, .speaks = WIRE_EDITION};
    BUF_AUTO struct buf table = {.max = 1 << 16}, b = {.max = 1 << 16};
    struct members now;

    members_init(&now, 2, 2);
    members_encode(known, &table);
    assert_int_equal(members_decode(&now, table.data, table.len, NULL), 0);
    of.epoch = head;
    members_add(&now, &of, 1);
    buf_free(&table);
    table = (struct buf){.max = 1 << 16};
    members_encode(&now, &table);
    m.snapshot.table = table.data;
    m.snapshot.len = table.len;
    f.src_epoch = core_inspect_epoch(sim_core(s, 2));
    f.version = op;
    frame_encode(&b, &f);
    msg_encode(&b, &m);
    assert_true(sim_forge(s, 2, 5, &b));
    msg_member_free(&of);
    members_free(&now);
}

/* The snapshot of a head that this member knows is one that it needs no more. A later head that has
 * done no more than this member has seen does not know of it. */
static void c21_a_member_that_gets_the_snapshot_of_an_heir_which_knows_less_joins_anew(void **state)
{
    struct sim *s = boot();
    struct epoch own = core_inspect_epoch(sim_core(s, 5));
    struct epoch head = core_inspect_epoch(sim_core(s, 0));
    uint64_t version = core_stats(sim_core(s, 5)).version;

    assert_int_equal(core_inspect_lifeline(sim_core(s, 5)), 2);
    pass_snapshot(s, version, head);
    sim_for(s, 50);
    assert_true(epoch_eq(own, core_inspect_epoch(sim_core(s, 5))));
    head.ctr += 100;
    pass_snapshot(s, version, head);
    sim_for(s, 50);
    assert_false(epoch_eq(own, core_inspect_epoch(sim_core(s, 5))));
    dvm_wait_wired(s, MEMBERS, 60000);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_epochs_of_the_members_and_the_incarnation_stay),
        cmocka_unit_test(c21_a_running_job_ends_with_its_own_code),
        cmocka_unit_test(a_job_that_a_keeper_saves_is_not_bound_to_the_head),
        cmocka_unit_test(c21_a_job_goes_on_whenever_the_head_ends),
        cmocka_unit_test(c21_one_keeper_is_enough),
        cmocka_unit_test(without_keepers_and_a_majority_a_new_incarnation_begins),
        cmocka_unit_test(the_next_members_keep_the_records_when_keepers_depart),
        cmocka_unit_test(the_head_may_be_replaced_again_and_again),
        cmocka_unit_test(c21_a_shrink_is_completed_whenever_the_head_ends),
        cmocka_unit_test(c21_a_head_that_gets_sigterm_hands_over),
        cmocka_unit_test(without_a_keeper_sigterm_ends_the_incarnation),
        cmocka_unit_test(members_that_get_sigterm_with_the_head_end_soon),
        cmocka_unit_test(c21_what_others_have_seen_is_kept),
        cmocka_unit_test(a_daemon_joins_whenever_the_head_ends),
        cmocka_unit_test(a_keeper_that_hangs_holds_no_job_for_long),
        cmocka_unit_test(c21_a_keeper_that_hangs_takes_no_other_with_it),
        cmocka_unit_test(a_steady_load_stops_no_stream),
        cmocka_unit_test(streams_that_lead_nowhere_make_room),
        cmocka_unit_test(a_child_of_the_head_with_a_high_vpid_keeps_the_records),
        cmocka_unit_test(children_of_a_member_that_hangs_keep_no_records_while_others_can),
        cmocka_unit_test(c21_while_keepers_hang_the_next_members_keep_the_records),
        cmocka_unit_test(c21_a_keeper_that_hangs_with_its_first_snapshot_is_replaced),
        cmocka_unit_test(sigterm_ends_the_incarnation_if_no_keeper_gets_the_last_records),
        cmocka_unit_test(an_answer_of_the_control_api_waits_for_the_keepers),
        cmocka_unit_test(c21_late_records_of_an_earlier_stream_replace_no_later_ones),
        cmocka_unit_test(c21_the_late_end_of_an_earlier_stream_ends_no_later_one),
        cmocka_unit_test(c25_a_child_of_a_keeper_cannot_end_its_records),
        cmocka_unit_test(c21_a_member_that_has_called_shows_that_records_are_older),
        cmocka_unit_test(c21_a_member_that_is_no_child_of_the_head_stands_for_none),
        cmocka_unit_test(
            c21_a_member_that_gets_the_snapshot_of_an_heir_which_knows_less_joins_anew),
        cmocka_unit_test(an_answer_waits_for_keepers_that_hang_no_longer_than_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
