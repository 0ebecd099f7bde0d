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

/* vpids 0 to 9 in a tree of radix 2, which is noted before each of its changes. */
static struct departures *ten(struct members *m)
{
    members_init(m, VPID_HEAD, 2);
    for (uint32_t v = 0; v < 10; v++)
        add_member(m, v);
    return departures_create(m);
}

static void remove_list(struct departures *d, struct members *m, struct msg_target *list, size_t n)
{
    struct msg op = {.type = MSG_REMOVE, .remove = {.ntargets = n, .targets = list}};

    departures_note(d, &op);
    assert_int_equal(members_remove(m, list, n, MEMBER_EV_REMOVE), n);
}

static void add_again(struct departures *d, struct members *m, uint32_t vpid)
{
    struct msg op = {.type = MSG_ADD};

    departures_note(d, &op);
    add_member(m, vpid);
}

static void a_departure_is_reported_by_the_parent_before_it(void **state)
{
    struct members m;
    struct departures *d = ten(&m);
    struct msg_target list[] = {target(7), target(8)};
    struct msg other = {.type = MSG_SHUTDOWN};

    departures_note(d, &other);
    assert_false(departures_may_report(d, 3, target(7))); /* it has not been removed */
    remove_list(d, &m, list, 2);
    for (uint32_t v = 1; v < 10; v++) {
        assert_int_equal(departures_may_report(d, v, target(7)), v == 3);
        assert_int_equal(departures_may_report(d, v, target(8)), v == 3);
        assert_false(departures_may_report(d, v, target(9)));
    }
    departures_destroy(d);
    departures_destroy(NULL);
    members_free(&m);
}

/* 7 is below 3 and 1; all three are removed at once. */
static void a_departed_parent_s_own_parent_reports_too(void **state)
{
    struct members m;
    struct departures *d = ten(&m);
    struct msg_target list[] = {target(1), target(3), target(7)};

    remove_list(d, &m, list, 3);
    assert_true(departures_may_report(d, 3, target(7)));
    assert_true(departures_may_report(d, 1, target(7)));
    assert_true(departures_may_report(d, 1, target(3)));
    assert_false(departures_may_report(d, 7, target(3)));
    assert_false(departures_may_report(d, 4, target(7)));
    assert_false(departures_may_report(d, 2, target(7)));
    departures_destroy(d);
    members_free(&m);
}

/* The parent of 9 was 4, until 4 was removed. After a number of other changes of the tree its
 * report is not believed any more. */
static void a_parent_in_one_of_the_last_4_trees_reports(void **state)
{
    for (unsigned changes = 0; changes <= 4; changes++) {
        struct members m;
        struct departures *d = ten(&m);
        struct msg_target four = target(4), nine = target(9);

        remove_list(d, &m, &four, 1);
        for (unsigned i = 1; i < changes; i++)
            add_again(d, &m, 20 + i);
        if (changes)
            remove_list(d, &m, &nine, 1);
        assert_int_equal(departures_may_report(d, 4, nine), changes >= 1 && changes <= 3);
        departures_destroy(d);
        members_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_head_believes_the_parent_of_a_member_that_is_leaving),
        cmocka_unit_test(
            a_new_head_believes_no_member_that_reports_the_departure_of_one_that_stays),
        cmocka_unit_test(a_departure_is_reported_by_the_parent_before_it),
        cmocka_unit_test(a_departed_parent_s_own_parent_reports_too),
        cmocka_unit_test(a_parent_in_one_of_the_last_4_trees_reports),
    };

    return cmocka_run_group_tests_name("departures", tests, NULL, NULL);
}
