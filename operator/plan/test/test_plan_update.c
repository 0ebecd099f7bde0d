/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the plan of a rolling update. */
#include "operator/plan/test/fixture.h"

/* A settled cluster whose user has changed the template: no pod has the new one. */
static void fix_outdated(struct fix *f, uint32_t max_unavailable)
{
    fix_settled(f);
    f->c.update.max_unavailable = max_unavailable;
    for (size_t i = 0; i < f->in.npods; i++)
        f->pods[i].outdated = f->pods[i].changed = true;
    f->pods[0].changed = false;
}

/* The update of vpids `first` to `last` is recorded. The head has it in `phase` (-1: does not know
 * it). */
static void fix_update(struct fix *f, uint32_t first, uint32_t last, enum cluster_phase recorded,
                       int phase)
{
    fix_shrink(f, first, last, recorded, phase);
    f->c.record.campaign.kind = CLUSTER_UPDATE;
    f->view.size_members = 8;
}

static void assert_update(const struct plan *p, uint32_t first, uint32_t last)
{
    assert_actions(p, "Record");
    assert_true(p->record.campaign.present);
    assert_int_equal(p->record.campaign.kind, CLUSTER_UPDATE);
    assert_int_equal(p->record.campaign.first, first);
    assert_int_equal(p->record.campaign.last, last);
    assert_memory_equal(p->record.campaign.id, "update-2-", 9);
}

static void the_highest_member_with_an_old_template_is_the_first(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    f.pods[8].outdated = f.pods[8].changed = false;
    PLAN(f);
    assert_update(p, 7, 7);
}

static void as_many_as_may_be_unavailable_leave_at_once(void **state)
{
    struct fix f;

    fix_outdated(&f, 3);
    PLAN(f);
    assert_update(p, 6, 8);
    f.pods[7].changed = false;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_update(q, 8, 8);
}

static void a_percentage_is_one_of_the_members_of_the_size(void **state)
{
    struct fix f;

    fix_outdated(&f, 49);
    f.c.update.percent = true;
    PLAN(f);
    assert_update(p, 6, 8);
}

static void members_that_are_missing_count_as_unavailable(void **state)
{
    struct fix f;

    fix_outdated(&f, 2);
    f.members[2].state = MEMBER_LOST;
    f.pods[3].changed = false;
    PLAN(f);
    assert_update(p, 8, 8);
    f.members[4].state = MEMBER_DRAINING;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "");
}

/* Member 3 is lost for a minute, and its container runs. */
static void fix_lost_member(struct fix *f)
{
    fix_outdated(f, 1);
    f->members[2].state = MEMBER_LOST;
    f->pods[3].running_since_ms = FIX_NOW - 60000;
}

static void a_lost_daemon_with_an_old_template_does_not_hold_up_its_own_replacement(void **state)
{
    struct fix f;

    fix_lost_member(&f);
    PLAN(f);
    assert_actions(p, "DeletePod x-3");
    fix_lost_member(&f);
    f.pods[3].running_since_ms = FIX_NOW - 1000; /* it may still join */
    PLAN_AUTO struct plan *young = plan_make(fix_ages(&f));
    assert_actions(young, "");
    assert_int_equal(young->again_ms, PLAN_PARKED_MS - 1000);
    fix_lost_member(&f);
    f.pods[3].changed = false;
    PLAN_AUTO struct plan *same = plan_make(fix_ages(&f));
    assert_actions(same, "");
    fix_lost_member(&f);
    f.c.update.on_delete = true;
    PLAN_AUTO struct plan *by_user = plan_make(fix_ages(&f));
    assert_actions(by_user, "");
    fix_lost_member(&f);
    fix_head_down(&f, FIX_NOW);
    PLAN_AUTO struct plan *blind = plan_make(fix_ages(&f));
    assert_actions(blind, "");
}

static void nothing_is_replaced(struct fix *f)
{
    PLAN(*f);
    assert_actions(p, "");
}

static void no_update_begins_without_cause_head_or_the_whole_size(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    f.c.update.on_delete = true;
    nothing_is_replaced(&f);
    fix_outdated(&f, 1);
    for (size_t i = 0; i < f.in.npods; i++)
        f.pods[i].changed = false; /* a new operator, and the same spec */
    nothing_is_replaced(&f);
    fix_outdated(&f, 1);
    fix_head_down(&f, FIX_NOW);
    nothing_is_replaced(&f);
    fix_outdated(&f, 1);
    f.in.child[CLUSTER_MEMBER_SET].refused = true;
    f.in.child[CLUSTER_MEMBER_SET].current = false;
    nothing_is_replaced(&f);
    fix_outdated(&f, 1);
    for (size_t i = 1; i < f.in.npods; i++)
        f.pods[i].deleting = true;
    nothing_is_replaced(&f);
}

static void the_head_is_asked_and_its_pod_is_never_deleted(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    f.pods[0].changed = true;
    fix_update(&f, 8, 8, CLUSTER_RECORDED, -1);
    PLAN(f);
    assert_actions(p, "PutCampaign");
    for (size_t i = 1; i < f.in.npods; i++)
        f.pods[i].outdated = f.pods[i].changed = false;
    memset(&f.c.record.campaign, 0, sizeof(f.c.record.campaign));
    nothing_is_replaced(&f);
}

static void the_request_keeps_the_size(void **state)
{
    struct cluster_campaign c = {.kind = CLUSTER_UPDATE, .first = 3, .last = 3};
    struct api_campaign_request r;

    cluster_campaign_request(&c, &r);
    assert_true(r.keeps_size);
    api_campaign_request_free(&r);
    c.kind = CLUSTER_SHRINK;
    cluster_campaign_request(&c, &r);
    assert_false(r.keeps_size);
    api_campaign_request_free(&r);
}

static void a_pod_is_deleted_when_its_daemon_has_left_and_no_earlier(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    fix_update(&f, 8, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.members[7].state = MEMBER_DRAINING;
    nothing_is_replaced(&f);
    f.reported[0].phase = API_PHASE_REMOVING;
    nothing_is_replaced(&f);
    f.reported[0].phase = API_PHASE_COMPLETE;
    f.members[7].state = MEMBER_PARKED;
    f.pods[8].running_since_ms = 0; /* it would be deleted for that, too */
    PLAN(f);
    assert_actions(p, "DeletePod x-8");
    f.pods[8].deleting = true;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Record");
    assert_false(q->record.campaign.present);
    assert_int_equal(q->record.last.phase, CLUSTER_COMPLETE);
}

static void a_draining_update_is_cancelled(struct fix *f)
{
    fix_update(f, 8, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f->members[7].state = MEMBER_DRAINING;
    PLAN(*f);
    assert_int_equal(p->actions[0].verb, PLAN_CANCEL_CAMPAIGN);
}

static void a_scale_down_a_reverted_spec_and_another_drain_cancel_it(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    f.c.replicas = 5;
    a_draining_update_is_cancelled(&f);
    fix_outdated(&f, 1);
    f.pods[8].changed = false;
    a_draining_update_is_cancelled(&f);
    fix_outdated(&f, 1);
    f.c.update.on_delete = true;
    a_draining_update_is_cancelled(&f);
    fix_outdated(&f, 1);
    fix_update(&f, 8, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.c.drain.mode = API_DRAIN_KILL;
    PLAN(f);
    assert_actions(p, "CancelCampaign");
}

static void an_update_that_drains_holds_up_no_growth(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    f.c.replicas = 10;
    fix_update(&f, 8, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.members[7].state = MEMBER_DRAINING;
    f.view.size_members = f.c.record.size_members = 10;
    f.view.size_limits = f.c.record.size_limits = (struct api_size_limits){true, 10, 10};
    PLAN(f);
    assert_actions(p, "Apply members=10 only");
}

static void a_silent_head_completes_no_update(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    f.c.drain.deadline_s = 1;
    fix_update(&f, 8, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.c.record.campaign.drain = f.c.drain;
    fix_head_down(&f, FIX_NOW - 100000);
    nothing_is_replaced(&f);
}

static void a_refused_update_is_tried_again_later(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    fix_update(&f, 8, 8, CLUSTER_RECORDED, -1);
    fix_answer(&f, 422, API_REASON_HEAD_CANNOT_LEAVE);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.last.phase, CLUSTER_REJECTED);
    fix_take_record(&f, p);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "");
    assert_true(q->again_ms > 0);
    cluster_record_free(&f.c.record);
}

static void a_suspension_supersedes_an_update(void **state)
{
    struct fix f;

    fix_outdated(&f, 1);
    f.c.suspend = true;
    fix_update(&f, 8, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.campaign.kind, CLUSTER_SHUTDOWN);
    assert_int_equal(p->record.last.phase, CLUSTER_SUPERSEDED);
}

/* The user has changed the template, and all members have the new one. */
static void fix_outdated_head(struct fix *f)
{
    fix_settled(f);
    f->c.update.max_unavailable = f->c.disruption.head = 1;
    f->in.head.idle = true;
    f->pods[0].outdated = f->pods[0].changed = true;
}

static void the_head_is_replaced_last_while_its_end_ends_no_job(void **state)
{
    struct fix f;

    fix_outdated_head(&f);
    f.in.head.idle = false;
    PLAN(f);
    assert_actions(p, "");
    f.in.head.idle = true;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "DeletePod x-head-0");
    assert_false(q->actions[0].force);
    f.pods[0].deleting = true;
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "");
}

static void the_head_is_not_replaced_before_its_members(void **state)
{
    struct fix f;

    fix_outdated_head(&f);
    f.pods[1].outdated = f.pods[1].changed = true;
    PLAN(f);
    assert_update(p, 1, 1);
    f.pods[1].changed = f.pods[1].outdated = false;
    f.pods[1].stale = true; /* its controller does not know it yet */
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "");
    f.pods[1].stale = false;
    f.members[0].state = MEMBER_LOST;
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "");
    f.members[0].state = MEMBER_WIRED;
    f.in.child[CLUSTER_MEMBER_SET].current = false;
    PLAN_AUTO struct plan *s = plan_make(fix_ages(&f));
    for (size_t i = 0; i < s->n; i++)
        assert_int_not_equal(s->actions[i].verb, PLAN_DELETE_POD);
}

static void the_head_is_not_replaced_while_a_campaign_runs(void **state)
{
    struct fix f;

    fix_outdated_head(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    PLAN(f);
    assert_actions(p, "");
}

static void a_head_that_nobody_changed_or_that_the_user_keeps_is_not_replaced(void **state)
{
    struct fix f;

    fix_outdated_head(&f);
    f.pods[0].changed = false; /* a newer operator would make it differently */
    PLAN(f);
    assert_actions(p, "");
    f.pods[0].changed = true;
    f.c.update.on_delete = true;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "");
    f.c.update.on_delete = false;
    f.c.disruption.head = 0;
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "");
    f.c.disruption.head = 1;
    fix_head_down(&f, FIX_NOW - 1000);
    f.in.head.idle = true;
    PLAN_AUTO struct plan *t = plan_make(fix_ages(&f));
    assert_actions(t, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_replaced_last_while_its_end_ends_no_job),
        cmocka_unit_test(the_head_is_not_replaced_before_its_members),
        cmocka_unit_test(the_head_is_not_replaced_while_a_campaign_runs),
        cmocka_unit_test(a_head_that_nobody_changed_or_that_the_user_keeps_is_not_replaced),
        cmocka_unit_test(the_highest_member_with_an_old_template_is_the_first),
        cmocka_unit_test(as_many_as_may_be_unavailable_leave_at_once),
        cmocka_unit_test(a_percentage_is_one_of_the_members_of_the_size),
        cmocka_unit_test(members_that_are_missing_count_as_unavailable),
        cmocka_unit_test(a_lost_daemon_with_an_old_template_does_not_hold_up_its_own_replacement),
        cmocka_unit_test(no_update_begins_without_cause_head_or_the_whole_size),
        cmocka_unit_test(the_head_is_asked_and_its_pod_is_never_deleted),
        cmocka_unit_test(the_request_keeps_the_size),
        cmocka_unit_test(a_pod_is_deleted_when_its_daemon_has_left_and_no_earlier),
        cmocka_unit_test(a_scale_down_a_reverted_spec_and_another_drain_cancel_it),
        cmocka_unit_test(an_update_that_drains_holds_up_no_growth),
        cmocka_unit_test(a_silent_head_completes_no_update),
        cmocka_unit_test(a_refused_update_is_tried_again_later),
        cmocka_unit_test(a_suspension_supersedes_an_update),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
