/* SPDX-License-Identifier: BSD-3-Clause */
/* The time in which members have to report that they have processed a removal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/members/liveness.h"

#include <stdio.h>
#include <string.h>

#define INC 5u
#define SILENT_MS 1000

struct place {
    struct out out;
    struct members members;
    struct journal *journal;
    struct op_queue *ops;
    struct liveness *liveness;
};

static void open_place(struct place *p)
{
    struct liveness_opts o = {.silent_ms = SILENT_MS, .late_ms = 500};

    *p = (struct place){.out.now_ms = 10000};
    members_init(&p->members, VPID_HEAD, 2);
    for (uint32_t v = 0; v <= 2; v++) {
        struct msg_member facts = {
            .vpid = v, .epoch = {INC, v + 1}, .host = "h", .address = "10.0.0.1", .slots = 1};

        assert_int_equal(members_add(&p->members, &facts, 1), 1);
    }
    p->journal = journal_create(&p->out);
    p->ops = op_queue_create(p->journal);
    p->liveness = liveness_create(&o, &p->out, &p->members, p->ops);
}

static void close_place(struct place *p)
{
    liveness_destroy(p->liveness);
    op_queue_destroy(p->ops);
    journal_destroy(p->journal);
    members_free(&p->members);
    out_free(&p->out);
}

/* The number of a removal that is broadcast now. */
static uint64_t remove_one(struct place *p)
{
    struct msg_target gone = {7, {INC, 70}};
    struct msg m = {
        .type = MSG_REMOVE,
        .remove = {.why = REMOVE_LOST, .ntargets = 1, .targets = &gone, .text = (char *)""}};
    struct op op;
    uint64_t number;

    op_queue_add(p->ops, &m, true, NULL);
    assert_true(op_queue_take(p->ops, true, &op));
    number = op_queue_start(p->ops, &op);
    liveness_applied(p->liveness, &op.msg);
    msg_free(&op.msg);
    return number;
}

static bool is_anybody_lost(struct place *p, uint64_t after_ms)
{
    struct op op = {0};
    bool lost;

    p->out.now_ms += after_ms;
    liveness_steps(p->liveness);
    lost = op_queue_take(p->ops, true, &op);
    if (lost)
        msg_free(&op.msg);
    return lost;
}

static void a_member_that_does_not_report_a_removal_is_lost_after_the_time(void **state)
{
    struct place p;
    uint64_t op;

    open_place(&p);
    op = remove_one(&p);
    liveness_reported(p.liveness, 1, op);
    assert_false(is_anybody_lost(&p, SILENT_MS - 1));
    assert_true(is_anybody_lost(&p, 1));
    close_place(&p);
}

static void the_time_for_the_next_removal_begins_when_the_one_before_is_complete(void **state)
{
    struct place p;
    uint64_t first;

    open_place(&p);
    first = remove_one(&p);
    p.out.now_ms += 100;
    (void)remove_one(&p);
    liveness_reported(p.liveness, 1, first);
    liveness_reported(p.liveness, 2, first);
    assert_true(op_queue_complete(p.ops, first));
    liveness_completed(p.liveness);
    assert_false(is_anybody_lost(&p, SILENT_MS - 1));
    assert_true(is_anybody_lost(&p, 1));
    close_place(&p);
}

static void nobody_is_waited_for_when_all_removals_are_complete(void **state)
{
    struct place p;

    open_place(&p);
    assert_true(op_queue_complete(p.ops, remove_one(&p)));
    liveness_completed(p.liveness);
    assert_true(liveness_next_deadline(p.liveness) == UINT64_MAX);
    assert_false(is_anybody_lost(&p, SILENT_MS));
    assert_true(liveness_next_deadline(p.liveness) == UINT64_MAX);
    close_place(&p);
}

static void the_time_of_a_removal_ends_with_its_completion_alone(void **state)
{
    struct place p;
    uint64_t due, last;

    open_place(&p);
    (void)remove_one(&p);
    due = liveness_next_deadline(p.liveness);
    p.out.now_ms += 100;
    last = remove_one(&p);
    liveness_completed(p.liveness); /* of an operation before them */
    assert_int_equal(liveness_next_deadline(p.liveness), due);
    assert_true(op_queue_complete(p.ops, last)); /* and with it the first one */
    liveness_completed(p.liveness);
    assert_true(liveness_next_deadline(p.liveness) == UINT64_MAX);
    close_place(&p);
}

/* The members that are lost, as in "1 2 ". */
static const char *lost_after(struct place *p, uint64_t after_ms)
{
    static char text[64];
    struct op op = {0};

    *text = '\0';
    p->out.now_ms += after_ms;
    liveness_steps(p->liveness);
    while (op_queue_take(p->ops, true, &op)) {
        for (size_t i = 0; i < op.msg.remove.ntargets; i++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ",
                     op.msg.remove.targets[i].vpid);
        msg_free(&op.msg);
    }
    return text;
}

static void each_member_that_has_not_reported_is_lost_and_no_other(void **state)
{
    static const struct {
        bool reports[3]; /* of vpids 1 and 2 */
        const char *lost;
    } rows[] = {{{0, false, false}, "1 2 "},
                {{0, true, false}, "2 "},
                {{0, false, true}, "1 "},
                {{0, true, true}, ""}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct place p;
        uint64_t op;

        open_place(&p);
        op = remove_one(&p);
        for (uint32_t v = 1; v <= 2; v++)
            liveness_reported(p.liveness, v, rows[i].reports[v] ? op : op - 1);
        assert_string_equal(lost_after(&p, SILENT_MS), rows[i].lost);
        assert_true(liveness_next_deadline(p.liveness) == UINT64_MAX);
        close_place(&p);
    }
}

static void an_earlier_report_does_not_take_a_later_one_back(void **state)
{
    struct place p;
    uint64_t op;

    open_place(&p);
    op = remove_one(&p);
    for (uint32_t v = 1; v <= 2; v++) {
        liveness_reported(p.liveness, v, op);
        liveness_reported(p.liveness, v, op - 1);
    }
    assert_string_equal(lost_after(&p, SILENT_MS), "");
    close_place(&p);
}

static void a_member_that_is_added_later_has_reported_all_before_it(void **state)
{
    struct msg_member third = {
        .vpid = 9, .epoch = {INC, 30}, .host = "h", .address = "10.0.0.1", .slots = 1};
    struct msg add = {.type = MSG_ADD, .add = {.nmembers = 1, .members = &third}};
    struct place p;
    uint64_t op;

    open_place(&p);
    op = remove_one(&p);
    add.add.op = op + 1;
    assert_int_equal(members_add(&p.members, &third, 1), 1);
    liveness_applied(p.liveness, &add);
    assert_string_equal(lost_after(&p, SILENT_MS), "1 2 ");
    close_place(&p);
}

/* It may have reports in its own queue. */
static void a_head_that_is_late_itself_waits_once_more(void **state)
{
    struct place p;

    open_place(&p);
    (void)remove_one(&p);
    assert_string_equal(lost_after(&p, SILENT_MS + 500), "");
    assert_int_equal(liveness_next_deadline(p.liveness), p.out.now_ms + SILENT_MS);
    assert_string_equal(lost_after(&p, SILENT_MS + 499), "1 2 ");
    close_place(&p);
}

static void the_next_head_waits_for_reports_of_the_last_operation(void **state)
{
    struct place p;

    open_place(&p);
    liveness_succeed(p.liveness, 5);
    liveness_reported(p.liveness, 1, 5);
    liveness_reported(p.liveness, 2, 4);
    assert_int_equal(liveness_next_deadline(p.liveness), p.out.now_ms + SILENT_MS);
    assert_string_equal(lost_after(&p, SILENT_MS), "2 ");
    close_place(&p);
}

static void the_head_and_a_former_epoch_are_not_lost(void **state)
{
    struct place p;

    open_place(&p);
    liveness_lost(p.liveness, VPID_HEAD, (struct epoch){INC, 1}, "why");
    liveness_lost(p.liveness, 1, (struct epoch){INC, 1}, "why");
    liveness_lost(p.liveness, 77, (struct epoch){INC, 1}, "why");
    assert_string_equal(lost_after(&p, 0), "");
    liveness_lost(p.liveness, 1, (struct epoch){INC, 2}, "why");
    liveness_lost(p.liveness, 2, (struct epoch){INC, 3}, "why");
    assert_string_equal(lost_after(&p, 0), "1 2 ");
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_that_does_not_report_a_removal_is_lost_after_the_time),
        cmocka_unit_test(the_time_for_the_next_removal_begins_when_the_one_before_is_complete),
        cmocka_unit_test(nobody_is_waited_for_when_all_removals_are_complete),
        cmocka_unit_test(the_time_of_a_removal_ends_with_its_completion_alone),
        cmocka_unit_test(each_member_that_has_not_reported_is_lost_and_no_other),
        cmocka_unit_test(an_earlier_report_does_not_take_a_later_one_back),
        cmocka_unit_test(a_member_that_is_added_later_has_reported_all_before_it),
        cmocka_unit_test(a_head_that_is_late_itself_waits_once_more),
        cmocka_unit_test(the_next_head_waits_for_reports_of_the_last_operation),
        cmocka_unit_test(the_head_and_a_former_epoch_are_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
