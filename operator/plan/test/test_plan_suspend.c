/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the plan of a suspension and of resuming. */
#include "operator/plan/test/fixture.h"

static void suspend_records_the_shutdown_first(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.suspend = true;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.campaign.kind, CLUSTER_SHUTDOWN);
    assert_string_equal(p->record.campaign.incarnation, FIX_LIFE);
    assert_int_equal(p->target, 0);
}

static void fix_shutdown(struct fix *f, enum cluster_phase phase)
{
    f->c.suspend = true;
    f->c.record.sequence = 2;
    f->c.record.campaign =
        (struct cluster_campaign){.present = true,
                                  .kind = CLUSTER_SHUTDOWN,
                                  .sequence = 2,
                                  .first = 1,
                                  .last = 8,
                                  .phase = phase,
                                  .drain = {.mode = API_DRAIN_WAIT, .deadline_s = 20},
                                  .recorded_ms = FIX_NOW - 1000,
                                  .accepted_ms = phase ? FIX_NOW - 500 : 0};
    snprintf(f->c.record.campaign.id, API_ID_MAX, "shutdown-2");
    snprintf(f->c.record.campaign.incarnation, 17, FIX_LIFE);
}

static void a_suspended_head_is_shut_down_within_the_users_deadline(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shutdown(&f, CLUSTER_RECORDED);
    PLAN(f);
    assert_actions(p, "PutShutdown");
    assert_int_equal(p->actions[0].deadline_s, 20);
    fix_answer(&f, 202, API_REASON_NONE);
    snprintf(f.answer.id, sizeof(f.answer.id), "shutdown-2");
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Record");
    assert_int_equal(q->record.campaign.phase, CLUSTER_DRAINING);
}

static void a_broken_connection_does_not_complete_a_shutdown(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shutdown(&f, CLUSTER_DRAINING);
    fix_head_down(&f, FIX_NOW - 100);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->again_ms, 20000 + PLAN_SHUTDOWN_SLACK_MS - 500);
}

static void the_sets_are_scaled_to_zero_when_the_head_has_ended(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shutdown(&f, CLUSTER_DRAINING);
    fix_head_down(&f, FIX_NOW - 100);
    f.pods[0].running_since_ms = 0;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.campaign.phase, CLUSTER_COMPLETE);
    fix_take_record(&f, p);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Apply head=0- only; Apply members=0- only");
    f.in.child[CLUSTER_HEAD_SET].replicas = f.in.child[CLUSTER_MEMBER_SET].replicas = 0;
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "Record");
    assert_false(r->record.campaign.present);
    assert_string_equal(r->record.incarnation, "");
    fix_take_record(&f, r);
    PLAN_AUTO struct plan *s = plan_make(fix_ages(&f));
    assert_actions(s, "");
    cluster_record_free(&f.c.record);
}

static void another_incarnation_completes_the_shutdown(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shutdown(&f, CLUSTER_DRAINING);
    snprintf(f.view.incarnation, sizeof(f.view.incarnation), FIX_OTHER_LIFE);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.campaign.phase, CLUSTER_COMPLETE);
}

static void a_suspension_without_the_head_removes_nothing(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shutdown(&f, CLUSTER_RECORDED);
    fix_head_down(&f, FIX_NOW - 3600000);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->blocked, PLAN_BLOCK_HEAD);
}

static void a_suspension_supersedes_a_shrink(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.suspend = true;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.last.phase, CLUSTER_SUPERSEDED);
    assert_int_equal(p->record.campaign.kind, CLUSTER_SHUTDOWN);
}

static void a_dvm_that_never_formed_is_suspended_at_once(void **state)
{
    struct fix f;

    fix_settled(&f);
    memset(&f.c.record, 0, sizeof(f.c.record));
    f.c.suspend = true;
    fix_head_down(&f, FIX_NOW - 1000);
    PLAN(f);
    assert_actions(p, "Apply head=0- only; Apply members=0- only");
}

static void a_shutdown_that_was_accepted_is_finished_before_resuming(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shutdown(&f, CLUSTER_DRAINING);
    f.c.suspend = false;
    PLAN(f);
    assert_actions(p, "");
    f.c.record.campaign.phase = CLUSTER_COMPLETE;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Apply head=0- only; Apply members=0- only");
}

static void resuming_brings_head_and_members_back(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.record.incarnation[0] = '\0';
    f.in.child[CLUSTER_HEAD_SET].replicas = f.in.child[CLUSTER_MEMBER_SET].replicas = 0;
    f.in.npods = 0;
    fix_head_down(&f, FIX_NOW);
    PLAN(f);
    assert_actions(p, "Apply head=1 only; Apply members=8 only");
}

static void resuming_cancels_a_shutdown_that_the_head_never_saw(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shutdown(&f, CLUSTER_RECORDED);
    f.c.suspend = false;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.last.phase, CLUSTER_CANCELLED);
    cluster_record_free(&f.c.record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suspend_records_the_shutdown_first),
        cmocka_unit_test(a_suspended_head_is_shut_down_within_the_users_deadline),
        cmocka_unit_test(a_broken_connection_does_not_complete_a_shutdown),
        cmocka_unit_test(the_sets_are_scaled_to_zero_when_the_head_has_ended),
        cmocka_unit_test(another_incarnation_completes_the_shutdown),
        cmocka_unit_test(a_suspension_without_the_head_removes_nothing),
        cmocka_unit_test(a_suspension_supersedes_a_shrink),
        cmocka_unit_test(a_dvm_that_never_formed_is_suspended_at_once),
        cmocka_unit_test(a_shutdown_that_was_accepted_is_finished_before_resuming),
        cmocka_unit_test(resuming_brings_head_and_members_back),
        cmocka_unit_test(resuming_cancels_a_shutdown_that_the_head_never_saw),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
