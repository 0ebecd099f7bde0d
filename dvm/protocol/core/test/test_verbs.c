/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of the control API at the head: which requests are refused, with which reason, status
 * and text, and that a refused one changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/scene.h"
#include "dvm/protocol/head/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The scene: members 1..4, a job with a rank on each, shrink "c" (sequence 1) of vpid 4 drains. */
struct answer {
    int rc;
    enum api_reason reason;
    struct err err;
    struct api_campaign c; /* if rc is 0 */
};

static struct buf digest(const struct scene *s)
{
    struct buf b;

    buf_init(&b, 16u << 20);
    scene_digest(s, &b);
    return b;
}

static struct answer put(struct scene *s, const char *id, uint64_t sequence,
                         const uint32_t *targets, size_t n)
{
    struct api_campaign_request r = {
        .sequence = sequence, .deadline_s = -1, .ntargets = n, .targets = (uint32_t *)targets};
    struct answer a = {.reason = API_REASON_NONE};

    a.rc = core_campaign_put(s->core, id, &r, &a.c, &a.reason, &a.err);
    return a;
}

static void assert_refused(struct scene *s, const struct answer *a, const struct buf *before,
                           const char *reason, int status, const char *text)
{
    BUF_AUTO struct buf after = digest(s);

    assert_int_equal(a->rc, -1);
    assert_string_equal(api_reason_word(a->reason), reason);
    assert_int_equal(a->err.code, status);
    if (!strstr(a->err.msg, text))
        fail_msg("'%s' does not say '%s'", a->err.msg, text);
    if (before->len != after.len || memcmp(before->data, after.data, after.len) != 0)
        fail_msg("%s has changed something", reason);
}

static void an_impossible_shrink_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        const char *id;
        uint64_t sequence;
        uint32_t targets[4];
        size_t n;
        const char *reason;
        int status;
        const char *text;
    } rows[] = {
        {"c", 1, {3, 4}, 2, "IdReused", 409, "with another body"},
        {"c", 2, {4}, 1, "IdReused", 409, "with another body"},
        {"release-1", 2, {4}, 1, "BadRequest", 400, "the head's own"},
        {"alloc-1", 2, {4}, 1, "BadRequest", 400, "the head's own"},
        {"x", 0, {4}, 1, "SequenceTooOld", 409, "sequence 0 is older than 1"},
        {"x", 2, {0}, 0, "BadRequest", 400, "at least one vpid"},
        {"x", 2, {0, 1, 2, 3}, 4, "HeadCannotLeave", 422, "vpid 0"},
        {"x", 2, {1}, 1, "NotTrailing", 422, "vpid 2 lies above"},
        {"x", 2, {1, 2}, 2, "NotTrailing", 422, "vpid 3 lies above"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct scene s;

        scene_open(&s, SCENE_HEAD_MEMBER);
        BUF_AUTO struct buf before = digest(&s);
        struct answer a = put(&s, rows[i].id, rows[i].sequence, rows[i].targets, rows[i].n);

        assert_refused(&s, &a, &before, rows[i].reason, rows[i].status, rows[i].text);
        scene_close(&s);
    }
}

static void an_id_that_resembles_the_head_s_own_is_accepted(void **state)
{
    static const char *const ids[] = {"release", "release1", "alloc", "alloc1", "xrelease-1"};

    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        struct scene s;
        struct answer a;

        scene_open(&s, SCENE_HEAD_MEMBER);
        a = put(&s, ids[i], 2, (uint32_t[]){4}, 1);
        if (a.rc < 0)
            fail_msg("%s: %s", ids[i], a.err.msg);
        api_campaign_free(&a.c);
        scene_close(&s);
    }
}

static void a_shrink_asked_for_again_with_another_drain_is_refused(void **state)
{
    static const struct {
        enum api_drain_mode mode;
        int64_t deadline_s;
        bool keeps_size;
    } rows[] = {{API_DRAIN_KILL, -1, false},
                {API_DRAIN_WAIT, 0, false},
                {API_DRAIN_WAIT, 30, false},
                {API_DRAIN_WAIT, -1, true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct api_campaign_request r = {.sequence = 1,
                                         .drain_mode = rows[i].mode,
                                         .deadline_s = rows[i].deadline_s,
                                         .keeps_size = rows[i].keeps_size,
                                         .ntargets = 1,
                                         .targets = (uint32_t[]){4}};
        struct answer a = {.reason = API_REASON_NONE};
        struct scene s;

        scene_open(&s, SCENE_HEAD_MEMBER);
        BUF_AUTO struct buf before = digest(&s);

        a.rc = core_campaign_put(s.core, "c", &r, &a.c, &a.reason, &a.err);
        assert_refused(&s, &a, &before, "IdReused", 409, "with another body");
        scene_close(&s);
    }
}

static void a_shrink_of_a_vpid_never_used_is_refused_once_a_size_is_set(void **state)
{
    struct api_size size = {.sequence = 1, .members = 4};
    struct api_size out;
    enum api_reason reason;
    struct scene s;

    scene_open(&s, SCENE_HEAD_MEMBER);
    assert_int_equal(core_size_put(s.core, &size, &out, &reason, NULL), 0);
    BUF_AUTO struct buf before = digest(&s);
    struct answer a = put(&s, "x", 2, (uint32_t[]){4, 9}, 2);

    assert_refused(&s, &a, &before, "UnknownVpid", 422, "vpid 9 was never part");
    scene_close(&s);
}

static void the_same_shrink_asked_for_again_answers_the_record_that_is_there(void **state)
{
    struct scene s;

    scene_open(&s, SCENE_HEAD_MEMBER);
    BUF_AUTO struct buf before = digest(&s);
    struct answer a = put(&s, "c", 1, (uint32_t[]){4}, 1);
    BUF_AUTO struct buf after = digest(&s);

    assert_int_equal(a.rc, 0);
    assert_int_equal(a.c.phase, API_PHASE_DRAINING);
    assert_int_equal(a.c.nwaiting, 1);
    assert_int_equal(after.len, before.len);
    assert_memory_equal(after.data, before.data, before.len);
    api_campaign_free(&a.c);
    scene_close(&s);
}

static void a_campaign_that_is_not_known_cannot_be_asked_for_or_cancelled(void **state)
{
    struct scene s;
    struct answer a = {.reason = API_REASON_NONE};

    scene_open(&s, SCENE_HEAD_MEMBER);
    BUF_AUTO struct buf before = digest(&s);

    a.rc = core_campaign_get(s.core, "nobody", &a.c, &a.reason, &a.err);
    assert_refused(&s, &a, &before, "NotFound", 404, "no campaign nobody");
    a = (struct answer){.reason = API_REASON_NONE};
    a.rc = core_campaign_cancel(s.core, "nobody", &a.c, &a.reason, &a.err);
    assert_refused(&s, &a, &before, "NotFound", 404, "no campaign nobody");
    scene_close(&s);
}

static void a_cancel_twice_or_after_the_end_answers_the_record(void **state)
{
    struct scene s;
    struct answer a = {.reason = API_REASON_NONE};

    scene_open(&s, SCENE_HEAD_MEMBER);
    for (int again = 0; again < 2; again++) {
        a.rc = core_campaign_cancel(s.core, "c", &a.c, &a.reason, &a.err);
        assert_int_equal(a.rc, 0);
        assert_int_equal(a.c.phase, API_PHASE_CANCELLED);
        api_campaign_free(&a.c);
    }
    scene_close(&s);
}

/* One campaign runs from the start. When one has ended there is room again: its record is
 * removed. */
static void a_campaign_over_the_limit_of_running_campaigns_is_refused(void **state)
{
    struct scene s;
    struct answer a;
    enum api_reason reason;
    char id[16];

    scene_open(&s, SCENE_HEAD_MEMBER);
    for (unsigned i = 1; i < RESIZE_CAMPAIGNS_MAX; i++) {
        snprintf(id, sizeof(id), "x%u", i);
        a = put(&s, id, 2, (uint32_t[]){4}, 1);
        assert_int_equal(a.rc, 0);
        assert_int_equal(a.c.phase, API_PHASE_DRAINING);
        api_campaign_free(&a.c);
    }
    BUF_AUTO struct buf before = digest(&s);

    a = put(&s, "more", 3, (uint32_t[]){4}, 1);
    assert_refused(&s, &a, &before, "TooManyCampaigns", 503, "256 campaigns are running");
    assert_int_equal(core_campaign_cancel(s.core, "x7", &a.c, &reason, NULL), 0);
    api_campaign_free(&a.c);
    a = put(&s, "more", 3, (uint32_t[]){4}, 1);
    assert_int_equal(a.rc, 0);
    api_campaign_free(&a.c);
    assert_int_equal(core_campaign_get(s.core, "x7", &a.c, &reason, NULL), -1);
    assert_int_equal(core_campaign_get(s.core, "x6", &a.c, &reason, NULL), 0);
    api_campaign_free(&a.c);
    scene_close(&s);
}

static void a_size_that_is_old_used_or_too_large_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        struct api_size in;
        const char *reason;
        int status;
        const char *text;
    } rows[] = {
        {{.sequence = 4, .members = 9}, "SequenceTooOld", 409, "sequence 4 is older than 5"},
        {{.sequence = 5, .members = 9},
         "SequenceTooOld",
         409,
         "sequence 5 has been used for 4 members"},
        {{.sequence = 6, .members = 1048576}, "BadRequest", 400, "1048576 is over the limit"},
    };
    struct api_size in = {.sequence = 5, .members = 4};
    struct api_size out;
    struct answer a = {.reason = API_REASON_NONE};
    struct scene s;

    scene_open(&s, SCENE_HEAD_MEMBER);
    assert_int_equal(core_size_put(s.core, &in, &out, &a.reason, NULL), 0);
    BUF_AUTO struct buf before = digest(&s);

    for (size_t i = 0; i < 3; i++) {
        a = (struct answer){.reason = API_REASON_NONE};
        a.rc = core_size_put(s.core, &rows[i].in, &out, &a.reason, &a.err);
        assert_refused(&s, &a, &before, rows[i].reason, rows[i].status, rows[i].text);
    }
    assert_int_equal(core_size_put(s.core, &in, &out, &a.reason, NULL), 0); /* again: no effect */
    scene_close(&s);
}

static void a_repeated_size_after_a_shrink_gets_the_size_in_force_and_changes_nothing(void **state)
{
    struct api_size in = {.sequence = 5, .members = 4};
    struct api_size out;
    enum api_reason reason = API_REASON_NONE;
    struct answer a;
    struct scene s;

    scene_open(&s, SCENE_HEAD_MEMBER);
    assert_int_equal(core_size_put(s.core, &in, &out, &reason, NULL), 0);
    a = put(&s, "x", 2, (uint32_t[]){3, 4}, 2);
    assert_int_equal(a.rc, 0);
    api_campaign_free(&a.c);
    BUF_AUTO struct buf before = digest(&s);

    assert_int_equal(core_size_put(s.core, &in, &out, &reason, NULL), 0);
    assert_int_equal(out.sequence, 5);
    assert_int_equal(out.members, 2);
    BUF_AUTO struct buf after = digest(&s);

    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, after.len);
    in.members = 2; /* the values in force, not those of the request */
    a.rc = core_size_put(s.core, &in, &out, &a.reason, &a.err);
    assert_refused(&s, &a, &before, "SequenceTooOld", 409, "has been used for 4 members");
    scene_close(&s);
}

static void no_campaign_begins_during_shutdown_and_the_nearer_deadline_counts(void **state)
{
    struct api_shutdown late = {.deadline_s = 1000};
    struct api_shutdown soon = {.deadline_s = 1};
    struct scene s;
    enum api_reason reason;

    scene_open(&s, SCENE_HEAD_MEMBER);
    assert_int_equal(core_shutdown(s.core, &late, &reason, NULL), 0);
    BUF_AUTO struct buf before = digest(&s);
    struct answer a = put(&s, "x", 2, (uint32_t[]){3, 4}, 2);

    assert_refused(&s, &a, &before, "ShuttingDown", 503, "ends");
    sim_drain(s.sim, 0);
    sim_for(s.sim, 3000);
    assert_int_equal(sim_ranks(s.sim, 1), 1);
    assert_int_equal(core_shutdown(s.core, &soon, &reason, NULL), 0);
    assert_int_equal(core_shutdown(s.core, &late, &reason, NULL), 0);
    sim_drain(s.sim, 0);
    sim_for(s.sim, 3000);
    assert_int_equal(sim_ranks(s.sim, 1), 0);
    scene_close(&s);
}

/* The latest ended campaigns are kept, up to the limit. */
static void the_oldest_ended_campaign_is_forgotten_at_the_limit(void **state)
{
    struct scene s;
    struct answer a = {.reason = API_REASON_NONE};
    char id[32];

    scene_open(&s, SCENE_HEAD_MEMBER);
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof(id), "empty%d", i);
        a = put(&s, id, 2, (uint32_t[]){7}, 1);
        assert_int_equal(a.rc, 0);
        assert_int_equal(a.c.phase, API_PHASE_COMPLETE);
        api_campaign_free(&a.c);
    }
    sim_drain(s.sim, 0);
    a.rc = core_campaign_get(s.core, "empty0", &a.c, &a.reason, &a.err);
    assert_int_equal(a.rc, -1);
    assert_int_equal(a.err.code, 404);
    a.rc = core_campaign_get(s.core, "empty299", &a.c, &a.reason, &a.err);
    assert_int_equal(a.rc, 0);
    api_campaign_free(&a.c);
    a.rc = core_campaign_get(s.core, "c", &a.c, &a.reason, &a.err); /* not ended */
    assert_int_equal(a.rc, 0);
    api_campaign_free(&a.c);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_impossible_shrink_is_refused_and_changes_nothing),
        cmocka_unit_test(an_id_that_resembles_the_head_s_own_is_accepted),
        cmocka_unit_test(a_shrink_asked_for_again_with_another_drain_is_refused),
        cmocka_unit_test(a_shrink_of_a_vpid_never_used_is_refused_once_a_size_is_set),
        cmocka_unit_test(the_same_shrink_asked_for_again_answers_the_record_that_is_there),
        cmocka_unit_test(a_campaign_that_is_not_known_cannot_be_asked_for_or_cancelled),
        cmocka_unit_test(a_cancel_twice_or_after_the_end_answers_the_record),
        cmocka_unit_test(a_campaign_over_the_limit_of_running_campaigns_is_refused),
        cmocka_unit_test(a_size_that_is_old_used_or_too_large_is_refused_and_changes_nothing),
        cmocka_unit_test(a_repeated_size_after_a_shrink_gets_the_size_in_force_and_changes_nothing),
        cmocka_unit_test(no_campaign_begins_during_shutdown_and_the_nearer_deadline_counts),
        cmocka_unit_test(the_oldest_ended_campaign_is_forgotten_at_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
