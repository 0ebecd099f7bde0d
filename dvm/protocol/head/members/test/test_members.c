/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's account of slots, the size bound, and the join back-off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/members/join_backoff.h"
#include "dvm/protocol/head/members/size_bound.h"
#include "dvm/protocol/head/members/slots.h"

#define INC 5u

static void add_member(struct members *m, uint32_t vpid, uint64_t ctr, uint32_t slots)
{
    struct msg_member facts = {
        .vpid = vpid, .epoch = {INC, ctr}, .host = "h", .address = "10.0.0.1", .slots = slots};

    assert_int_equal(members_add(m, &facts, 1), 1);
}

static void slots_that_are_given_back_for_an_earlier_epoch_change_nothing(void **state)
{
    struct members m;
    struct journal *j = journal_create(NULL);
    struct slots s = {&m, cpu_ledger_create(j)};
    struct msg_target lost = {1, {INC, 2}};

    members_init(&m, VPID_HEAD, 2);
    add_member(&m, VPID_HEAD, 1, 4);
    add_member(&m, 1, 2, 4);
    slots_take(s, 1, (struct epoch){INC, 2}, 3, NULL);
    assert_int_equal(slots_free(s), 1);
    assert_int_equal(members_remove(&m, &lost, 1, MEMBER_EV_LOSE), 1);
    add_member(&m, 1, 9, 4);
    members_entry(&m, 1)->slots_used = 0; /* as at its admission */
    slots_take(s, 1, (struct epoch){INC, 9}, 2, NULL);
    slots_give(s, 1, (struct epoch){INC, 2}, 3, NULL);
    assert_int_equal(members_get(&m, 1)->slots_used, 2);
    slots_give(s, 1, (struct epoch){INC, 9}, 2, NULL);
    assert_int_equal(members_get(&m, 1)->slots_used, 0);
    cpu_ledger_destroy(s.ledger);
    journal_destroy(j);
    members_free(&m);
}

static void the_maximum_counts_expected_members_like_the_largest_present_one(void **state)
{
    struct members m;
    struct slots s = {&m, NULL};

    members_init(&m, VPID_HEAD, 2);
    add_member(&m, VPID_HEAD, 1, 16);         /* no other member is like the head */
    assert_int_equal(slots_maximum(s, 4), 0); /* no member to judge by */
    add_member(&m, 1, 2, 4);
    assert_int_equal(slots_maximum(s, 4), 20 + 3 * 4);
    add_member(&m, 2, 3, 8);
    assert_int_equal(slots_present(s), 28);
    assert_int_equal(slots_maximum(s, 4), 28 + 2 * 8);
    assert_int_equal(slots_maximum(s, 2), 28);
    assert_int_equal(slots_maximum(s, 0), 0);
    members_free(&m);
}

static void a_daemon_that_is_not_in_the_ledger_has_no_host(void **state)
{
    struct journal *j = journal_create(NULL);
    struct cpu_ledger *g = cpu_ledger_create(j);

    assert_int_equal(cpu_ledger_put(g, 2, "n2", "", NULL), 0);
    assert_string_equal(cpu_ledger_host(g, 2), "n2");
    assert_string_equal(cpu_ledger_host(g, 1), "");
    assert_string_equal(cpu_ledger_host(g, 3), "");
    assert_string_equal(cpu_ledger_host(g, 99), "");
    cpu_ledger_destroy(g);
    journal_destroy(j);
}

static void an_older_size_and_another_content_of_the_same_are_refused(void **state)
{
    struct journal *j = journal_create(NULL);
    struct size_bound *b = size_bound_create(j);
    struct api_size size = {.sequence = 5, .members = 3};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    assert_false(size_bound_given(b));
    assert_int_equal(size_bound_put(b, &size, &reason, &err), 1);
    assert_int_equal(size_bound_put(b, &size, &reason, &err), 0); /* again */
    size.members = 4;
    assert_int_equal(size_bound_put(b, &size, &reason, &err), -1);
    assert_int_equal(reason, API_REASON_SEQUENCE_TOO_OLD);
    assert_int_equal(err.code, 409);
    size = (struct api_size){.sequence = 4, .members = 9};
    assert_int_equal(size_bound_put(b, &size, &reason, &err), -1);
    assert_int_equal(size_bound_now(b), 3);
    size_bound_set(b, 6); /* a grow */
    assert_int_equal(size_bound_known(b), 6);
    size = (struct api_size){.sequence = 6, .members = 3};
    assert_int_equal(size_bound_put(b, &size, &reason, &err),
                     1); /* the grow's change has been reverted */
    assert_int_equal(size_bound_now(b), 3);
    size_bound_destroy(b);
    journal_destroy(j);
}

static void a_change_of_the_bound_or_its_base_is_one_record(void **state)
{
    struct journal *j = journal_create(NULL);
    struct size_bound *b = size_bound_create(j);

    size_bound_set(b, 6);
    size_bound_rebase(b, 4);
    assert_int_equal(size_bound_now(b), 6);
    assert_int_equal(size_bound_base(b), 4);
    assert_int_equal(journal_records(j), 2);
    size_bound_set(b, 6);
    size_bound_rebase(b, 4);
    assert_int_equal(journal_records(j), 2);
    size_bound_destroy(b);
    journal_destroy(j);
}

static void each_further_short_epoch_doubles_the_pause_up_to_its_maximum(void **state)
{
    struct join_backoff *b = join_backoff_create();
    uint64_t now = 1000, pause = 0;

    for (unsigned i = 0; i <= JOIN_SHORT_FREE; i++) {
        assert_int_equal(join_backoff_pause(b, 1, now),
                         i < JOIN_SHORT_FREE ? 0 : JOIN_BACKOFF_MIN_MS);
        join_backoff_admitted(b, 1, now);
    }
    for (unsigned i = 0; i < 8; i++) {
        uint64_t next = join_backoff_pause(b, 1, now);

        assert_true(next == 2 * pause || pause == 0 || next == JOIN_BACKOFF_MAX_MS);
        pause = next;
        join_backoff_admitted(b, 1, now);
    }
    assert_int_equal(pause, JOIN_BACKOFF_MAX_MS);
    assert_int_equal(join_backoff_pause(b, 2, now), 0); /* of another vpid */
    join_backoff_forget(b, 1);
    assert_int_equal(join_backoff_pause(b, 1, now), 0);
    join_backoff_destroy(b);
}

static void a_long_epoch_ends_the_row_of_short_ones(void **state)
{
    struct join_backoff *b = join_backoff_create();
    uint64_t now = 1000;

    for (unsigned i = 0; i < 4; i++) {
        (void)join_backoff_pause(b, 1, now);
        join_backoff_admitted(b, 1, now);
    }
    now += JOIN_SHORT_MS;
    assert_int_equal(join_backoff_pause(b, 1, now), 0);
    join_backoff_admitted(b, 1, now);
    assert_int_equal(join_backoff_pause(b, 1, now + 1), 0); /* the first of a new row */
    join_backoff_destroy(b);
}

static void
an_epoch_of_10_s_is_not_short_and_the_second_short_one_in_a_row_costs_nothing(void **state)
{
    struct join_backoff *b = join_backoff_create();
    static const uint64_t want[] = {0, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    uint64_t now = 1000;

    join_backoff_admitted(b, 1, now);
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        assert_int_equal(join_backoff_pause(b, 1, now + 1), want[i] ? want[i] - 1 : 0);
        assert_int_equal(join_backoff_pause(b, 1, now + want[i]), 0);
        now += want[i];
        join_backoff_admitted(b, 1, now);
    }
    now += 9999;
    assert_int_equal(join_backoff_pause(b, 1, now), 30000 - 9999);
    join_backoff_forget(b, 1);
    join_backoff_admitted(b, 1, now);
    (void)join_backoff_pause(b, 1, now); /* one short one */
    join_backoff_admitted(b, 1, now);
    now += 10000;
    assert_int_equal(join_backoff_pause(b, 1, now), 0);
    join_backoff_admitted(b, 1, now); /* the row has ended */
    assert_int_equal(join_backoff_pause(b, 1, now), 0);
    join_backoff_destroy(b);
    join_backoff_destroy(NULL);
}

static void the_free_slots_are_those_of_wired_members_without_the_head(void **state)
{
    struct members m;
    struct slots s = {&m, NULL};

    members_init(&m, VPID_HEAD, 2);
    add_member(&m, VPID_HEAD, 1, 16);
    add_member(&m, 1, 2, 4);
    add_member(&m, 3, 4, 8); /* there is no vpid 2 */
    assert_int_equal(slots_free(s), 12);
    assert_int_equal(slots_present(s), 28);
    slots_take(s, 1, (struct epoch){INC, 2}, 3, NULL);
    assert_int_equal(slots_free(s), 9);
    members_entry(&m, 3)->slots_used = 9; /* it has fewer now than are in use */
    assert_int_equal(slots_free(s), 1);
    members_entry(&m, 3)->slots_used = 0;
    members_entry(&m, 3)->state = MEMBER_DRAINING;
    assert_int_equal(slots_free(s), 1);
    assert_int_equal(slots_present(s), 20);
    assert_int_equal(slots_maximum(s, 3), 20 + 2 * 4);
    slots_take(s, 2, (struct epoch){INC, 3}, 3, NULL); /* nobody */
    slots_give(s, 2, (struct epoch){INC, 3}, 3, NULL);
    assert_int_equal(slots_free(s), 1);
    members_free(&m);
}

static void a_daemon_s_cpus_are_counted_until_it_reports_others(void **state)
{
    static const char cpus[] = "own:0 1 2 3";
    struct journal *j = journal_create(NULL);
    struct cpu_ledger *g = cpu_ledger_create(j);
    hwloc_bitmap_t pus = hwloc_bitmap_alloc();
    const struct topo *topo;

    assert_int_equal(cpu_ledger_put(g, 1, "n1", cpus, NULL), 0);
    assert_int_equal(cpu_ledger_put(g, 2, "n2", cpus, NULL), 0);
    topo = cpu_ledger_topo(g, 1);
    assert_non_null(topo);
    assert_ptr_equal(cpu_ledger_topo(g, 2), topo); /* once */
    hwloc_bitmap_set(pus, 0);
    hwloc_bitmap_set(pus, 3);
    cpu_ledger_take(g, 1, pus);
    cpu_ledger_take(g, 1, pus);
    for (int i = 0; i < 4; i++)
        assert_int_equal(cpu_ledger_load(g, 1)[i], i % 3 ? 0 : 2);
    cpu_ledger_give(g, 1, pus);
    assert_int_equal(cpu_ledger_load(g, 1)[0], 1);
    assert_int_equal(cpu_ledger_load(g, 1)[3], 1);
    assert_null(cpu_ledger_load(g, 2));
    assert_int_equal(cpu_ledger_put(g, 1, "n1", "own:", NULL), -1);
    assert_int_equal(cpu_ledger_load(g, 1)[3], 1); /* nothing has changed */
    assert_int_equal(cpu_ledger_put(g, 1, "n1", NULL, NULL), 0);
    assert_null(cpu_ledger_topo(g, 1));
    assert_null(cpu_ledger_load(g, 1));
    assert_ptr_equal(cpu_ledger_topo(g, 2), topo);
    assert_null(cpu_ledger_topo(g, 3));
    assert_null(cpu_ledger_load(g, 3));
    hwloc_bitmap_free(pus);
    cpu_ledger_destroy(g);
    cpu_ledger_destroy(NULL);
    journal_destroy(j);
}

/* 10 s after the longest pause. */
static void a_joiner_is_forgotten_40_s_after_its_admission(void **state)
{
    for (uint64_t more = 0; more < 2; more++) {
        struct join_backoff *b = join_backoff_create();
        uint64_t now = 1000;

        for (unsigned i = 0; i < 10; i++) {
            (void)join_backoff_pause(b, 1, now);
            join_backoff_admitted(b, 1, now);
        }
        assert_int_equal(join_backoff_pause(b, 1, now), 30000);
        now += 40000 + more;
        join_backoff_admitted(b, 2, now);
        assert_int_equal(join_backoff_pause(b, 1, now), 0);
        join_backoff_admitted(b, 1, now);
        assert_int_equal(join_backoff_pause(b, 1, now), more ? 0 : 30000);
        join_backoff_destroy(b);
    }
}

static void a_snapshot_of_one_daemon_without_host_and_cpus_is_read(void **state)
{
    struct journal *j = journal_create(NULL), *k = journal_create(NULL);
    struct cpu_ledger *g = cpu_ledger_create(j), *h = cpu_ledger_create(k);
    struct buf b;

    assert_int_equal(cpu_ledger_put(g, 0, "", NULL, NULL), 0);
    buf_init(&b, RECORD_BYTES_MAX);
    journal_snapshot(j, &b);
    assert_int_equal(journal_replay(k, b.data, b.len, NULL), 0);
    buf_free(&b);
    cpu_ledger_destroy(g);
    cpu_ledger_destroy(h);
    journal_destroy(j);
    journal_destroy(k);
}

static void a_snapshot_has_the_ledger_of_each_daemon(void **state)
{
    struct journal *j = journal_create(NULL), *k = journal_create(NULL);
    struct cpu_ledger *g = cpu_ledger_create(j), *h = cpu_ledger_create(k);
    struct buf b;

    assert_int_equal(cpu_ledger_put(g, 0, "head", "own:0 1", NULL), 0);
    assert_int_equal(cpu_ledger_put(g, 3, "", NULL, NULL), 0);
    buf_init(&b, RECORD_BYTES_MAX);
    journal_snapshot(j, &b);
    assert_int_equal(journal_replay(k, b.data, b.len, NULL), 0);
    assert_string_equal(cpu_ledger_host(h, 0), "head");
    assert_non_null(cpu_ledger_topo(h, 0));
    assert_null(cpu_ledger_topo(h, 3));
    assert_int_equal(cpu_ledger_put(h, 3, "n3", "own:0 1", NULL), 0);
    assert_ptr_equal(cpu_ledger_topo(h, 3), cpu_ledger_topo(h, 0));
    buf_free(&b);
    cpu_ledger_destroy(g);
    cpu_ledger_destroy(h);
    journal_destroy(j);
    journal_destroy(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_are_given_back_for_an_earlier_epoch_change_nothing),
        cmocka_unit_test(the_maximum_counts_expected_members_like_the_largest_present_one),
        cmocka_unit_test(a_daemon_that_is_not_in_the_ledger_has_no_host),
        cmocka_unit_test(an_older_size_and_another_content_of_the_same_are_refused),
        cmocka_unit_test(a_change_of_the_bound_or_its_base_is_one_record),
        cmocka_unit_test(each_further_short_epoch_doubles_the_pause_up_to_its_maximum),
        cmocka_unit_test(a_long_epoch_ends_the_row_of_short_ones),
        cmocka_unit_test(
            an_epoch_of_10_s_is_not_short_and_the_second_short_one_in_a_row_costs_nothing),
        cmocka_unit_test(the_free_slots_are_those_of_wired_members_without_the_head),
        cmocka_unit_test(a_daemon_s_cpus_are_counted_until_it_reports_others),
        cmocka_unit_test(a_joiner_is_forgotten_40_s_after_its_admission),
        cmocka_unit_test(a_snapshot_of_one_daemon_without_host_and_cpus_is_read),
        cmocka_unit_test(a_snapshot_has_the_ledger_of_each_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
