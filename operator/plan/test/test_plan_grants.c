/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the share of applications in the size: recorded first, within limits, counted once. */
#include "operator/plan/test/fixture.h"

/* 8 members; applications may go from 2 to 12. */
static void fix_elastic(struct fix *f)
{
    fix_settled(f);
    f->c.limits.min = 2;
    f->c.limits.max = 12;
    f->view.size_limits = f->c.record.size_limits = (struct api_size_limits){true, 2, 12};
}

/* The campaign alloc-<number> over first to last. The head changes the size itself, for a release
 * when it accepts it. */
static struct api_campaign *fix_asked(struct fix *f, const char *id, enum api_kind kind,
                                      uint32_t first, uint32_t last)
{
    size_t i = f->view.ncampaigns++;

    f->reported[i] = (struct api_campaign){.id = (char *)id,
                                           .kind = kind,
                                           .phase = kind == API_KIND_GROW ? API_PHASE_GATHERING
                                                                          : API_PHASE_DRAINING,
                                           .requester = {.job = (char *)"job", .id = (char *)""},
                                           .targets = f->reported_targets[i]};
    for (uint32_t v = first; v <= last; v++)
        f->reported[i].targets[f->reported[i].ntargets++] = v;
    f->view.size_members = kind == API_KIND_GROW ? last : first - 1;
    return &f->reported[i];
}

/* A running request in the record. */
static void fix_running(struct fix *f, uint64_t number, bool extend, int32_t members)
{
    struct cluster_grants *g = &f->c.record.grants;

    g->running[g->nrunning++] = (struct cluster_grant){number, extend, members};
    g->seen = number > g->seen ? number : g->seen;
}

static void fix_sized(struct fix *f, uint32_t n)
{
    f->in.child[CLUSTER_MEMBER_SET].replicas = n;
    f->view.size_members = n;
    fix_wire(f, n);
    fix_pods(f, n);
}

/* --- what the plan must not do */

static void a_campaign_without_a_requesting_application_is_no_grant(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct fix f;

        fix_elastic(&f);
        struct api_campaign *c = fix_asked(&f, i ? "mine" : "alloc-1", API_KIND_GROW, 9, 9);
        if (!i)
            c->requester.job = NULL;
        f.view.size_members = 8;
        PLAN(f);
        assert_actions(p, "");
        assert_int_equal(p->target, 8);
    }
}

static void the_set_is_not_enlarged_before_the_request_is_recorded(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_asked(&f, "alloc-3", API_KIND_GROW, 9, 10);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.members, 0);
    assert_int_equal(p->record.grants.seen, 3);
    assert_int_equal(p->record.grants.nrunning, 1);
    assert_int_equal(p->record.grants.running[0].members, 2);
    f.c.record.grants = p->record.grants;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "Apply members=10 only");
    assert_int_equal(q->target, 10);
}

static void a_running_release_removes_no_pod_and_admits_no_member(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_asked(&f, "alloc-1", API_KIND_SHRINK, 8, 8);
    fix_running(&f, 1, false, -1);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->target, 8);
    assert_int_equal(plan_wired(&f.view), 8);
}

static void while_a_release_runs_the_set_does_not_grow(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_asked(&f, "alloc-1", API_KIND_SHRINK, 8, 8);
    fix_running(&f, 1, false, -1);
    f.c.replicas = 10;
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->target, 10);
}

static void a_grant_never_goes_beyond_the_limits(void **state)
{
    struct fix f;

    fix_elastic(&f);
    f.c.record.grants.members = 100;
    PLAN(f);
    assert_int_equal(p->target, 12);
    f.c.record.grants.members = -100;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_int_equal(q->target, 2);
    f.c.limits = (struct cluster_limits){-1, -1};
    PLAN_AUTO struct plan *none = plan_make(fix_ages(&f));
    assert_int_equal(none->target, 8);
}

static void a_failed_extension_leaves_no_grant(void **state)
{
    static const enum api_phase ends[] = {API_PHASE_FAILED, API_PHASE_CANCELLED};

    for (int i = 0; i < 2; i++) {
        struct fix f;

        fix_elastic(&f);
        fix_sized(&f, 8);
        f.in.child[CLUSTER_MEMBER_SET].replicas = 10;
        fix_running(&f, 1, true, 2);
        fix_asked(&f, "alloc-1", API_KIND_GROW, 9, 10)->phase = ends[i];
        f.view.size_members = 8;
        PLAN(f);
        assert_actions(p, "Record");
        assert_int_equal(p->target, 8);
        assert_int_equal(p->record.grants.members, 0);
        assert_int_equal(p->record.grants.nrunning, 0);
        assert_true(
            p->record.campaign.present); /* pods that have started are removed by a campaign */
        assert_int_equal(p->record.campaign.first, 9);
    }
}

static void no_request_is_counted_twice(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 10);
    f.c.record.grants = (struct cluster_grants){.members = 2, .seen = 1};
    fix_asked(&f, "alloc-1", API_KIND_GROW, 9, 10)->phase = API_PHASE_COMPLETE;
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->target, 10);
}

static void the_size_stays_while_the_head_cannot_be_reached(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 10);
    fix_running(&f, 1, true, 2);
    fix_head_down(&f, FIX_NOW - 3600000);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->target, 10);
}

/* --- what the plan must do */

static void a_complete_extension_stays_a_grant(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 10);
    fix_running(&f, 1, true, 2);
    fix_asked(&f, "alloc-1", API_KIND_GROW, 9, 10)->phase = API_PHASE_COMPLETE;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.members, 2);
    assert_int_equal(p->record.grants.nrunning, 0);
    assert_int_equal(p->target, 10);
    f.c.record.grants = p->record.grants;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "");
}

static void a_request_that_ended_while_the_operator_was_down_is_counted(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 9);
    fix_asked(&f, "alloc-1", API_KIND_GROW, 9, 11)->phase = API_PHASE_COMPLETE;
    fix_asked(&f, "alloc-2", API_KIND_SHRINK, 10, 11)->phase = API_PHASE_COMPLETE;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.members, 1);
    assert_int_equal(p->record.grants.seen, 2);
    assert_int_equal(p->target, 9);
}

static void pods_of_a_complete_release_are_removed_by_a_campaign_and_do_not_come_back(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_running(&f, 1, false, -2);
    fix_asked(&f, "alloc-1", API_KIND_SHRINK, 7, 8)->phase = API_PHASE_COMPLETE;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.members, -2);
    assert_int_equal(p->target, 6);
    assert_int_equal(p->record.campaign.first, 7);
    assert_int_equal(p->record.campaign.last, 8);
    fix_sized(&f, 6);
    f.c.record.grants = p->record.grants;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "");
}

static void a_release_takes_effect_although_the_limit_had_cut_the_grants(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 12);
    f.c.replicas = 10;
    f.c.record.grants.members = 4; /* 14 members, of which 12 are allowed */
    fix_running(&f, 1, false, 1);
    fix_asked(&f, "alloc-1", API_KIND_SHRINK, 12, 12)->phase = API_PHASE_COMPLETE;
    PLAN(f);
    assert_int_equal(p->record.grants.members, 1);
    assert_int_equal(p->target, 11);
}

static void the_users_scaling_is_added_to_the_grants(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 10);
    f.c.record.grants = (struct cluster_grants){.members = 2, .seen = 1};
    f.c.replicas = 9;
    PLAN(f);
    assert_int_equal(p->target, 11);
    f.c.replicas = 5;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_int_equal(q->target, 7);
}

static void two_extensions_at_once_count_by_the_larger_one(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_running(&f, 1, true, 1);
    fix_running(&f, 2, true, 3);
    fix_asked(&f, "alloc-1", API_KIND_GROW, 9, 9)->phase = API_PHASE_FAILED;
    fix_asked(&f, "alloc-2", API_KIND_GROW, 10, 11);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->target, 11);
    assert_int_equal(p->record.grants.nrunning, 1);
    assert_int_equal(p->record.grants.running[0].number, 2);
}

static void a_new_incarnation_ends_requests_and_keeps_grants(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 10);
    f.c.record.grants.members = 1;
    fix_running(&f, 7, true, 2);
    snprintf(f.view.incarnation, sizeof(f.view.incarnation), FIX_OTHER_LIFE);
    f.view.size_members = 0;
    f.view.size_sequence = 0;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.members, 1);
    assert_int_equal(p->record.grants.seen, 0);
    assert_int_equal(p->record.grants.nrunning, 0);
    assert_int_equal(p->target, 9);
}

static void a_request_unknown_to_the_head_has_ended(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_running(&f, 7, true, 2);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.nrunning, 0);
    assert_int_equal(p->record.grants.seen, 7);
    assert_int_equal(p->target, 8);
}

static void at_zero_replicas_grants_do_not_count(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 0);
    f.c.replicas = 0;
    f.c.limits.min = 0;
    f.c.record.grants = (struct cluster_grants){.members = 2, .seen = 1};
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.members, 0);
    assert_int_equal(p->record.grants.seen, 1);
    assert_int_equal(p->record.size_limits.max, 0); /* at size 0 no application can ask */
    assert_int_equal(p->target, 0);
}

static void suspension_ends_all_grants(void **state)
{
    struct fix f;

    fix_elastic(&f);
    fix_sized(&f, 0);
    f.in.child[CLUSTER_HEAD_SET].replicas = 0;
    f.in.npods = 0;
    fix_head_down(&f, FIX_NOW - 1000);
    f.c.suspend = true;
    f.c.record.grants.members = 2;
    fix_running(&f, 7, true, 3);
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.grants.members, 0);
    assert_int_equal(p->record.grants.seen, 0);
    assert_int_equal(p->record.grants.nrunning, 0);
}

static void changed_limits_are_sent_by_a_size_message(void **state)
{
    struct fix f;

    fix_elastic(&f);
    f.c.limits.max = 16;
    PLAN(f);
    assert_actions(p, "Record");
    assert_int_equal(p->record.size_members, 8);
    assert_int_equal(p->record.size_limits.min, 2);
    assert_int_equal(p->record.size_limits.max, 16);
    f.c.record.sequence = p->record.sequence;
    f.c.record.size_sequence = p->record.size_sequence;
    f.c.record.size_limits = p->record.size_limits;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "PutSize");
}

static void an_older_head_without_limits_gets_one_size_message(void **state)
{
    struct fix f;

    fix_elastic(&f);
    f.view.size_limits = (struct api_size_limits){0};
    PLAN(f);
    assert_actions(p, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test(name)
        T(a_campaign_without_a_requesting_application_is_no_grant),
        T(the_set_is_not_enlarged_before_the_request_is_recorded),
        T(a_running_release_removes_no_pod_and_admits_no_member),
        T(while_a_release_runs_the_set_does_not_grow),
        T(a_grant_never_goes_beyond_the_limits),
        T(a_failed_extension_leaves_no_grant),
        T(no_request_is_counted_twice),
        T(the_size_stays_while_the_head_cannot_be_reached),
        T(a_complete_extension_stays_a_grant),
        T(a_request_that_ended_while_the_operator_was_down_is_counted),
        T(pods_of_a_complete_release_are_removed_by_a_campaign_and_do_not_come_back),
        T(a_release_takes_effect_although_the_limit_had_cut_the_grants),
        T(the_users_scaling_is_added_to_the_grants),
        T(two_extensions_at_once_count_by_the_larger_one),
        T(a_new_incarnation_ends_requests_and_keeps_grants),
        T(a_request_unknown_to_the_head_has_ended),
        T(at_zero_replicas_grants_do_not_count),
        T(suspension_ends_all_grants),
        T(changed_limits_are_sent_by_a_size_message),
        T(an_older_head_without_limits_gets_one_size_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
