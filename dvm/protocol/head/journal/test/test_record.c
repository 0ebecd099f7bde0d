/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that no head writes are refused and change nothing; all others are decoded as they were
 * encoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/journal/test/samples.h"
#include "dvm/protocol/map/topo.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/state/state.h"

#include <string.h>

static void encode_record(struct buf *b, const struct record *r)
{
    buf_init(b, RECORD_BYTES_MAX);
    record_encode(b, r);
    assert_false(b->failed);
}

static void assert_refused(const void *data, size_t len, const char *why)
{
    struct record out = {.type = RECORD_TYPES};
    struct err err = {0};

    assert_int_equal(record_decode(data, len, &out, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
    assert_int_equal(out.type, RECORD_TYPES);
}

static void assert_record_refused(struct record r, const char *why)
{
    BUF_AUTO struct buf b = {0};

    encode_record(&b, &r);
    assert_refused(b.data, b.len, why);
}

static void unknown_types_are_refused(void **state)
{
    static const uint8_t high[] = {RECORD_TYPES, 0}, none[] = {RECORD_NO_TYPE, 0};

    assert_refused("", 0, "unknown record type 0");
    assert_refused(none, sizeof(none), "unknown record type 0");
    assert_refused(high, sizeof(high), "unknown record type");
    assert_string_equal(record_name(RECORD_TYPES), "?");
    assert_string_equal(record_name(RECORD_BEGIN), "BEGIN");
}

static void every_prefix_and_every_longer_record_is_refused(void **state)
{
    for (unsigned type = RECORD_SNAPSHOT; type < RECORD_TYPES; type++) {
        struct record r = sample_record(type);
        BUF_AUTO struct buf b = {0};

        encode_record(&b, &r);
        for (size_t n = 0; n < b.len; n++)
            assert_refused(b.data, n, "");
        buf_put_u8(&b, 0);
        assert_refused(b.data, b.len, "left over");
    }
}

static void a_begin_without_an_epoch_of_the_head_is_refused(void **state)
{
    struct record r = sample_record(RECORD_BEGIN);

    r.begin.incarnation = 0;
    assert_record_refused(r, "no epoch of a head");
    r = sample_record(RECORD_BEGIN);
    r.begin.head.vpid = 1;
    assert_record_refused(r, "no epoch of a head");
    r = sample_record(RECORD_BEGIN);
    r.begin.head.epoch.inc++;
    assert_record_refused(r, "no epoch of a head");
    r = sample_record(RECORD_HEIR);
    r.heir.skipped = RECORD_SKIPPED_MAX + 1;
    assert_record_refused(r, "16777217 numbers are skipped");
    r = sample_record(RECORD_BEGIN);
    r.begin.size = VPID_MAX + 1;
    assert_record_refused(r, "members");
}

static void records_of_another_layout_are_refused(void **state)
{
    static const enum record_type first[] = {RECORD_BEGIN, RECORD_SNAPSHOT};

    for (size_t i = 0; i < 2; i++) {
        BUF_AUTO struct buf b = {0};
        struct record r = sample_record(first[i]);

        encode_record(&b, &r);
        b.data[1]++;
        assert_refused(b.data, b.len, "layout 2, this head reads 1");
    }
}

static struct record encode_and_decode(const struct record *r)
{
    BUF_AUTO struct buf b = {0};
    struct record out;

    encode_record(&b, r);
    assert_int_equal(record_decode(b.data, b.len, &out, NULL), 0);
    return out;
}

static void moments_beyond_all_clocks_are_refused(void **state)
{
    for (int wall = 0; wall < 2; wall++) {
        struct record begin = sample_record(RECORD_BEGIN), clock = sample_record(RECORD_CLOCK);

        *(wall ? &clock.clock.wall_ms : &clock.clock.now_ms) = MSG_MOMENT_MAX + 1;
        assert_record_refused(clock, "cut");
        *(wall ? &begin.begin.wall_ms : &begin.begin.now_ms) = MSG_MOMENT_MAX + 1;
        assert_record_refused(begin, "cut");
    }
}

static void an_heir_may_skip_as_many_numbers_as_the_limit_says(void **state)
{
    struct record r = sample_record(RECORD_HEIR), out;

    r.heir.skipped = RECORD_SKIPPED_MAX;
    out = encode_and_decode(&r);
    assert_int_equal(out.heir.skipped, RECORD_SKIPPED_MAX);
    record_free(&out);
}

static void a_job_may_be_of_the_highest_vpid(void **state)
{
    struct record r = sample_record(RECORD_JOB_ACCEPTED), out;

    r.job.submit_vpid = VPID_MAX;
    out = encode_and_decode(&r);
    assert_int_equal(out.job.submit_vpid, VPID_MAX);
    record_free(&out);
}

static void members_out_of_their_limits_are_refused(void **state)
{
    struct record r = sample_record(RECORD_ADMITTED);

    r.admitted.facts.vpid = VPID_HEAD;
    assert_record_refused(r, "vpid 0");
    r = sample_record(RECORD_ADMITTED);
    r.admitted.facts.epoch = (struct epoch){0, 0};
    assert_record_refused(r, "epoch 0");
    r = sample_record(RECORD_ADMITTED);
    r.admitted.facts.vpid = VPID_MAX + 1;
    assert_record_refused(r, "limits");
    r = sample_record(RECORD_STEP);
    r.step.vpid = VPID_HEAD;
    assert_record_refused(r, "vpid 0");
    r = sample_record(RECORD_STEP);
    r.step.event = MEMBER_EV_LOSE + 1;
    assert_record_refused(r, "limits");
    r = sample_record(RECORD_CPUS);
    r.cpus.vpid = VPID_MAX + 1;
    assert_record_refused(r, "vpid");
    r = sample_record(RECORD_SIZE);
    r.size.bound = VPID_MAX + 1;
    assert_record_refused(r, "members");
}

static void requests_for_values_out_of_their_limits_are_refused(void **state)
{
    struct record r = sample_record(RECORD_PUBLISHED);

    r.published.request.asker.vpid = VPID_MAX + 1;
    assert_record_refused(r, "of vpid");
    r = sample_record(RECORD_PUBLISHED);
    r.published.request.open_from = r.published.request.question + 1;
    assert_record_refused(r, "question");
    r = sample_record(RECORD_PUBLISHED);
    r.published.request.asker.epoch = (struct epoch){0, 0};
    assert_record_refused(r, "question");
    r = sample_record(RECORD_UNPUBLISHED);
    r.unpublished.n = 0;
    assert_record_refused(r, "no value");
}

static void releases_out_of_their_limits_are_refused(void **state)
{
    struct record r = sample_record(RECORD_RELEASE);

    r.release.id.vpid = VPID_MAX + 1;
    assert_record_refused(r, "vpid");
    r = sample_record(RECORD_RELEASE);
    r.release.id.epoch = (struct epoch){0, 0};
    assert_record_refused(r, "vpid");
    r = sample_record(RECORD_RELEASE);
    r.release.until_ms = 0;
    assert_record_refused(r, "vpid");
    r = sample_record(RECORD_RELEASE);
    r.release.deadline_s = -2;
    assert_record_refused(r, "-2 s");
    r.release.deadline_s = API_DEADLINE_MAX + 1;
    assert_record_refused(r, " s");
}

static void other_messages_are_no_operations(void **state)
{
    struct record r = {.type = RECORD_OP_STARTED, .op.msg = {.type = MSG_PING}};

    assert_record_refused(r, "no membership operation");
    r = sample_record(RECORD_OP_STARTED);
    r.op.msg.remove.op = 0;
    assert_record_refused(r, "without a number");
}

static void jobs_out_of_their_limits_are_refused(void **state)
{
    struct record r = sample_record(RECORD_JOB_ACCEPTED);

    r.job.number = 0;
    assert_record_refused(r, "job 0");
    r = sample_record(RECORD_JOB_ACCEPTED);
    r.job.submit_vpid = VPID_MAX + 1;
    assert_record_refused(r, "of vpid");
    r = sample_record(RECORD_JOB_ACCEPTED);
    r.job.submit_epoch = (struct epoch){0, 0};
    assert_record_refused(r, "of vpid 3");
    r = sample_record(RECORD_JOB_ACCEPTED);
    r.job.spec.napps = 0;
    assert_record_refused(r, "no application");
    r = sample_record(RECORD_JOB_STEP);
    r.job_step.event = JOB_EV_NO_MAP + 1;
    assert_record_refused(r, "limits");
    r = sample_record(RECORD_JOB_RESULT);
    r.job_result.exit_code = 256;
    assert_record_refused(r, "exit code 256");
    r = sample_record(RECORD_JOB_RESULT);
    r.job_result.failure = JOB_EV_DONE;
    assert_record_refused(r, "failure 1");
}

static void ends_that_no_rank_has_are_refused(void **state)
{
    struct record r = sample_record(RECORD_JOB_RANK_ENDED);
    char text[RECORD_LOSS_MAX + 2];

    r.job_rank_ended.state = PROC_LOST;
    assert_record_refused(r, "rank 2 of job 1 ends as 60");
    r.job_rank_ended.state = PROC_RUNNING;
    assert_record_refused(r, "rank 2 of job 1 ends as 4");
    r.job_rank_ended.state = PROC_FAILED_TO_START;
    assert_record_refused(r, "rank 2 of job 1 has not failed");
    r = sample_record(RECORD_JOB_RANK_ENDED);
    r.job_rank_ended.status = 0;
    assert_record_refused(r, "rank 2 of job 1 has not failed");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    r = sample_record(RECORD_JOB_RANK_ENDED);
    r.job_rank_ended.loss = text;
    assert_record_refused(r, "limits");
    r = sample_record(RECORD_JOB_KIN_FAILED);
    r.job_kin_failed.text = "";
    assert_record_refused(r, "no reason");
    r = sample_record(RECORD_JOB_JUDGED);
    r.job_judged.judgement = JOB_NOT_JUDGED;
    assert_record_refused(r, "no judgement");
    r.job_judged.judgement = JOB_JUDGEMENTS;
    assert_record_refused(r, "limits");
    r = sample_record(RECORD_JOB_NODE_GONE);
    r.job_node_gone.loss = text;
    assert_record_refused(r, "limits");
}

static void maps_out_of_their_limits_are_refused(void **state)
{
    uint32_t ranks[] = {0, 2, 0}, apps[] = {0, JOB_APPS_MAX, 0};
    struct job_node nodes[] = {{VPID_MAX + 1, 2, "x-3"}, {0, 0, "x-head-0"}};
    struct record r = sample_record(RECORD_JOB_MAPPED);

    r.job_map.rank_node = ranks;
    assert_record_refused(r, "rank 1 of job 1 is on node 2 of 2");
    r = sample_record(RECORD_JOB_MAPPED);
    r.job_map.rank_app = apps;
    assert_record_refused(r, "rank 1 of job 1");
    r = sample_record(RECORD_JOB_MAPPED);
    r.job_map.nodes = nodes;
    assert_record_refused(r, "vpid 65536 in the map");
    nodes[0].vpid = 3;
    assert_record_refused(r, "vpid 0 in the map"); /* without an epoch */
    r = sample_record(RECORD_JOB_MAPPED);
    r.job_map.bind = JOB_LEVELS;
    assert_record_refused(r, "limits");
}

/* Ranks 0 and 2 of the map have hardware threads. */
static struct record bound_map(hwloc_bitmap_t *taken)
{
    struct record r = sample_record(RECORD_JOB_MAPPED);

    taken[0] = hwloc_bitmap_alloc();
    taken[1] = NULL;
    taken[2] = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(taken[0], 0, 3);
    hwloc_bitmap_set(taken[2], 4095);
    r.job_map.taken = taken;
    return r;
}

static void hardware_threads_of_ranks_are_kept(void **state)
{
    hwloc_bitmap_t taken[3];
    BUF_AUTO struct buf b = {0}, again = {0};
    struct record r = bound_map(taken), out, copy = {.type = RECORD_JOB_MAPPED};
    struct err err = {0};

    encode_record(&b, &r);
    assert_int_equal(record_decode(b.data, b.len, &out, &err), 0);
    record_job_map_copy(&copy.job_map, &out.job_map);
    record_free(&out);
    assert_true(hwloc_bitmap_isequal(copy.job_map.taken[0], taken[0]));
    assert_null(copy.job_map.taken[1]);
    assert_true(hwloc_bitmap_isequal(copy.job_map.taken[2], taken[2]));
    encode_record(&again, &copy);
    assert_int_equal(again.len, b.len);
    assert_memory_equal(again.data, b.data, b.len);
    record_free(&copy);
    hwloc_bitmap_set(taken[2], TOPO_PUS_MAX);
    assert_record_refused(r, "hardware thread 4096 after 4095");
    hwloc_bitmap_free(taken[0]);
    hwloc_bitmap_free(taken[2]);
}

static void an_event_that_is_no_json_of_an_event_is_refused(void **state)
{
    static const char *const bad[] = {"", "{", "[]", "{}", "{\"number\":1}"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        BUF_AUTO struct buf b = {0};

        buf_init(&b, 1024);
        buf_put_u8(&b, RECORD_EVENT);
        buf_put_str(&b, bad[i]);
        assert_refused(b.data, b.len, "record EVENT");
    }
}

static void campaigns_that_no_head_has_are_refused(void **state)
{
    struct campaign c = *sample_record(RECORD_CAMPAIGN).campaign;
    struct campaign_target turned[] = {{.id.vpid = 4}, {.id.vpid = 3}};
    struct campaign_target twice[] = {{.id.vpid = 3}, {.id.vpid = 3}};
    struct record r = {.type = RECORD_CAMPAIGN, .campaign = &c};

    c.targets = turned;
    assert_record_refused(r, "malformed");
    c.targets = twice;
    assert_record_refused(r, "malformed");
    c.ntargets = 0;
    assert_record_refused(r, "malformed");
    c = *sample_record(RECORD_CAMPAIGN).campaign;
    c.id = "";
    assert_record_refused(r, "malformed");
    c = *sample_record(RECORD_CAMPAIGN).campaign;
    c.phase = API_PHASES;
    assert_record_refused(r, "malformed");
    c = *sample_record(RECORD_CAMPAIGN).campaign;
    c.req.deadline_s = -2;
    assert_record_refused(r, "malformed");
    r = sample_record(RECORD_CAMPAIGN_STEP);
    r.campaign_step.event = 0;
    assert_record_refused(r, "event 0");
    r = sample_record(RECORD_RELEASE);
    r.release.deadline_s = -2;
    assert_record_refused(r, "-2 s");
    r = sample_record(RECORD_RELEASE);
    r.release.id.epoch = (struct epoch){0, 0};
    assert_record_refused(r, "vpid 3");
}

static void a_table_of_members_of_other_epochs_is_refused(void **state)
{
    struct record r = sample_record(RECORD_MEMBERS);

    r.members.incarnation = 0;
    assert_record_refused(r, "of incarnation 0");
    r = sample_record(RECORD_MEMBERS);
    r.members.incarnation++;
    assert_record_refused(r, "another incarnation");
    r = sample_record(RECORD_MEMBERS);
    r.members.last_epoch = 1;
    assert_record_refused(r, "too late a one");
    r = sample_record(RECORD_MEMBERS);
    r.members.size = VPID_MAX + 1;
    assert_record_refused(r, "members of incarnation");
    r = sample_record(RECORD_MEMBERS);
    r.members.len--;
    assert_record_refused(r, "malformed");
}

static void every_record_is_decoded_as_it_was_encoded(void **state)
{
    for (unsigned type = RECORD_SNAPSHOT; type < RECORD_TYPES; type++) {
        struct record r = sample_record(type);
        BUF_AUTO struct buf first = {0};
        BUF_AUTO struct buf second = {0};
        struct record out;
        struct err err = {0};

        encode_record(&first, &r);
        if (record_decode(first.data, first.len, &out, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(out.type, type);
        encode_record(&second, &out);
        record_free(&out);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.data, second.data, first.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_types_are_refused),
        cmocka_unit_test(every_prefix_and_every_longer_record_is_refused),
        cmocka_unit_test(a_begin_without_an_epoch_of_the_head_is_refused),
        cmocka_unit_test(records_of_another_layout_are_refused),
        cmocka_unit_test(moments_beyond_all_clocks_are_refused),
        cmocka_unit_test(an_heir_may_skip_as_many_numbers_as_the_limit_says),
        cmocka_unit_test(a_job_may_be_of_the_highest_vpid),
        cmocka_unit_test(members_out_of_their_limits_are_refused),
        cmocka_unit_test(requests_for_values_out_of_their_limits_are_refused),
        cmocka_unit_test(releases_out_of_their_limits_are_refused),
        cmocka_unit_test(other_messages_are_no_operations),
        cmocka_unit_test(jobs_out_of_their_limits_are_refused),
        cmocka_unit_test(ends_that_no_rank_has_are_refused),
        cmocka_unit_test(maps_out_of_their_limits_are_refused),
        cmocka_unit_test(hardware_threads_of_ranks_are_kept),
        cmocka_unit_test(an_event_that_is_no_json_of_an_event_is_refused),
        cmocka_unit_test(campaigns_that_no_head_has_are_refused),
        cmocka_unit_test(a_table_of_members_of_other_epochs_is_refused),
        cmocka_unit_test(every_record_is_decoded_as_it_was_encoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
