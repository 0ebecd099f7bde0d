/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of plans for many members: their number of looks grows with the members, not with their
 * square, and a settled cluster has none. The least time of a plan is the benchmark's. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "operator/plan/test/large.h"

#include <string.h>

static const uint32_t SIZES[] = {4000, 16384, CLUSTER_MEMBERS_MAX};
#define NSIZES (sizeof(SIZES) / sizeof(*SIZES))

static void a_settled_cluster_of_any_size_is_not_looked_through(void **state)
{
    for (size_t i = 0; i < NSIZES; i++) {
        struct large l;

        large_settle(&l, SIZES[i]);
        PLAN_AUTO struct plan *p = plan_make(&l.in);
        assert_int_equal(p->n, 0);
        assert_int_equal(p->looks, 0);
        large_free(&l);
    }
}

static void an_update_looks_at_each_member_a_few_times(void **state)
{
    for (size_t i = 0; i < NSIZES; i++) {
        struct large l;

        large_settle(&l, SIZES[i]);
        large_outdate(&l);
        l.c.update.max_unavailable = SIZES[i];
        PLAN_AUTO struct plan *p = plan_make(&l.in);
        assert_int_equal(p->record.campaign.first, 1);
        assert_int_equal(p->record.campaign.last, SIZES[i]);
        assert_in_range(p->looks, SIZES[i], 6 * (size_t)SIZES[i]);
        large_free(&l);
    }
}

/* The first 64 are deleted, the others with the next plans. */
static void parked_members_are_looked_at_a_few_times_each(void **state)
{
    for (size_t i = 0; i < NSIZES; i++) {
        struct large l;

        large_settle(&l, SIZES[i]);
        large_outdate(&l);
        large_park(&l);
        PLAN_AUTO struct plan *p = plan_make(&l.in);
        assert_int_equal(p->n, PLAN_ACTIONS_MAX);
        assert_int_equal(p->actions[0].verb, PLAN_DELETE_POD);
        assert_string_equal(p->actions[0].pod, "x-1");
        assert_in_range(p->looks, SIZES[i], 6 * (size_t)SIZES[i]);
        large_free(&l);
    }
}

static void a_vpid_that_no_member_can_have_is_unknown_to_the_head(void **state)
{
    struct large l;

    large_settle(&l, 3);
    l.pods[3].vpid = UINT32_MAX;
    l.pods[3].outdated = l.pods[3].changed = true;
    l.pods[3].ready = false;
    l.pods[3].running_since_ms = 0;
    PLAN_AUTO struct plan *p = plan_make(&l.in);
    assert_int_equal(p->n, 1);
    assert_int_equal(p->actions[0].verb, PLAN_DELETE_POD);
    large_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_settled_cluster_of_any_size_is_not_looked_through),
        cmocka_unit_test(an_update_looks_at_each_member_a_few_times),
        cmocka_unit_test(parked_members_are_looked_at_a_few_times_each),
        cmocka_unit_test(a_vpid_that_no_member_can_have_is_unknown_to_the_head),
    };

    return cmocka_run_group_tests_name("plan of many members", tests, NULL, NULL);
}
