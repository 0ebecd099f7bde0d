/* SPDX-License-Identifier: BSD-3-Clause */
/* The fold of a journal: records that do not fit are refused, and a snapshot stands for all records
 * before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/head_state.h"
#include "dvm/protocol/head/jobs/job_history.h"
#include "dvm/protocol/head/journal/test/samples.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/state/state.h"

#include <string.h>

#define STATE_MAX (1u << 20)

static int take_record(struct head_fold *f, const struct record *r, struct err *err)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, STATE_MAX);
    record_encode(&b, r);
    return head_fold_take(f, b.data, b.len, err);
}

static void must_fold(struct head_fold *f, const struct record *r)
{
    struct err err = {0};

    if (take_record(f, r, &err) < 0)
        fail_msg("%s", err.msg);
}

static void must_take(struct head_fold *f, unsigned type)
{
    struct record r = sample_record(type);

    must_fold(f, &r);
}

/* A fold of the samples up to this type. */
static struct head_fold *fold_up_to(unsigned last)
{
    struct head_fold *f = head_fold_create();

    for (unsigned type = SAMPLE_FIRST; type <= last; type++)
        must_take(f, type);
    return f;
}

static void save_fold(const struct head_fold *f, struct buf *b)
{
    buf_init(b, STATE_MAX);
    head_fold_save(f, b);
    assert_false(b->failed);
}

/* The record does not fit this state, which stays. */
static void assert_refused(struct head_fold *f, struct record r, const char *why)
{
    BUF_AUTO struct buf before = {0};
    BUF_AUTO struct buf after = {0};
    struct err err = {0};

    save_fold(f, &before);
    assert_int_equal(take_record(f, &r, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
    save_fold(f, &after);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, after.len);
}

static void snapshot_of(const struct head_fold *f, struct buf *b)
{
    BUF_AUTO struct buf all = {0};
    struct record r = {.type = RECORD_SNAPSHOT};

    save_fold(f, &all);
    r.snapshot = (struct record_snapshot){all.data, all.len};
    buf_init(b, STATE_MAX);
    record_encode(b, &r);
}

static void numbers_that_do_not_go_on_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(SAMPLE_END - 1);
    struct record r = sample_record(RECORD_ADMITTED);

    assert_refused(f, r, "epoch 2 after 3");
    r = sample_record(RECORD_OP_STARTED);
    assert_refused(f, r, "operation 1 after 1");
    r = sample_record(RECORD_OP_APPLIED);
    r.op.msg.remove.op = 3;
    assert_refused(f, r, "version 3 after 1");
    r = sample_record(RECORD_EVENT);
    assert_refused(f, r, "event 1, the next one is 2");
    r = sample_record(RECORD_BEGIN);
    assert_refused(f, r, "has begun");
    head_fold_destroy(f);
}

static void steps_that_no_member_takes_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_ADMITTED);
    struct record r = sample_record(RECORD_STEP);

    r.step.event = MEMBER_EV_CANCEL;
    assert_refused(f, r, "cancelled");
    r.step.vpid = 4;
    assert_refused(f, r, "vpid 4 never was a member");
    must_take(f, RECORD_STEP);
    r = sample_record(RECORD_ADMITTED); /* it is wired */
    r.admitted.facts.epoch.ctr++;
    assert_refused(f, r, "admitted");
    head_fold_destroy(f);
}

static void changes_that_no_campaign_has_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_CAMPAIGN);
    struct campaign other = *sample_record(RECORD_CAMPAIGN).campaign;
    struct record r = {.type = RECORD_CAMPAIGN, .campaign = &other};

    assert_refused(f, r, "campaign alloc-1 is known");
    other.id = "alloc-2";
    other.req.sequence = 6;
    assert_refused(f, r, "sequence 6 after 7");
    other.req.sequence = 7;
    other.phase = API_PHASE_COMPLETE;
    assert_refused(f, r, "begins as Complete");
    r = sample_record(RECORD_CAMPAIGN_STEP);
    r.campaign_step.id = "alloc-2";
    assert_refused(f, r, "campaign alloc-2 is not known");
    r = sample_record(RECORD_CAMPAIGN_STEP);
    r.campaign_step.event = CAMPAIGN_EV_LEFT;
    assert_refused(f, r, "all have left");
    head_fold_destroy(f);
}

static void changes_that_do_not_fit_the_campaign_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_CAMPAIGN_OP);
    struct campaign_target two[] = {{.id.vpid = 3, .out = true}, {.id.vpid = 9}};
    struct record r = sample_record(RECORD_CAMPAIGN_TARGETS);

    r.campaign_targets.n = 2;
    r.campaign_targets.targets = two;
    assert_refused(f, r, "vpid 9 is no target");
    must_take(f, RECORD_CAMPAIGN_OP); /* the same one again: it has more time */
    r = sample_record(RECORD_CAMPAIGN_OP);
    r.campaign_op.op = 1;
    assert_refused(f, r, "operation 1 after 2");
    must_take(f, RECORD_CAMPAIGN_STEP);
    r.campaign_op.op = 3;
    assert_refused(f, r, "phase Cancelled");
    assert_refused(f, sample_record(RECORD_CAMPAIGN_JOBS), "ends jobs as Cancelled");
    assert_refused(f, sample_record(RECORD_CAMPAIGN_ASKER), "nobody waits for its end");
    head_fold_destroy(f);
}

static void releases_that_do_not_wait_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_CAMPAIGN_STEP);
    struct record r = sample_record(RECORD_RELEASE_WINDOW);

    assert_refused(f, r, "nobody waits");
    must_take(f, RECORD_RELEASE);
    assert_refused(f, sample_record(RECORD_RELEASE), "vpid 3 waits");
    r.release_window.until_ms = 0;
    assert_int_equal(take_record(f, &r, NULL), 0);
    must_take(f, RECORD_RELEASE); /* the window has ended, and it is forgotten */
    head_fold_destroy(f);
}

static void cpus_that_are_no_list_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_ADMITTED);
    struct record r = sample_record(RECORD_CPUS);

    r.cpus.text = "no list";
    assert_refused(f, r, "vpid 3");
    head_fold_destroy(f);
}

static void jobs_that_are_not_next_or_not_known_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_ACCEPTED);
    struct record r = sample_record(RECORD_JOB_ACCEPTED);

    assert_refused(f, r, "job 1 after 1");
    r.job.number = 3;
    assert_refused(f, r, "job 3 after 1");
    r = sample_record(RECORD_JOB_STEP);
    r.job_step.number = 2;
    assert_refused(f, r, "there is no job 2");
    assert_refused(f, sample_record(RECORD_JOB_FORGOTTEN), "job 1 is INIT");
    head_fold_destroy(f);
    f = fold_up_to(SAMPLE_END - 1);
    assert_refused(f, sample_record(RECORD_JOB_RESULT), "there is no job 1");  /* forgotten */
    assert_refused(f, sample_record(RECORD_JOB_ACCEPTED), "job 1 after 3001"); /* HEIR skips */
    head_fold_destroy(f);
}

static void steps_and_results_that_no_job_takes_are_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_RESULT);
    struct record r = sample_record(RECORD_JOB_STEP);

    r.job_step.event = JOB_EV_CONTINUE;
    assert_refused(f, r, "illegal in state INIT");
    r = sample_record(RECORD_JOB_RESULT);
    r.job_result.failure = JOB_EV_KILL;
    assert_refused(f, r, "job 1 fails by");
    must_take(f, RECORD_JOB_STEP);
    assert_refused(f, sample_record(RECORD_JOB_RESULT), "job 1 has ended");
    head_fold_destroy(f);
}

static void a_job_is_judged_until_it_fits(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_JUDGED);
    struct record judged = sample_record(RECORD_JOB_JUDGED);
    struct record kin = sample_record(RECORD_JOB_KIN_FAILED);

    assert_refused(f, judged, "job 1 has this judgement");
    must_take(f, RECORD_JOB_MAPPED);
    judged.job_judged.judgement = JOB_FITS;
    assert_refused(f, judged, "job 1 has this judgement");
    must_fold(f, &kin);
    assert_refused(f, kin, "the first failure of a job of job 1 is known");
    must_take(f, RECORD_JOB_STEP); /* it fails */
    assert_refused(f, sample_record(RECORD_JOB_JUDGED), "job 1 has ended");
    head_fold_destroy(f);
}

static void a_job_has_one_map_until_it_is_mapped_anew(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_ACCEPTED);
    uint32_t apps[] = {0, 0, 1};
    struct record map = sample_record(RECORD_JOB_MAPPED);
    struct record step = sample_record(RECORD_JOB_STEP);
    struct record bad = map;

    bad.job_map.rank_app = apps;
    assert_refused(f, bad, "rank 2 of job 1 is of application 1 of 1");
    bad = map;
    bad.job_map.nnodes = bad.job_map.nranks = 0;
    assert_refused(f, bad, "the map of job 1 is empty");
    bad = map;
    bad.job_map.number = 2;
    assert_refused(f, bad, "there is no job 2");
    must_fold(f, &map);
    assert_refused(f, map, "job 1 is INIT, mapped");
    step.job_step.event = JOB_EV_DONE;
    for (int i = 0; i < 8; i++) /* to LAUNCH_APPS */
        must_fold(f, &step);
    assert_refused(f, map, "job 1 is LAUNCH_APPS, mapped");
    step.job_step.event = JOB_EV_REMAP;
    must_fold(f, &step);
    must_fold(f, &map);
    must_take(f, RECORD_JOB_STEP); /* it fails */
    head_fold_destroy(f);
}

static void only_what_was_sent_ends(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_ACCEPTED);
    struct record sent = sample_record(RECORD_JOB_SENT);
    struct record ended = sample_record(RECORD_JOB_RANK_ENDED);
    struct record gone = sample_record(RECORD_JOB_NODE_GONE);
    struct record step = sample_record(RECORD_JOB_STEP);

    assert_refused(f, sent, "job 1 is not mapped");
    must_take(f, RECORD_JOB_MAPPED);
    assert_refused(f, ended, "rank 2 of job 1 does not run");
    assert_refused(f, gone, "node 0 of job 1 has nothing of it");
    must_fold(f, &sent);
    assert_refused(f, sent, "job 1 is sent");
    step.job_step.event = JOB_EV_DONE;
    for (int i = 0; i < 8; i++) /* to LAUNCH_APPS */
        must_fold(f, &step);
    step.job_step.event = JOB_EV_REMAP;
    assert_refused(f, step, "job 1 is sent");
    ended.job_rank_ended.rank = 3;
    assert_refused(f, ended, "rank 3 of job 1 does not run");
    gone.job_node_gone.node = 2;
    assert_refused(f, gone, "node 2 of job 1 has nothing of it");
    must_take(f, RECORD_JOB_STEP); /* it fails */
    assert_refused(f, sample_record(RECORD_JOB_RANK_ENDED), "job 1 has ended");
    head_fold_destroy(f);
}

/* Ranks 0 and 2 are on node 0, rank 1 is on node 1. */
static void a_rank_ends_once(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_RANK_ENDED);
    struct record ended = sample_record(RECORD_JOB_RANK_ENDED);
    struct record gone = sample_record(RECORD_JOB_NODE_GONE);

    assert_refused(f, ended, "rank 2 of job 1 does not run");
    gone.job_node_gone.lost = false;
    assert_refused(f, gone, "no rank of job 1 is lost with node 0");
    gone.job_node_gone.lost = true;
    must_fold(f, &gone);
    assert_refused(f, gone, "node 0 of job 1 has nothing of it");
    ended.job_rank_ended.rank = 0;
    assert_refused(f, ended, "rank 0 of job 1 does not run");
    ended.job_rank_ended.rank = 1;
    must_fold(f, &ended);
    gone.job_node_gone.node = 1;
    assert_refused(f, gone, "no rank of job 1 is lost with node 1");
    head_fold_destroy(f);
}

/* Jobs up to this number fail and are forgotten. Returns the size of the state. */
static size_t end_jobs(struct head_fold *f, uint64_t *number, uint64_t last)
{
    BUF_AUTO struct buf b = {0};

    while (*number < last) {
        struct record accepted = sample_record(RECORD_JOB_ACCEPTED);
        struct record result = sample_record(RECORD_JOB_RESULT);
        struct record step = sample_record(RECORD_JOB_STEP);
        struct record forgotten = sample_record(RECORD_JOB_FORGOTTEN);

        accepted.job.number = result.job_result.number = step.job_step.number =
            forgotten.job_forgotten.number = ++*number;
        must_fold(f, &accepted);
        must_fold(f, &result);
        must_fold(f, &step);
        must_fold(f, &forgotten);
    }
    save_fold(f, &b);
    return b.len;
}

static void the_history_has_the_last_jobs(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_ACCEPTED - 1);
    uint64_t number = 0;
    size_t none = end_jobs(f, &number, 0), one = end_jobs(f, &number, 1);
    size_t full = end_jobs(f, &number, JOB_HISTORY_MAX);

    assert_true(one > none);
    assert_int_equal(full - none, JOB_HISTORY_MAX * (one - none));
    assert_int_equal(end_jobs(f, &number, JOB_HISTORY_MAX + 2), full);
    head_fold_destroy(f);
}

static void an_ended_job_of_an_unknown_failure_is_refused(void **state)
{
    for (int known = 0; known < 2; known++) {
        struct job_history h = {0}, loaded = {0};
        struct job_past *p = xcalloc(1, sizeof(*p));
        BUF_AUTO struct buf b = {0};
        struct cur c;

        p->failure = JOB_EV_NO_MAP + !known;
        p->reason = xstrdup("");
        p->vpids = xcalloc(1, sizeof(*p->vpids));
        job_history_add(&h, p);
        buf_init(&b, 1u << 16);
        job_history_save(&h, &b);
        c = cur_of(b.data, b.len);
        assert_int_equal(job_history_load(&loaded, &c, NULL), known ? 0 : -1);
        job_history_free(&loaded);
        job_history_free(&h);
    }
}

static void a_result_is_a_failure(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_JOB_MAPPED);
    struct record r = sample_record(RECORD_JOB_RESULT);

    r.job_result.failure = 0;
    assert_refused(f, r, "job 1 has not failed");
    head_fold_destroy(f);
}

static void only_values_that_are_there_are_removed_and_none_is_published_twice(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_PUBLISHED);
    struct record r = sample_record(RECORD_UNPUBLISHED);
    uint64_t none[] = {2};

    assert_refused(f, sample_record(RECORD_PUBLISHED), "values of vpid 3 are refused");
    r.unpublished.ids = none;
    assert_refused(f, r, "published value 2");
    r = sample_record(RECORD_UNPUBLISHED);
    r.unpublished.result = STORE_WAITS;
    assert_refused(f, r, "result");
    head_fold_destroy(f);
}

static void a_snapshot_is_the_state_after_any_number_of_records(void **state)
{
    for (unsigned type = SAMPLE_FIRST; type < SAMPLE_END; type++) {
        struct head_fold *f = fold_up_to(type);
        struct head_fold *g = head_fold_create();
        BUF_AUTO struct buf snapshot = {0};
        BUF_AUTO struct buf one = {0};
        BUF_AUTO struct buf other = {0};
        struct err err = {0};

        snapshot_of(f, &snapshot);
        if (head_fold_take(g, snapshot.data, snapshot.len, &err) < 0)
            fail_msg("after %s: %s", record_name(type), err.msg);
        for (unsigned later = type + 1; later < SAMPLE_END; later++) {
            must_take(f, later);
            must_take(g, later);
        }
        save_fold(f, &one);
        save_fold(g, &other);
        assert_int_equal(one.len, other.len);
        assert_memory_equal(one.data, other.data, one.len);
        head_fold_destroy(f);
        head_fold_destroy(g);
    }
}

static void a_snapshot_after_other_records_is_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_BEGIN);
    BUF_AUTO struct buf snapshot = {0};
    struct err err = {0};

    snapshot_of(f, &snapshot);
    assert_int_equal(head_fold_take(f, snapshot.data, snapshot.len, &err), -1);
    assert_non_null(strstr(err.msg, "a snapshot after 1 records"));
    head_fold_destroy(f);
}

static void a_table_of_members_begins_a_fold_and_follows_no_record(void **state)
{
    struct head_fold *f = head_fold_create(), *g = head_fold_create();
    struct record r = sample_record(RECORD_ADMITTED);
    BUF_AUTO struct buf snapshot = {0};
    struct err err = {0};

    must_take(f, RECORD_MEMBERS);
    assert_refused(f, sample_record(RECORD_MEMBERS), "a table of members after 1 records");
    assert_refused(f, sample_record(RECORD_BEGIN), "has begun");
    assert_refused(f, r, "epoch 2 after 1000004");
    assert_refused(f, sample_record(RECORD_OP_STARTED), "operation 1 after 7");
    assert_refused(f, sample_record(RECORD_OP_APPLIED), "version 1 after 7");
    snapshot_of(f, &snapshot);
    assert_int_equal(head_fold_take(g, snapshot.data, snapshot.len, &err), 0);
    assert_refused(g, r, "epoch 2 after 1000004");
    head_fold_destroy(f);
    head_fold_destroy(g);
}

static void jobs_of_lost_records_are_accepted_in_their_order_until_all_are(void **state)
{
    struct record first = sample_record(RECORD_JOB_ACCEPTED), second = first, later = first;
    struct head_fold *f = head_fold_create(), *g = head_fold_create();
    BUF_AUTO struct buf snapshot = {0};
    struct err err = {0};

    second.job.number = 16000064;
    later.job.number = 16000065;
    assert_refused(f, sample_record(RECORD_JOBS_ADOPTED), "no job is adopted");
    must_take(f, RECORD_MEMBERS);
    assert_refused(f, later, "job 16000065 after 0"); /* no former head has given it */
    must_fold(f, &second);
    assert_refused(f, first, "job 1 after 16000064");
    assert_refused(f, second, "job 16000064 after 16000064");
    snapshot_of(f, &snapshot);
    assert_int_equal(head_fold_take(g, snapshot.data, snapshot.len, &err), 0);
    must_take(g, RECORD_JOBS_ADOPTED);
    assert_refused(g, sample_record(RECORD_JOBS_ADOPTED), "no job is adopted");
    assert_refused(g, first, "job 1 after 16000064");
    must_fold(g, &later);
    head_fold_destroy(f);
    head_fold_destroy(g);
}

static void a_snapshot_that_is_cut_or_too_long_is_refused(void **state)
{
    struct head_fold *f = fold_up_to(RECORD_PUBLISHED);
    BUF_AUTO struct buf all = {0};

    save_fold(f, &all);
    head_fold_destroy(f);
    buf_put_u8(&all, 0);
    for (size_t len = 0; len <= all.len; len++) {
        struct record r = {.type = RECORD_SNAPSHOT, .snapshot = {all.data, len}};
        struct head_fold *g = head_fold_create();
        struct err err = {0};

        if (len == all.len - 1) { /* whole */
            assert_int_equal(take_record(g, &r, &err), 0);
        } else {
            assert_int_equal(take_record(g, &r, &err), -1);
            assert_non_null(strstr(err.msg, "record SNAPSHOT"));
        }
        head_fold_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_do_not_go_on_are_refused),
        cmocka_unit_test(steps_that_no_member_takes_are_refused),
        cmocka_unit_test(cpus_that_are_no_list_are_refused),
        cmocka_unit_test(changes_that_no_campaign_has_are_refused),
        cmocka_unit_test(changes_that_do_not_fit_the_campaign_are_refused),
        cmocka_unit_test(releases_that_do_not_wait_are_refused),
        cmocka_unit_test(jobs_that_are_not_next_or_not_known_are_refused),
        cmocka_unit_test(steps_and_results_that_no_job_takes_are_refused),
        cmocka_unit_test(a_job_is_judged_until_it_fits),
        cmocka_unit_test(a_job_has_one_map_until_it_is_mapped_anew),
        cmocka_unit_test(only_what_was_sent_ends),
        cmocka_unit_test(a_rank_ends_once),
        cmocka_unit_test(the_history_has_the_last_jobs),
        cmocka_unit_test(an_ended_job_of_an_unknown_failure_is_refused),
        cmocka_unit_test(a_result_is_a_failure),
        cmocka_unit_test(only_values_that_are_there_are_removed_and_none_is_published_twice),
        cmocka_unit_test(a_snapshot_is_the_state_after_any_number_of_records),
        cmocka_unit_test(a_snapshot_after_other_records_is_refused),
        cmocka_unit_test(a_table_of_members_begins_a_fold_and_follows_no_record),
        cmocka_unit_test(jobs_of_lost_records_are_accepted_in_their_order_until_all_are),
        cmocka_unit_test(a_snapshot_that_is_cut_or_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
