/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the counts of Kubernetes Events, and of their rate. */
#include "base/buf/buf.h"
#include "operator/reconcile/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define START_MS 5000000

static struct tally_write taken(struct tally **t, enum reason reason, const char *note,
                                uint64_t now_ms)
{
    struct tally_write w;

    assert_true(tally_take(t, reason, note, now_ms, &w));
    return w;
}

static void the_same_event_counts_the_object_up(void **state)
{
    struct tally *t = NULL;
    struct tally_write a = taken(&t, REASON_MEMBER_LOST, "daemon 3", START_MS);
    struct tally_write other = taken(&t, REASON_JOB_ENDED, "daemon 3", START_MS + 1);
    struct tally_write b = taken(&t, REASON_MEMBER_LOST, "daemon 3", START_MS + 1000);

    assert_int_equal(a.count, 1);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.serial, a.serial);
    assert_int_equal(b.age_ms, 1000);
    assert_false(b.similar);
    assert_int_not_equal(other.serial, a.serial);
    tally_destroy(t);
}

static void another_text_and_a_later_event_are_new_objects(void **state)
{
    struct tally *t = NULL;
    struct tally_write a = taken(&t, REASON_MEMBER_LOST, "daemon 3", START_MS);
    struct tally_write b = taken(&t, REASON_MEMBER_LOST, "daemon 4", START_MS);
    struct tally_write c =
        taken(&t, REASON_MEMBER_LOST, "daemon 4", START_MS + TALLY_WINDOW_MS + 1);

    assert_int_not_equal(a.serial, b.serial);
    assert_int_not_equal(b.serial, c.serial);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.age_ms, 0);
    tally_destroy(t);
}

static void many_texts_of_one_reason_are_counted_together(void **state)
{
    struct tally *t = NULL;
    struct tally_write w = {0};

    for (int i = 0; i < TALLY_TEXTS_MAX + 3; i++) {
        FREE_AUTO char *note = xasprintf("job %d", i);

        w = taken(&t, REASON_JOB_ENDED, note, START_MS);
    }
    assert_int_equal(w.serial, TALLY_TEXTS_MAX);
    assert_int_equal(w.count, 4);
    assert_true(w.similar);
    tally_destroy(t);
}

static void writes_are_bounded_and_the_count_keeps_every_event(void **state)
{
    struct tally *t = NULL;
    struct tally_write w;
    unsigned sent = 0;

    for (int i = 0; i < 100; i++)
        sent += tally_take(&t, REASON_GROWING, "text", START_MS, &w);
    assert_int_equal(sent, TALLY_BURST);
    assert_false(tally_take(&t, REASON_DRAINING, "text", START_MS + TALLY_REFILL_MS - 1, &w));
    assert_true(tally_take(&t, REASON_GROWING, "text", START_MS + TALLY_REFILL_MS, &w));
    assert_int_equal(w.count, 101);
    assert_false(tally_take(&t, REASON_GROWING, "text", START_MS + TALLY_REFILL_MS, &w));
    tally_destroy(t);
}

static void the_reason_that_is_silent_for_the_longest_time_is_forgotten(void **state)
{
    struct tally *t = NULL;
    struct tally_write a = taken(&t, REASON_NONE + 1, "text", START_MS), w;

    for (int i = 1; i <= 8; i++)
        taken(&t, (enum reason)(REASON_NONE + 1 + i), "text", START_MS + (uint64_t)i);
    w = taken(&t, REASON_NONE + 9, "text", START_MS + 20);
    assert_int_equal(w.count, 2);
    w = taken(&t, REASON_NONE + 1, "text", START_MS + 21);
    assert_int_equal(w.count, 1);
    assert_int_not_equal(w.serial, a.serial);
    tally_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_event_counts_the_object_up),
        cmocka_unit_test(another_text_and_a_later_event_are_new_objects),
        cmocka_unit_test(many_texts_of_one_reason_are_counted_together),
        cmocka_unit_test(writes_are_bounded_and_the_count_keeps_every_event),
        cmocka_unit_test(the_reason_that_is_silent_for_the_longest_time_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
