/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemons whose reports of departures a new head believes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/members/departures.h"

#define INC 5u

static struct msg_target target(uint32_t vpid)
{
    return (struct msg_target){vpid, {INC, vpid + 1}};
}

static void add_member(struct members *m, uint32_t vpid)
{
    struct msg_member facts = {
        .vpid = vpid, .epoch = target(vpid).epoch, .host = "h", .address = "10.0.0.1", .slots = 1};

    assert_int_equal(members_add(m, &facts, 1), 1);
}

/* The tree of vpids 0, 1, 3, 4, 5, of which 1 and 3 are leaving: 3 and 4 are the children of 1,
 * and 5 takes the place of 2, which was never there. */
static struct departures *succeed(struct members *m)
{
    static const uint32_t vpids[] = {VPID_HEAD, 1, 3, 4, 5};
    struct msg_target leaving[] = {target(1), target(3)};
    struct departures *d = departures_create(m);

    members_init(m, VPID_HEAD, 2);
    for (size_t i = 0; i < 5; i++)
        add_member(m, vpids[i]);
    assert_int_equal(members_remove(m, leaving, 2, MEMBER_EV_REMOVE), 2);
    departures_succeed(d);
    return d;
}

static void a_new_head_believes_the_parent_of_a_member_that_is_leaving(void **state)
{
    struct members m;
    struct departures *d = succeed(&m);
    struct msg_target former = target(3);

    assert_true(departures_may_report(d, 1, target(3)));
    assert_true(departures_may_report(d, VPID_HEAD, target(3)));
    assert_false(departures_may_report(d, 4, target(3)));
    assert_false(departures_may_report(d, 5, target(3)));
    former.epoch.ctr++;
    assert_false(departures_may_report(d, 1, former));
    departures_destroy(d);
    members_free(&m);
}

static void a_new_head_believes_no_member_that_reports_the_departure_of_one_that_stays(void **state)
{
    struct members m;
    struct departures *d = succeed(&m);

    assert_false(departures_may_report(d, 1, target(4)));
    assert_false(departures_may_report(d, 1, target(2)));
    assert_false(departures_may_report(d, 3, target(5)));
    assert_true(departures_may_report(d, VPID_HEAD, target(4)));
    departures_destroy(d);
    members_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_head_believes_the_parent_of_a_member_that_is_leaving),
        cmocka_unit_test(
            a_new_head_believes_no_member_that_reports_the_departure_of_one_that_stays),
    };

    return cmocka_run_group_tests_name("departures", tests, NULL, NULL);
}
