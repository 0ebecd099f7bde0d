/* SPDX-License-Identifier: BSD-3-Clause */
/* The incarnation: its number, when it records its clocks, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/journal/incarnation.h"

#include <stdlib.h>
#include <string.h>

struct begun {
    struct out out;
    struct journal *journal;
    struct incarnation *inc;
};

static int begin_incarnation(struct begun *b)
{
    struct record r = {.type = RECORD_BEGIN,
                       .begin = {.cluster = "local/x",
                                 .incarnation = 0x5f3a,
                                 .size = 2,
                                 .head = {.epoch = {0x5f3a, 1}, .host = "h", .address = ""},
                                 .now_ms = 10000,
                                 .wall_ms = 50000}};

    return journal_put(b->journal, &r, NULL);
}

static struct begun open_incarnation(void)
{
    struct begun b = {0};

    b.journal = journal_create(&b.out);
    b.inc = incarnation_create(b.journal);
    return b;
}

static void close_incarnation(struct begun *b)
{
    incarnation_destroy(b->inc);
    journal_destroy(b->journal);
    out_free(&b->out);
}

static void an_incarnation_begins_once(void **state)
{
    struct begun b = open_incarnation();

    assert_int_equal(incarnation_number(b.inc), 0);
    assert_string_equal(incarnation_cluster(b.inc), "");
    assert_int_equal(begin_incarnation(&b), 0);
    assert_int_equal(incarnation_number(b.inc), 0x5f3a);
    assert_string_equal(incarnation_text(b.inc), "0000000000005f3a");
    assert_string_equal(incarnation_cluster(b.inc), "local/x");
    assert_int_equal(incarnation_epoch(b.inc, 7).inc, 0x5f3a);
    assert_int_equal(incarnation_epoch(b.inc, 7).ctr, 7);
    assert_int_equal(begin_incarnation(&b), -1);
    close_incarnation(&b);
    incarnation_destroy(NULL);
}

/* The limit is a second, for the wall clock in both directions. */
static void the_clocks_are_recorded_if_a_later_process_would_miss_a_second(void **state)
{
    static const struct {
        uint64_t now, wall;
        bool has_records, noted;
    } rows[] = {
        {10000, 50000, true, false},   {10999, 50999, true, false},   {11000, 51000, true, true},
        {11000, 51000, false, false},  {90000, 130000, false, false}, {10000, 50999, false, false},
        {10000, 51000, false, true},   {10000, 49001, false, false},  {10000, 49000, false, true},
        {90000, 130999, false, false}, {90000, 131000, false, true},  {90000, 129000, false, true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct begun b = open_incarnation();
        uint64_t before;

        assert_int_equal(begin_incarnation(&b), 0);
        before = journal_records(b.journal);
        incarnation_note_clock(b.inc, rows[i].now, rows[i].wall, rows[i].has_records);
        if ((journal_records(b.journal) > before) != rows[i].noted)
            fail_msg("row %zu", i);
        close_incarnation(&b);
    }
}

static void a_later_process_goes_on_with_the_clock_of_the_first(void **state)
{
    struct begun b = open_incarnation();

    assert_int_equal(begin_incarnation(&b), 0);
    assert_int_equal(incarnation_clock_ahead(b.inc, 700, 50000), 9300);
    assert_int_equal(incarnation_clock_ahead(b.inc, 700, 50400), 9700);
    assert_int_equal(incarnation_clock_ahead(b.inc, 20000, 50400), -9600);
    assert_int_equal(incarnation_clock_ahead(b.inc, 700, 49000), 9300); /* it was set back */
    incarnation_note_clock(b.inc, 12000, 90000, true);
    assert_int_equal(incarnation_clock_ahead(b.inc, 12000, 90000), 0);
    close_incarnation(&b);
}

static void of_several_ends_the_earliest_time_and_the_first_reason_count(void **state)
{
    const enum shutdown_why first = (enum shutdown_why)1, second = (enum shutdown_why)0;
    struct begun b = open_incarnation();

    assert_int_equal(begin_incarnation(&b), 0);
    assert_false(incarnation_ending(b.inc));
    assert_true(incarnation_end(b.inc, first, 500));
    assert_true(incarnation_ending(b.inc));
    assert_false(incarnation_end(b.inc, second, 600));
    assert_int_equal(incarnation_ends_at(b.inc), 500);
    assert_int_equal(incarnation_why(b.inc), first);
    assert_false(incarnation_end(b.inc, second, 400));
    assert_int_equal(incarnation_ends_at(b.inc), 400);
    assert_int_equal(incarnation_why(b.inc), first);
    close_incarnation(&b);
}

static void a_snapshot_has_the_incarnation_with_its_clocks_and_its_end(void **state)
{
    struct begun a = open_incarnation(), b = open_incarnation();
    struct buf snapshot;

    assert_int_equal(begin_incarnation(&a), 0);
    incarnation_note_clock(a.inc, 12000, 90000, true);
    assert_true(incarnation_end(a.inc, (enum shutdown_why)1, 500));
    buf_init(&snapshot, RECORD_BYTES_MAX);
    journal_snapshot(a.journal, &snapshot);
    assert_int_equal(journal_replay(b.journal, snapshot.data, snapshot.len, NULL), 0);
    assert_string_equal(incarnation_text(b.inc), "0000000000005f3a");
    assert_string_equal(incarnation_cluster(b.inc), "local/x");
    assert_int_equal(incarnation_clock_ahead(b.inc, 0, 90000), 12000);
    assert_true(incarnation_ending(b.inc));
    assert_int_equal(incarnation_why(b.inc), 1);
    assert_int_equal(incarnation_ends_at(b.inc), 500);
    buf_free(&snapshot);
    close_incarnation(&a);
    close_incarnation(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_incarnation_begins_once),
        cmocka_unit_test(the_clocks_are_recorded_if_a_later_process_would_miss_a_second),
        cmocka_unit_test(a_later_process_goes_on_with_the_clock_of_the_first),
        cmocka_unit_test(of_several_ends_the_earliest_time_and_the_first_reason_count),
        cmocka_unit_test(a_snapshot_has_the_incarnation_with_its_clocks_and_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
