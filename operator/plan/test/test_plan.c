/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the plan of a resize: first what it must not do, then what it must. */
#include "operator/plan/test/fixture.h"

/* --- what the plan must not do */

static void a_settled_cluster_needs_no_action(void **state)
{
    struct fix f;

    fix_settled(&f);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->again_ms, 0);
}

static void the_set_is_not_reduced_before_the_campaign_is_recorded(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    PLAN(f);
    assert_actions(p, "Record");
    assert_true(p->record.campaign.present);
    assert_int_equal(p->record.campaign.first, 5);
    assert_int_equal(p->record.campaign.last, 8);
    assert_int_equal(p->record.campaign.phase, CLUSTER_RECORDED);
    assert_int_equal(p->record.campaign.generation, 3);
    assert_string_equal(p->actions[0].resource_version, "77");
}

static void the_set_is_not_reduced_while_the_head_drains_or_removes(void **state)
{
    for (int phase = API_PHASE_DRAINING; phase <= API_PHASE_REMOVING; phase++) {
        struct fix f;

        fix_settled(&f);
        f.c.replicas = 4;
        fix_shrink(&f, 5, 8, CLUSTER_DRAINING, phase);
        PLAN(f);
        assert_actions(p, "");
    }
}

static void nothing_is_removed_while_the_head_is_unreachable(void **state)
{
    static const enum plan_link links[] = {PLAN_LINK_DOWN, PLAN_LINK_CONNECTING};
    static const enum cluster_phase phases[] = {CLUSTER_RECORDED, CLUSTER_DRAINING,
                                                CLUSTER_REMOVING};

    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < 3; i++) {
            struct fix f;

            fix_settled(&f);
            f.c.replicas = 4;
            fix_shrink(&f, 5, 8, phases[i], -1);
            fix_head_down(&f, FIX_NOW - 3600000);
            f.in.head.link = links[l];
            PLAN(f);
            assert_actions(p, "");
            assert_int_equal(p->blocked, PLAN_BLOCK_HEAD);
        }
    }
}

static void nothing_is_done_for_a_cluster_that_is_being_deleted(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.deleting = true;
    f.c.replicas = 2;
    f.in.child[CLUSTER_SERVICE].current = false;
    PLAN(f);
    assert_actions(p, "");
}

static void an_object_of_another_owner_or_being_deleted_is_not_changed(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.child[CLUSTER_SERVICE] = (struct plan_child_seen){.foreign = true};
    f.in.child[CLUSTER_MEMBER_SET].current = false;
    f.in.child[CLUSTER_MEMBER_SET].deleting = true;
    PLAN(f);
    assert_actions(p, "");
}

static void a_new_incarnation_of_the_head_is_recorded_before_any_action(void **state)
{
    struct fix f;

    fix_settled(&f);
    snprintf(f.view.incarnation, sizeof(f.view.incarnation), FIX_OTHER_LIFE);
    f.view.size_members = 0;
    f.view.size_sequence = 0;
    f.in.child[CLUSTER_PDB].current = false;
    PLAN(f);
    assert_actions(p, "Record");
    assert_string_equal(p->record.incarnation, FIX_OTHER_LIFE);
    assert_int_equal(p->record.size_sequence, 1);
}

static void the_set_does_not_grow_before_the_head_admits_the_new_members(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 9;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.size_members, 9);
    assert_int_equal(p->record.size_sequence, 2);
    fix_take_record(&f, p);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "PutSize");
    f.view.size_members = 9;
    f.view.size_sequence = 2;
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "Apply members=9 only");
}

static void the_set_does_not_grow_again_while_parked_pods_are_left(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.child[CLUSTER_MEMBER_SET].replicas = 4; /* reduced, but its controller has not acted yet */
    fix_wire(&f, 4);
    PLAN(f);
    assert_actions(p, "");
    for (int i = 5; i <= 8; i++)
        f.pods[i].deleting = true;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Apply members=8 only");
}

static void a_running_pod_of_an_older_template_is_kept(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.pods[3].outdated = true;
    PLAN(f);
    assert_actions(p, "");
}

static void the_sets_are_not_created_without_certificates(void **state)
{
    struct fix f;

    fix_settled(&f);
    memset(&f.c.record, 0, sizeof(f.c.record));
    memset(f.in.child, 0, sizeof(f.in.child));
    f.in.credentials = false;
    f.in.npods = 0;
    fix_head_down(&f, FIX_NOW);
    PLAN(f);
    assert_actions(p, "EnsureCredentials; Apply svc new; Apply head-svc new; Apply pdb new; "
                      "Apply head-pdb new");
}

static void a_rejected_campaign_is_not_tried_again_at_once(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    f.view.size_members = 4;
    f.c.record.last = (struct cluster_campaign){.present = true,
                                                .phase = CLUSTER_REJECTED,
                                                .generation = 3,
                                                .first = 5,
                                                .last = 8,
                                                .applied_ms = FIX_NOW - 1000};
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->blocked, PLAN_BLOCK_REJECTED);
    assert_int_equal(p->again_ms, PLAN_REJECTED_PAUSE_MS - 1000);
    f.c.generation = 4; /* a new generation of the spec may be tried at once */
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Record");
}

/* --- creation */

static void a_new_cluster_gets_all_its_objects(void **state)
{
    struct fix f;

    fix_settled(&f);
    memset(&f.c.record, 0, sizeof(f.c.record));
    memset(f.in.child, 0, sizeof(f.in.child));
    f.in.npods = 0;
    fix_head_down(&f, FIX_NOW);
    PLAN(f);
    assert_actions(p, "Apply svc new; Apply head-svc new; Apply pdb new; Apply head-pdb new; "
                      "Apply head=1 new; Apply members=8 new");
}

static void a_cluster_of_no_members_has_a_head(void **state)
{
    struct fix f;

    fix_settled(&f);
    memset(f.in.child, 0, sizeof(f.in.child));
    f.c.replicas = 0;
    f.in.npods = 0;
    fix_head_down(&f, FIX_NOW);
    PLAN(f);
    assert_actions(p, "Apply svc new; Apply head-svc new; Apply pdb new; Apply head-pdb new; "
                      "Apply head=1 new; Apply members=0 new");
}

static void a_refused_set_is_not_applied_again_but_can_be_scaled(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.child[CLUSTER_MEMBER_SET].current = false;
    f.in.child[CLUSTER_MEMBER_SET].refused = true;
    PLAN(f);
    assert_actions(p, "");
    f.in.child[CLUSTER_MEMBER_SET].replicas = 6;
    f.in.npods = 7;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Apply members=8 only");
}

static void a_changed_template_is_applied_without_changing_the_size(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.in.child[CLUSTER_MEMBER_SET].current = false;
    PLAN(f);
    assert_actions(p, "Apply members=8");
}

static void a_pod_that_cannot_start_with_its_old_template_is_replaced(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.pods[3].outdated = true;
    f.pods[3].running_since_ms = 0;
    f.pods[3].waiting = "ImagePullBackOff";
    PLAN(f);
    assert_actions(p, ""); /* the head reports it as wired, and its report counts */
    f.members[2].state = MEMBER_ABSENT;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "DeletePod x-3");
    assert_string_equal(q->actions[0].uid, "x-3");
}

static void a_pod_of_a_lost_node_is_removed_when_its_daemon_is_lost(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.pods[3].deleting = f.pods[3].node_lost = true;
    PLAN(f);
    assert_actions(p, ""); /* the head still has it: the daemon may live */
    f.members[2].state = MEMBER_LOST;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "DeletePod x-3");
    assert_true(q->actions[0].force);
    f.pods[3].deleting = false;
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, ""); /* no controller has given the node up */
    f.pods[3].deleting = true;
    f.c.node_lost_wait = true;
    PLAN_AUTO struct plan *s = plan_make(fix_ages(&f));
    assert_actions(s, "");
}

static void a_terminating_pod_is_not_forced_while_its_node_answers(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.pods[3].deleting = true;
    f.members[2].state = MEMBER_LOST;
    PLAN(f);
    assert_actions(p, "");
}

static void the_heads_pod_of_a_lost_node_is_removed_long_before_its_members_give_it_up(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.faults = (struct api_faults)API_FAULTS_DEFAULTS;
    assert_int_equal(f.c.faults.head_absence_ms, 300000);
    f.pods[0].deleting = f.pods[0].node_lost = true;
    fix_head_down(&f, FIX_NOW - 29000);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->again_ms, 1000);
    fix_head_down(&f, FIX_NOW - 30000);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "DeletePod x-head-0");
    assert_true(q->actions[0].force);
}

/* --- a shrink, with an operator that is killed after each step */

static void an_operator_killed_after_recording_puts_the_same_campaign(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    PLAN(f);
    assert_actions(p, "PutCampaign");
    assert_string_equal(p->actions[0].id, "shrink-2");
}

static void an_operator_killed_after_putting_waits_for_the_same_campaign(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, API_PHASE_DRAINING);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->record.campaign.phase, CLUSTER_DRAINING);
}

static void an_operator_killed_before_reducing_reduces_with_a_precondition(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, API_PHASE_COMPLETE);
    PLAN(f);
    assert_actions(p, "Apply members=4- only");
    assert_string_equal(p->actions[0].resource_version, "99");
    assert_string_equal(p->actions[0].uid, "u5");
}

static void an_operator_killed_after_reducing_closes_the_campaign_once(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_COMPLETE);
    f.in.child[CLUSTER_MEMBER_SET].replicas = 4;
    fix_pods(&f, 4);
    PLAN(f);
    assert_actions(p, "Record");
    assert_false(p->record.campaign.present);
    assert_string_equal(p->record.last.id, "shrink-2");
    assert_int_equal(p->record.last.phase, CLUSTER_COMPLETE);
    assert_int_equal(p->record.last.applied_ms, FIX_NOW);
    fix_take_record(&f, p);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "PutSize"); /* limits of applications follow the new size */
    assert_int_equal(q->record.size_limits.min, 4);
    assert_int_equal(q->record.size_limits.max, 4);
    f.view.size_limits = q->record.size_limits;
    PLAN_AUTO struct plan *settled = plan_make(fix_ages(&f));
    assert_actions(settled, "");
    cluster_record_free(&f.c.record);
}

static void a_complete_campaign_is_applied_without_asking_the_head_again(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_COMPLETE, -1);
    fix_head_down(&f, FIX_NOW - 60000);
    PLAN(f);
    assert_actions(p, "Apply members=4- only");
}

static void a_new_incarnation_gets_the_size_and_the_campaign_again(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, -1);
    snprintf(f.c.record.incarnation, sizeof(f.c.record.incarnation), FIX_OTHER_LIFE);
    PLAN(f);
    assert_actions(p, "Record");
    fix_take_record(&f, p);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "PutCampaign");
}

static void a_new_incarnation_admits_the_staying_members_before_a_campaign(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    f.view.size_members = 0;
    f.view.size_sequence = 0;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.size_members, 4);
    assert_false(p->record.campaign.present);
    fix_take_record(&f, p);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "PutSize");
    f.view.size_members = 4;
    f.view.size_sequence = 2;
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "Record");
    assert_int_equal(r->record.campaign.first, 5);
}

/* --- changes of the spec during a campaign */

static void a_draining_campaign_that_the_spec_no_longer_asks_for_is_cancelled(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 6;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    PLAN(f);
    assert_actions(p, "CancelCampaign");
}

static void a_removing_campaign_runs_to_its_end_before_a_growth(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_REMOVING);
    PLAN(f);
    assert_actions(p, "");
    f.reported[0].phase = API_PHASE_COMPLETE;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Apply members=4- only");
    f.in.child[CLUSTER_MEMBER_SET].replicas = 4;
    fix_pods(&f, 4);
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "Record"); /* the campaign is closed and the size recorded in one write */
    assert_false(r->record.campaign.present);
    assert_int_equal(r->record.size_members, 8);
    assert_int_equal(r->record.size_sequence, 3);
}

static void a_cancelled_campaign_is_closed_and_the_bound_is_set_again(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_CANCELLED);
    f.view.size_members = 4;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.last.phase, CLUSTER_CANCELLED);
    assert_int_equal(p->record.size_members, 8);
}

static void an_unwanted_campaign_unknown_to_the_head_is_closed(void **state)
{
    struct fix f;

    fix_settled(&f);
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.last.phase, CLUSTER_CANCELLED);
    cluster_record_free(&f.c.record);
}

static void a_deeper_scale_down_is_the_next_campaign(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 2;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    PLAN(f);
    assert_actions(p, "");
    f.reported[0].phase = API_PHASE_COMPLETE;
    f.in.child[CLUSTER_MEMBER_SET].replicas = 4;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Record");
    assert_int_equal(q->record.campaign.first, 3);
    assert_int_equal(q->record.campaign.last, 4);
    assert_int_equal(q->record.campaign.sequence, 3);
}

static void a_changed_drain_policy_replaces_the_campaign(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_DRAINING, API_PHASE_DRAINING);
    f.c.drain.mode = API_DRAIN_KILL;
    PLAN(f);
    assert_actions(p, "CancelCampaign");
}

/* --- refusals of the head */

static void a_campaign_with_an_old_sequence_gets_a_new_one(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    f.view.size_sequence = 40;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    fix_answer(&f, 409, API_REASON_SEQUENCE_TOO_OLD);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.campaign.sequence, 41);
    assert_string_not_equal(p->record.campaign.id, "shrink-2");
}

static void a_refused_campaign_is_closed_with_the_heads_reason(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    fix_answer(&f, 422, API_REASON_NOT_TRAILING);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.last.phase, CLUSTER_REJECTED);
    assert_string_equal(p->record.last.result, "because");
    assert_false(p->record.campaign.present);
}

static void targets_unknown_to_the_head_and_not_admitted_have_left(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    fix_answer(&f, 422, API_REASON_UNKNOWN_VPID);
    f.view.size_members = 4;
    fix_wire(&f, 4);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.campaign.phase, CLUSTER_COMPLETE);
}

static void an_answer_to_another_campaign_is_ignored(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    fix_answer(&f, 422, API_REASON_NOT_TRAILING);
    snprintf(f.answer.id, sizeof(f.answer.id), "shrink-1");
    PLAN(f);
    assert_actions(p, "PutCampaign");
}

static void a_head_that_shuts_down_is_asked_again_later(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    fix_answer(&f, 503, API_REASON_SHUTTING_DOWN);
    PLAN(f);
    assert_actions(p, "PutCampaign");
}

static void a_size_message_with_an_old_sequence_gets_a_new_one(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.view.size_members = 0;
    f.c.record.sequence = f.c.record.size_sequence = 5;
    f.in.size_refused = 5;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.size_sequence, 6);
}

/* --- the head cannot be reached */

static void the_users_deadline_ends_the_wait_for_the_head(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    f.c.drain.deadline_s = 30;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    f.c.record.campaign.recorded_ms = FIX_NOW - 60000;
    fix_head_down(&f, FIX_NOW - 29000);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->again_ms, 1000);
    f.in.head.down_since_ms = FIX_NOW - 30000;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Record");
    assert_int_equal(q->record.campaign.phase, CLUSTER_COMPLETE);
    assert_non_null(q->record.campaign.result);
}

static void a_wall_clock_that_is_moved_neither_ends_nor_prolongs_a_wait(void **state)
{
    static const int64_t day_ms = 86400000;
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    f.c.drain.deadline_s = 30;
    fix_shrink(&f, 5, 8, CLUSTER_RECORDED, -1);
    f.c.record.campaign.recorded_ms = FIX_NOW - 29000;
    fix_head_down(&f, FIX_NOW - 29000);
    fix_ages(&f);
    for (int64_t shift_ms = -day_ms; shift_ms <= day_ms; shift_ms += day_ms) {
        f.in.now_ms = FIX_NOW + shift_ms;
        PLAN_AUTO struct plan *p = plan_make(&f.in);
        assert_actions(p, "");
        assert_int_equal(p->again_ms, 1000);
    }
}

static void a_dvm_that_never_formed_is_scaled_down_at_once(void **state)
{
    struct fix f;

    fix_settled(&f);
    memset(&f.c.record, 0, sizeof(f.c.record));
    f.c.replicas = 3;
    fix_head_down(&f, FIX_NOW - 60000);
    PLAN(f);
    assert_actions(p, "Apply members=3- only");
}

static void pods_may_start_before_the_head_answers(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 9;
    fix_head_down(&f, FIX_NOW - 60000);
    PLAN(f);
    assert_actions(p, "Apply members=9 only");
}

static void a_set_enlarged_by_hand_is_reduced_by_a_campaign(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.in.child[CLUSTER_MEMBER_SET].replicas = 9;
    f.in.child[CLUSTER_MEMBER_SET].current = false;
    fix_pods(&f, 9);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.campaign.first, 9);
    assert_int_equal(p->record.campaign.last, 9);
}

static void a_wanted_daemon_that_stays_parked_gets_a_new_pod(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.members[2].state = MEMBER_PARKED;
    f.pods[3].ready = false;
    f.pods[3].running_since_ms = FIX_NOW - 10000;
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->again_ms, PLAN_PARKED_MS - 10000);
    f.pods[3].running_since_ms = FIX_NOW - PLAN_PARKED_MS;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "DeletePod x-3");
}

/* --- repetition */

static void the_same_situation_gives_the_same_plan(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.replicas = 4;
    PLAN(f);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    json_t *one = cluster_record_encode(&p->record), *other = cluster_record_encode(&q->record);
    assert_true(json_equal(one, other));
    json_decref(one);
    json_decref(other);
    assert_actions(q, "Record");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test(name)
        T(a_settled_cluster_needs_no_action),
        T(the_set_is_not_reduced_before_the_campaign_is_recorded),
        T(the_set_is_not_reduced_while_the_head_drains_or_removes),
        T(nothing_is_removed_while_the_head_is_unreachable),
        T(nothing_is_done_for_a_cluster_that_is_being_deleted),
        T(an_object_of_another_owner_or_being_deleted_is_not_changed),
        T(a_new_incarnation_of_the_head_is_recorded_before_any_action),
        T(the_set_does_not_grow_before_the_head_admits_the_new_members),
        T(the_set_does_not_grow_again_while_parked_pods_are_left),
        T(a_running_pod_of_an_older_template_is_kept),
        T(the_sets_are_not_created_without_certificates),
        T(a_rejected_campaign_is_not_tried_again_at_once),
        T(a_new_cluster_gets_all_its_objects),
        T(a_cluster_of_no_members_has_a_head),
        T(a_refused_set_is_not_applied_again_but_can_be_scaled),
        T(a_changed_template_is_applied_without_changing_the_size),
        T(a_pod_that_cannot_start_with_its_old_template_is_replaced),
        T(a_pod_of_a_lost_node_is_removed_when_its_daemon_is_lost),
        T(a_terminating_pod_is_not_forced_while_its_node_answers),
        T(the_heads_pod_of_a_lost_node_is_removed_long_before_its_members_give_it_up),
        T(an_operator_killed_after_recording_puts_the_same_campaign),
        T(an_operator_killed_after_putting_waits_for_the_same_campaign),
        T(an_operator_killed_before_reducing_reduces_with_a_precondition),
        T(an_operator_killed_after_reducing_closes_the_campaign_once),
        T(a_complete_campaign_is_applied_without_asking_the_head_again),
        T(a_new_incarnation_gets_the_size_and_the_campaign_again),
        T(a_new_incarnation_admits_the_staying_members_before_a_campaign),
        T(a_draining_campaign_that_the_spec_no_longer_asks_for_is_cancelled),
        T(a_removing_campaign_runs_to_its_end_before_a_growth),
        T(a_cancelled_campaign_is_closed_and_the_bound_is_set_again),
        T(an_unwanted_campaign_unknown_to_the_head_is_closed),
        T(a_deeper_scale_down_is_the_next_campaign),
        T(a_changed_drain_policy_replaces_the_campaign),
        T(a_campaign_with_an_old_sequence_gets_a_new_one),
        T(a_refused_campaign_is_closed_with_the_heads_reason),
        T(targets_unknown_to_the_head_and_not_admitted_have_left),
        T(an_answer_to_another_campaign_is_ignored),
        T(a_head_that_shuts_down_is_asked_again_later),
        T(a_size_message_with_an_old_sequence_gets_a_new_one),
        T(the_users_deadline_ends_the_wait_for_the_head),
        T(a_wall_clock_that_is_moved_neither_ends_nor_prolongs_a_wait),
        T(a_dvm_that_never_formed_is_scaled_down_at_once),
        T(pods_may_start_before_the_head_answers),
        T(a_set_enlarged_by_hand_is_reduced_by_a_campaign),
        T(a_wanted_daemon_that_stays_parked_gets_a_new_pod),
        T(the_same_situation_gives_the_same_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
