/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the replacement of pods whose memory is full. */
#include "operator/plan/test/fixture.h"

static void starve(struct plan_pod *pod, int64_t waiting_for_ms)
{
    pod->starved = true;
    pod->running_since_ms = 0;
    pod->waiting = "CrashLoopBackOff";
    pod->waiting_for_ms = waiting_for_ms;
}

static void
the_heads_pod_whose_memory_is_full_is_replaced_when_the_head_counts_as_lost(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.faults = (struct api_faults)API_FAULTS_DEFAULTS;
    starve(&f.pods[0], 25000);
    PLAN(f);
    assert_actions(p, ""); /* the kubelet's report is old: the head answers */
    fix_head_down(&f, FIX_NOW - 29000);
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, ""); /* the present head may come back */
    assert_int_equal(q->again_ms, 1000);
    fix_head_down(&f, FIX_NOW - 30000);
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, "DeletePod x-head-0");
    assert_true(r->actions[0].starved);
    assert_false(r->actions[0].force);
    f.pods[0].starved = false;
    PLAN_AUTO struct plan *s = plan_make(fix_ages(&f));
    assert_actions(s, ""); /* the container ends for another reason, and its log is kept */
}

static void a_starved_heads_pod_waits_for_the_pause_after_the_replacement_before(void **state)
{
    struct fix f;

    fix_settled(&f);
    f.c.faults = (struct api_faults)API_FAULTS_DEFAULTS;
    starve(&f.pods[0], 3000);
    fix_head_down(&f, FIX_NOW - 60000);
    PLAN(f);
    assert_actions(p, "");
    assert_int_equal(p->again_ms, PLAN_STARVED_MS - 3000);
    f.in.starved_pause_ms = 20000;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "");
    assert_int_equal(q->again_ms, 20000);
}

static void a_members_pod_whose_memory_is_full_stays_while_the_head_has_its_daemon(void **state)
{
    struct fix f;

    fix_settled(&f);
    starve(&f.pods[3], PLAN_STARVED_MS);
    PLAN(f);
    assert_actions(p, "");
    f.members[2].state = MEMBER_LOST;
    PLAN_AUTO struct plan *q = plan_make(fix_ages(&f));
    assert_actions(q, "DeletePod x-3");
    fix_head_down(&f, FIX_NOW - 60000);
    PLAN_AUTO struct plan *r = plan_make(fix_ages(&f));
    assert_actions(r, ""); /* nobody can say whether the daemon is lost */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_heads_pod_whose_memory_is_full_is_replaced_when_the_head_counts_as_lost),
        cmocka_unit_test(a_starved_heads_pod_waits_for_the_pause_after_the_replacement_before),
        cmocka_unit_test(a_members_pod_whose_memory_is_full_stays_while_the_head_has_its_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
