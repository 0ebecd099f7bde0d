/* SPDX-License-Identifier: BSD-3-Clause */
/* Which membership operation starts next, and the number that it gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/journal/op_queue.h"

static const struct epoch epoch = {7, 3};

static void add_removal(struct op_queue *q, uint32_t vpid, enum remove_why why, void *owner)
{
    struct msg_target t = {vpid, epoch};
    struct msg m = {.type = MSG_REMOVE,
                    .remove = {.why = why, .ntargets = 1, .targets = &t, .text = "test"}};

    op_queue_add(q, &m, why == REMOVE_LOST, owner);
}

/* The vpid of its first target; its number in *number; 0: none may start. */
static uint32_t start_next(struct op_queue *q, uint64_t *number)
{
    struct op op;
    uint32_t vpid;

    if (!op_queue_take(q, false, &op))
        return 0;
    *number = op_queue_start(q, &op);
    vpid = op.msg.remove.targets[0].vpid;
    msg_free(&op.msg);
    return vpid;
}

static void a_normal_operation_waits_until_the_one_before_is_complete(void **state)
{
    struct journal *j = journal_create(NULL);
    struct op_queue *q = op_queue_create(j);
    uint64_t number = 0;

    add_removal(q, 1, REMOVE_SHRINK, NULL);
    add_removal(q, 2, REMOVE_SHRINK, NULL);
    assert_int_equal(start_next(q, &number), 1);
    assert_int_equal(number, 1);
    assert_true(op_queue_busy(q));
    assert_int_equal(start_next(q, &number), 0);
    assert_true(op_queue_complete(q, 1));
    assert_false(op_queue_complete(q, 1)); /* known */
    assert_int_equal(op_queue_completed(q), 1);
    assert_int_equal(start_next(q, &number), 2);
    assert_int_equal(number, 2);
    op_queue_destroy(q);
    journal_destroy(j);
}

static void a_loss_starts_while_a_normal_operation_is_on_its_way(void **state)
{
    struct journal *j = journal_create(NULL);
    struct op_queue *q = op_queue_create(j);
    uint64_t number = 0;

    add_removal(q, 1, REMOVE_SHRINK, NULL);
    assert_int_equal(start_next(q, &number), 1);
    add_removal(q, 2, REMOVE_SHRINK, NULL);
    add_removal(q, 3, REMOVE_LOST, NULL);
    assert_int_equal(start_next(q, &number), 3);
    assert_int_equal(number, 2);
    assert_true(op_queue_complete(q, 2));
    assert_false(op_queue_busy(q));
    assert_int_equal(start_next(q, &number), 2);
    op_queue_destroy(q);
    journal_destroy(j);
}

static void queued_losses_become_one_removal_that_names_each_daemon_once(void **state)
{
    struct journal *j = journal_create(NULL);
    struct op_queue *q = op_queue_create(j);
    struct msg_target t = {4, epoch};
    struct op op;

    assert_false(op_queue_join_loss(q, &t));
    add_removal(q, 1, REMOVE_SHRINK, NULL);
    assert_false(op_queue_join_loss(q, &t)); /* a shrink's removal is no loss */
    add_removal(q, 3, REMOVE_LOST, NULL);
    assert_true(op_queue_join_loss(q, &t));
    assert_true(op_queue_join_loss(q, &t));
    assert_true(op_queue_take(q, false, &op));
    msg_free(&op.msg); /* the shrink's */
    assert_true(op_queue_take(q, false, &op));
    assert_int_equal(op.msg.remove.ntargets, 2);
    assert_int_equal(op.msg.remove.targets[0].vpid, 3);
    assert_int_equal(op.msg.remove.targets[1].vpid, 4);
    msg_free(&op.msg);
    op_queue_destroy(q);
    journal_destroy(j);
}

static void an_owner_can_withdraw_its_operation_until_it_starts(void **state)
{
    struct journal *j = journal_create(NULL);
    struct op_queue *q = op_queue_create(j);
    int mine, other;
    uint64_t number = 0;

    add_removal(q, 1, REMOVE_SHRINK, &mine);
    add_removal(q, 2, REMOVE_SHRINK, &other);
    add_removal(q, 3, REMOVE_SHRINK, &mine);
    op_queue_drop(q, &mine);
    assert_int_equal(start_next(q, &number), 2);
    op_queue_drop(q, &other);
    assert_true(op_queue_busy(q)); /* it had started */
    assert_true(op_queue_complete(q, number));
    assert_int_equal(start_next(q, &number), 0);
    op_queue_destroy(q);
    journal_destroy(j);
}

static void an_operation_that_is_dropped_when_it_is_due_gets_no_number(void **state)
{
    struct journal *j = journal_create(NULL);
    struct op_queue *q = op_queue_create(j);
    struct op op;
    uint64_t number = 0;

    add_removal(q, 1, REMOVE_SHRINK, NULL);
    add_removal(q, 2, REMOVE_SHRINK, NULL);
    assert_true(op_queue_take(q, false, &op));
    msg_free(&op.msg);
    assert_int_equal(start_next(q, &number), 2);
    assert_int_equal(number, 1);
    op_queue_destroy(q);
    journal_destroy(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_normal_operation_waits_until_the_one_before_is_complete),
        cmocka_unit_test(a_loss_starts_while_a_normal_operation_is_on_its_way),
        cmocka_unit_test(queued_losses_become_one_removal_that_names_each_daemon_once),
        cmocka_unit_test(an_owner_can_withdraw_its_operation_until_it_starts),
        cmocka_unit_test(an_operation_that_is_dropped_when_it_is_due_gets_no_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
