/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal of the head: a second fold, which gets only the bytes of the records, has the head's
 * state after each record of a DVM that grows, shrinks and loses a member; also if a snapshot
 * replaces the fold after each record of campaigns that end in all ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/head/head_state.h"
#include "dvm/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define STATE_MAX (1u << 20)

struct keeper { /* has the records of a head, and nothing else of it */
    struct journal *journal;
    struct head_fold *fold;
    size_t records;
    size_t of_type[RECORD_TYPES];
    bool renewed; /* the fold begins anew with a snapshot after each record */
};

static void assert_same_state(const struct keeper *k)
{
    BUF_AUTO struct buf own = {0};
    BUF_AUTO struct buf folded = {0};

    buf_init(&own, STATE_MAX);
    buf_init(&folded, STATE_MAX);
    journal_save(k->journal, &own);
    head_fold_save(k->fold, &folded);
    assert_false(own.failed);
    assert_int_equal(own.len, folded.len);
    assert_memory_equal(own.data, folded.data, own.len);
}

static void begin_fold(struct keeper *k)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};

    head_fold_destroy(k->fold);
    k->fold = head_fold_create();
    buf_init(&b, STATE_MAX);
    journal_snapshot(k->journal, &b);
    if (head_fold_take(k->fold, b.data, b.len, &err) < 0)
        fail_msg("%s", err.msg);
}

static void on_record(void *arg, const uint8_t *data, size_t len)
{
    struct keeper *k = arg;
    struct err err = {0};

    if (head_fold_take(k->fold, data, len, &err) < 0)
        fail_msg("%s", err.msg);
    k->records++;
    k->of_type[data[0]]++;
    assert_same_state(k);
    if (k->renewed) {
        begin_fold(k);
        assert_same_state(k);
    }
}

/* Begins with a snapshot. */
static void keep_records(struct keeper *k, struct sim *s)
{
    *k = (struct keeper){.journal = head_journal(core_inspect_head(sim_core(s, 0)))};
    begin_fold(k);
    journal_stream_to(k->journal, on_record, k);
    assert_same_state(k);
}

static void put_campaign(struct sim *s, const char *id, const struct api_campaign_request *r)
{
    struct core *head = sim_core(s, 0);
    struct api_campaign record;
    enum api_reason reason;
    struct err err = {0};

    sim_clock(s, VPID_HEAD);
    if (core_campaign_put(head, id, r, &record, &reason, &err) < 0)
        fail_msg("%s", err.msg);
    api_campaign_free(&record);
    sim_drain(s, 0);
}

static uint32_t two[] = {3, 4};

static struct api_campaign_request request_of(enum api_kind kind, int64_t deadline_s)
{
    return (struct api_campaign_request){
        .sequence = 1, .kind = kind, .deadline_s = deadline_s, .ntargets = 2, .targets = two};
}

static void shrink_to_two(struct sim *s, const char *id)
{
    struct api_campaign_request r = request_of(API_KIND_SHRINK, -1);

    put_campaign(s, id, &r);
    dvm_wait_complete(s, id, 10000);
}

static bool one_is_lost(struct sim *s, void *arg)
{
    return dvm_events(s, API_EVENT_DAEMON_LOST) == 1;
}

static void change_the_dvm(struct sim *s)
{
    dvm_wait_wired(s, 4, 10000);
    shrink_to_two(s, "down");
    dvm_put_size(s, 2, 4);
    for (uint32_t v = 3; v <= 4; v++) {
        sim_crash(s, v);
        sim_start(s, v);
    }
    dvm_wait_wired(s, 4, 10000);
    sim_crash(s, 2);
    assert_true(sim_until(s, one_is_lost, NULL, 60000));
    sim_start(s, 2);
    dvm_wait_wired(s, 4, 60000);
}

static void the_state_of_the_head_is_the_fold_of_its_records(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 2});
    struct keeper k;

    keep_records(&k, s);
    change_the_dvm(s);
    assert_same_state(&k);
    assert_true(k.records > 20);
    sim_destroy(s);
    head_fold_destroy(k.fold);
}

/* parent: a job that spawns it; "": none. */
static void spawn_job(struct sim *s, uint32_t client, const char *parent, char *ms, char *code,
                      uint32_t ranks)
{
    char *argv[] = {ms, code, NULL};
    char *env[] = {"KEPT=1", NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = ranks};
    struct job_spec spec = {.parent_nspace = (char *)parent, .napps = 1, .apps = &app};

    core_submit(sim_core(s, 1), client, &spec);
    sim_drain(s, 1);
    sim_for(s, 100);
}

static void submit_job(struct sim *s, uint32_t client, char *ms, char *code, uint32_t ranks)
{
    spawn_job(s, client, "", ms, code, ranks);
}

static bool all_are_done(struct sim *s, void *arg)
{
    for (uint32_t client = 0; client < *(uint32_t *)arg; client++) {
        if (!sim_job(s, client)->done)
            return false;
    }
    return true;
}

static size_t state_bytes(const struct keeper *k)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, STATE_MAX);
    head_fold_save(k->fold, &b);
    return b.len;
}

static void jobs_that_run_wait_fail_and_end_are_in_the_state(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 2});
    uint32_t n = 4;
    struct keeper k;
    size_t empty, running;

    dvm_wait_wired(s, 4, 10000);
    keep_records(&k, s);
    empty = state_bytes(&k);
    submit_job(s, 0, "2000", "0", 7);
    assert_int_equal(dvm_publish(s, 0, sim_job(s, 0)->nspace, "k", STORE_PERSIST_APP), STORE_OK);
    assert_int_equal(dvm_publish(s, 1, sim_job(s, 0)->nspace, "l", STORE_PERSIST_FIRST_READ),
                     STORE_OK);
    assert_int_equal(dvm_look_up(s, 2, "l"), STORE_OK);
    assert_int_equal(k.of_type[RECORD_PUBLISHED], 2);
    assert_int_equal(k.of_type[RECORD_UNPUBLISHED], 1);
    running = state_bytes(&k);
    assert_true(running > empty);
    spawn_job(s, 3, sim_job(s, 0)->nspace, "50", "7", 1);
    assert_int_equal(k.of_type[RECORD_JOB_KIN_FAILED], 1);
    assert_int_equal(k.of_type[RECORD_JOB_JUDGED], 0); /* those that do not wait are not judged */
    submit_job(s, 1, "100", "3", 8);                   /* it waits, and will fail */
    assert_int_equal(k.of_type[RECORD_JOB_JUDGED], 1);
    submit_job(s, 2, "100", "0", 8000); /* it never fits */
    assert_same_state(&k);
    head_fold_destroy(k.fold);
    keep_records(&k, s); /* the snapshot has a running and a queued job */
    assert_true(sim_until(s, all_are_done, &n, 60000));
    assert_int_equal(sim_job(s, 1)->exit_code, 3);
    assert_int_equal(k.of_type[RECORD_UNPUBLISHED], 1); /* of the new fold: at the job's end */
    sim_for(s, 5000);
    assert_same_state(&k);
    assert_true(state_bytes(&k) < running + 100); /* the history has their ends alone */
    sim_destroy(s);
    head_fold_destroy(k.fold);
}

static void a_snapshot_at_any_time_replaces_the_records_before_it(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 2});
    struct keeper k;

    change_the_dvm(s);
    keep_records(&k, s); /* the snapshot has parked, lost and wired epochs */
    shrink_to_two(s, "again");
    assert_same_state(&k);
    sim_destroy(s);
    head_fold_destroy(k.fold);
}

static void cancel_campaign(struct sim *s, const char *id)
{
    struct core *head = sim_core(s, 0);
    struct api_campaign record;
    enum api_reason reason;
    struct err err = {0};

    sim_clock(s, VPID_HEAD);
    if (core_campaign_cancel(head, id, &record, &reason, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(record.phase, API_PHASE_CANCELLED);
    api_campaign_free(&record);
    sim_drain(s, 0);
}

static bool has_failed(struct sim *s, void *arg)
{
    return dvm_phase(s, arg) == API_PHASE_FAILED;
}

/* It has left, and its process waits. */
static void restart_daemon(struct sim *s, uint32_t vpid)
{
    sim_crash(s, vpid);
    sim_start(s, vpid);
}

/* It asks to leave, with a deadline beyond all limits. */
static void release_daemon(struct sim *s, uint32_t vpid)
{
    struct msg m = {.type = MSG_RELEASE_ME, .release_me = {.deadline_s = INT64_MAX}};

    sim_clock(s, vpid);
    (void)core_inspect_send(sim_core(s, vpid), VPID_HEAD, CLASS_CONTROL, &m);
    sim_drain(s, vpid);
    dvm_wait_complete(s, "release-1", 10000);
    restart_daemon(s, vpid);
    dvm_wait_wired(s, 4, 10000);
}

/* A release, a shrink that is cancelled while it drains, one that ends a job, a grow that is
 * complete, and one whose second daemon is lost after the first has called. */
static void run_all_campaigns(struct sim *s)
{
    struct api_campaign_request r = request_of(API_KIND_SHRINK, -1);
    char failing[] = "failing";

    release_daemon(s, 3);
    (void)sim_submit(s, 0, 8, 600000, 0); /* on all daemons */
    sim_for(s, 1000);
    put_campaign(s, "cancelled", &r);
    cancel_campaign(s, "cancelled");
    r.deadline_s = 1;
    put_campaign(s, "killing", &r);
    dvm_wait_complete(s, "killing", 60000);
    r = request_of(API_KIND_GROW, 60);
    put_campaign(s, "growing", &r);
    for (uint32_t v = 3; v <= 4; v++)
        restart_daemon(s, v);
    dvm_wait_complete(s, "growing", 60000);
    shrink_to_two(s, "again");
    r.deadline_s = 2;
    put_campaign(s, failing, &r);
    restart_daemon(s, 3);
    assert_true(sim_until(s, has_failed, failing, 60000));
}

static void a_campaign_in_each_step_is_in_the_snapshot(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 2});
    struct keeper k;

    dvm_wait_wired(s, 4, 10000);
    keep_records(&k, s);
    k.renewed = true;
    run_all_campaigns(s);
    for (unsigned type = RECORD_CAMPAIGN; type < RECORD_TYPES; type++) {
        bool other =
            type == RECORD_CLOCK || type == RECORD_CAMPAIGN_ASKER || type == RECORD_JOB_JUDGED ||
            type == RECORD_JOB_KIN_FAILED || type == RECORD_HEIR || type == RECORD_PUBLISHED ||
            type == RECORD_UNPUBLISHED || type == RECORD_MEMBERS || type == RECORD_JOBS_ADOPTED;

        if (k.of_type[type] == 0 && !other)
            fail_msg("no record %s", record_name(type));
    }
    sim_destroy(s);
    head_fold_destroy(k.fold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_of_the_head_is_the_fold_of_its_records),
        cmocka_unit_test(jobs_that_run_wait_fail_and_end_are_in_the_state),
        cmocka_unit_test(a_snapshot_at_any_time_replaces_the_records_before_it),
        cmocka_unit_test(a_campaign_in_each_step_is_in_the_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
