/* SPDX-License-Identifier: BSD-3-Clause */
/* All records are lost with the head: the next one goes on with the table of most members, or
 * begins a new incarnation. */
#include "base/bitmap/bitmap.h"
#include "base/log/log.h"
#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/keepers.h"
#include "dvm/protocol/wire/exit_code.h"

#include <stdlib.h>
#include <utlist.h>

static uint64_t current_incarnation(struct sim *s)
{
    return core_inspect_epoch(sim_core(s, 0)).inc;
}

/* The head ends with its keepers, vpids 1 and 2, and with further members up to `last`. */
static void lose_records(struct sim *s, uint32_t last)
{
    for (uint32_t v = 0; v <= last; v++)
        sim_crash(s, v);
}

static void start_head(struct sim *s)
{
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
}

static bool goes_on(struct sim *s, uint64_t before)
{
    return core_inherited(sim_core(s, 0)) && current_incarnation(s) == before;
}

/* --- what is not taken */

static void half_of_the_members_are_no_majority(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);

    lose_records(s, 3);
    start_head(s);
    assert_false(goes_on(s, before));
    dvm_wait_wired(s, MEMBERS - 3, 60000);
    sim_destroy(s);
}

/* In this member's table the port of vpid 6 is another one. */
static void forge_table(struct sim *s, uint32_t vpid)
{
    struct members *m = &sim_core(s, vpid)->members;
    struct msg_member facts = members_facts(m, 6);

    facts.port++;
    (void)members_put(m, &facts);
    msg_member_free(&facts);
}

static void two_different_tables_of_one_version_are_not_taken(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    forge_table(s, 3);
    forge_table(s, 4);
    start_head(s);
    assert_false(goes_on(s, before));
    dvm_wait_wired(s, MEMBERS - 2, 60000);
    sim_destroy(s);
}

static void the_table_of_one_member_alone_is_not_taken(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);
    uint64_t version = core_stats(sim_core(s, 6)).version;

    lose_records(s, 2);
    forge_table(s, 3);
    sim_core(s, 3)->members.version += 50;
    start_head(s);
    assert_true(goes_on(s, before));
    assert_true(core_stats(sim_core(s, 0)).version == version + 1);
    dvm_wait_wired(s, MEMBERS - 2, 120000); /* the liar has joined anew */
    sim_destroy(s);
}

static void no_table_is_taken_if_as_many_members_are_of_another_incarnation(void **state)
{
    struct sim *s = boot_shape(8, 2);
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    for (uint32_t v = 3; v <= 5; v++)
        sim_core(s, v)->self.epoch.inc++;
    start_head(s);
    assert_false(goes_on(s, before));
    sim_destroy(s);
}

/* Each of the two has seen another version. */
static void a_table_that_half_of_the_callers_are_ahead_of_is_not_taken(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    sim_core(s, 3)->members.version += 1;
    sim_core(s, 4)->members.version += 2;
    start_head(s);
    assert_false(goes_on(s, before));
    sim_destroy(s);
}

/* All tables name a key for vpids 3 to 5, and these show none. */
static void callers_without_the_key_that_the_table_has_for_them_do_not_agree(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    for (uint32_t v = 3; v <= MEMBERS; v++) {
        for (uint32_t named = 3; named <= 5; named++)
            members_set_key(&sim_core(s, v)->members, named, (struct key_id){1, named});
    }
    start_head(s);
    assert_false(goes_on(s, before));
    sim_destroy(s);
}

/* Vpid 7 was below vpid 3. Both are lost with the keepers: three of seven are left. */
static void members_that_are_lost_with_their_parent_do_not_count(void **state)
{
    struct sim *s = boot_shape(7, 2);
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    sim_crash(s, 3);
    sim_crash(s, 7);
    start_head(s); /* vpids 4, 5 and 6 of 7 */
    assert_false(goes_on(s, before));
    sim_destroy(s);
}

/* Vpids 7 to 10 of 10 are below vpids 3 and 4, which call and have lost them: 4 of 10 are left. */
static void members_below_a_caller_count_only_if_they_are_linked(void **state)
{
    struct sim *s = boot_shape(10, 2);
    uint64_t before = current_incarnation(s);

    for (uint32_t v = 7; v <= 10; v++)
        sim_crash(s, v);
    lose_records(s, 2);
    start_head(s);
    assert_false(goes_on(s, before));
    dvm_wait_wired(s, 4, 60000);
    sim_destroy(s);
}

/* --- what goes on */

static void the_incarnation_and_epochs_go_on_when_both_keepers_are_lost_with_the_head(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);
    struct epoch epochs[MEMBERS + 1];
    uint64_t version = core_stats(sim_core(s, 6)).version;
    uint32_t all = MEMBERS;

    for (uint32_t v = 3; v <= MEMBERS; v++)
        epochs[v] = core_inspect_epoch(sim_core(s, v));
    lose_records(s, 2);
    sim_for(s, DVM_AWAY_MS);
    start_head(s);
    assert_true(goes_on(s, before));
    assert_true(core_stats(sim_core(s, 0)).version == version + 1);
    sim_start(s, 1);
    sim_start(s, 2);
    dvm_wait_wired(s, MEMBERS, 120000);
    assert_true(sim_until(s, dvm_head_known, &all, 20000));
    for (uint32_t v = 3; v <= MEMBERS; v++)
        assert_true(epoch_eq(core_inspect_epoch(sim_core(s, v)), epochs[v]));
    for (uint32_t v = 1; v <= 2; v++)
        assert_true(core_inspect_epoch(sim_core(s, v)).ctr > 1000000);
    sim_destroy(s);
}

static void jobs_that_no_record_has_end_and_later_ones_have_other_names(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);
    size_t lost = sim_submit(s, 3, 2, 60000, 0), other;

    sim_for(s, 500);
    assert_true(sim_job(s, lost)->accepted);
    lose_records(s, 2);
    start_head(s);
    assert_true(goes_on(s, before));
    dvm_wait_job(s, lost, EXIT_CODE_LOST);
    assert_non_null(strstr(sim_job(s, lost)->text, "its heir does not know the job"));
    for (uint32_t v = 3; v <= MEMBERS; v++)
        assert_int_equal(sim_ranks(s, v), 0);
    other = sim_submit(s, 4, 2, 10, 5);
    dvm_wait_job(s, other, 5);
    assert_true(strtoull(strchr(sim_job(s, other)->nspace, '.') + 1, NULL, 10) > 16000000);
    sim_destroy(s);
}

/* All members are children of the head, and call at once. */
static void a_head_that_starts_at_once_goes_on_with_callers_of_one_moment(void **state)
{
    struct sim *s = boot_shape(12, 16);
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    start_head(s);
    assert_true(goes_on(s, before));
    sim_destroy(s);
}

/* With radix 2 and 14 members, vpids 3 to 6 call, and 7 to 14 are linked below them. */
static void members_that_are_linked_below_callers_count(void **state)
{
    struct sim *s = boot_shape(14, 2);
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    start_head(s);
    assert_true(goes_on(s, before));
    dvm_wait_wired(s, 12, 60000);
    sim_destroy(s);
}

static void an_heir_of_members_has_heirs_with_records(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);
    size_t job;

    lose_records(s, 2);
    start_head(s);
    dvm_wait_wired(s, MEMBERS - 2, 60000);
    sim_for(s, 5000); /* it accepts jobs when all members have reported theirs */
    job = sim_submit(s, 5, 2, 9000, 7);
    sim_for(s, 500);
    replace_head(s);
    assert_true(goes_on(s, before));
    dvm_wait_job(s, job, 7);
    sim_destroy(s);
}

/* Vpid 6 joins while the records are lost at each millisecond. */
static void a_daemon_that_joins_is_a_member_or_joins_again_at_each_moment(void **state)
{
    for (uint64_t ms = 1; ms <= 200; ms += 7) {
        struct sim *s = boot();
        uint64_t before = current_incarnation(s);

        sim_crash(s, 6);
        sim_for(s, DVM_LOSS_MS);
        sim_start(s, 6);
        sim_for(s, ms);
        lose_records(s, 2);
        start_head(s);
        assert_true(goes_on(s, before));
        dvm_wait_wired(s, MEMBERS - 2, 120000);
        sim_destroy(s);
    }
}

/* --- the tables that the new head keeps */

static struct asking *asking_of(struct sim *s)
{
    return &sim_core(s, 0)->asking;
}

static size_t count_tables(struct sim *s)
{
    const struct asking_table *t;
    size_t n;

    DL_COUNT(asking_of(s)->tables, t, n);
    return n;
}

static bool have_sent_tables(struct sim *s, void *arg)
{
    const struct asking_caller *x;
    size_t n = 0;

    DL_FOREACH(asking_of(s)->callers, x)
    {
        n += x->table_come;
    }
    return n == *(size_t *)arg;
}

static void ask_for_tables(struct sim *s, size_t callers)
{
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
    assert_true(sim_until(s, have_sent_tables, &callers, 20000));
}

static struct asking_caller *caller_of(struct sim *s, uint32_t vpid)
{
    struct asking_caller *x;

    DL_SEARCH_SCALAR(asking_of(s)->callers, x, vpid, vpid);
    assert_non_null(x);
    return x;
}

static void callers_with_equal_tables_share_one(void **state)
{
    struct sim *s = boot();
    uint64_t before = current_incarnation(s);

    lose_records(s, 2);
    sim_core(s, 3)->members.version--;
    forge_table(s, 4);
    ask_for_tables(s, 4);
    assert_int_equal(count_tables(s), 3);
    assert_int_equal(caller_of(s, 3)->table->callers, 1);
    assert_int_equal(caller_of(s, 4)->table->callers, 1);
    assert_int_equal(caller_of(s, 5)->table->callers, 2);
    assert_ptr_equal(caller_of(s, 5)->table, caller_of(s, 6)->table);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(goes_on(s, before));
    sim_destroy(s);
}

static size_t sum_bytes(struct sim *s)
{
    const struct asking_caller *x;
    const struct asking_table *t;
    size_t bytes = 0;

    DL_FOREACH(asking_of(s)->tables, t)
    {
        bytes += t->size;
    }
    DL_FOREACH(asking_of(s)->callers, x)
    {
        bytes += x->nlinked * sizeof(*x->linked);
    }
    return bytes;
}

/* Of 14 members vpids 3 to 6 call, and two others are linked below each of them. */
static void a_caller_that_calls_again_frees_its_share(void **state)
{
    struct sim *s = boot_shape(14, 2);
    size_t all = 4, others = 2;

    lose_records(s, 2);
    forge_table(s, 3);
    ask_for_tables(s, all);
    assert_int_equal(caller_of(s, 4)->nlinked, 2);
    assert_int_equal(asking_of(s)->tables_bytes, sum_bytes(s));
    sim_break(s, 0, 3);
    sim_break(s, 0, 4);
    assert_true(sim_until(s, have_sent_tables, &others, 1000));
    assert_int_equal(count_tables(s), 1);
    assert_int_equal(caller_of(s, 5)->table->callers, 2);
    assert_int_equal(asking_of(s)->tables_bytes, sum_bytes(s));
    assert_true(sim_until(s, have_sent_tables, &all, 4000));
    assert_int_equal(count_tables(s), 2);
    assert_int_equal(caller_of(s, 5)->table->callers, 3);
    assert_int_equal(asking_of(s)->tables_bytes, sum_bytes(s));
    sim_destroy(s);
}

/* The entries below the vpid take 40 bytes each: 24, and 16 for a key. */
static void put_far_member(struct sim *s, uint32_t liar, uint32_t vpid, const char *host)
{
    struct members *m = &sim_core(s, liar)->members;
    struct msg_member facts = members_facts(m, 6);

    facts.vpid = vpid;
    facts.key = (struct key_id){1, vpid};
    free(facts.host);
    facts.host = xstrdup(host);
    members_put(m, &facts)->state = MEMBER_WIRED;
    bitmap_set(m->live, vpid);
    msg_member_free(&facts);
}

/* Long host names, of one member each; `other` makes others of them. */
static void put_far_members(struct sim *s, uint32_t liar, uint32_t n, uint32_t other)
{
    char host[251];

    for (uint32_t i = 0; i < n; i++) {
        snprintf(host, sizeof(host), "%0250u", i * 7 + other);
        put_far_member(s, liar, VPID_MAX - 2 * i, host);
    }
}

static void note_refusal(void *arg, uint32_t vpid, const struct out_act *act)
{
    *(unsigned *)arg += vpid == 0 && act->kind == OUT_LOG && act->log.level == LOG_LEVEL_WARN &&
                        strstr(act->log.text, ": its table is not taken");
}

static void send_table_again(struct sim *s, uint32_t vpid)
{
    struct core *c = sim_core(s, vpid);
    struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        if (k->vpid == VPID_HEAD && peer_links(k->peer))
            majority_answer(c, k, peer_links(k->peer));
    }
    sim_drain(s, vpid);
    sim_for(s, 100);
}

/* Vpids 3 to 5 of 12 lie, each in another way: 11 MB for each of them. */
static void a_table_beyond_the_bound_is_not_taken_and_others_decide(void **state)
{
    struct sim *s = boot_shape(12, 16);
    uint64_t before = current_incarnation(s);
    unsigned taken = 0, refused = 0;

    sim_watch(s, &(struct sim_hooks){.arg = &refused, .action = note_refusal});
    lose_records(s, 2);
    for (uint32_t v = 3; v <= 5; v++)
        put_far_members(s, v, 12000, v);
    ask_for_tables(s, 10);
    for (uint32_t v = 3; v <= 5; v++)
        taken += caller_of(s, v)->table != NULL;
    assert_int_equal(taken, 2);
    for (uint32_t v = 3; v <= 5; v++)
        send_table_again(s, v);
    assert_int_equal(refused, 1);
    assert_int_equal(count_tables(s), 3);
    assert_int_equal(caller_of(s, 12)->table->callers, 7);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(goes_on(s, before));
    sim_destroy(s);
}

static void callers_share_a_table_that_is_larger_than_the_bound(void **state)
{
    struct sim *s = boot();

    lose_records(s, 2);
    for (uint32_t v = 3; v <= MEMBERS; v++)
        put_far_members(s, v, 32000, 3);
    ask_for_tables(s, 4);
    assert_int_equal(count_tables(s), 1);
    assert_true(asking_of(s)->tables_bytes > MAJORITY_BYTES_MAX);
    assert_int_equal(asking_of(s)->tables->callers, 4);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_members_are_no_majority),
        cmocka_unit_test(two_different_tables_of_one_version_are_not_taken),
        cmocka_unit_test(the_table_of_one_member_alone_is_not_taken),
        cmocka_unit_test(no_table_is_taken_if_as_many_members_are_of_another_incarnation),
        cmocka_unit_test(a_table_that_half_of_the_callers_are_ahead_of_is_not_taken),
        cmocka_unit_test(callers_without_the_key_that_the_table_has_for_them_do_not_agree),
        cmocka_unit_test(members_that_are_lost_with_their_parent_do_not_count),
        cmocka_unit_test(members_below_a_caller_count_only_if_they_are_linked),
        cmocka_unit_test(the_incarnation_and_epochs_go_on_when_both_keepers_are_lost_with_the_head),
        cmocka_unit_test(jobs_that_no_record_has_end_and_later_ones_have_other_names),
        cmocka_unit_test(members_that_are_linked_below_callers_count),
        cmocka_unit_test(a_head_that_starts_at_once_goes_on_with_callers_of_one_moment),
        cmocka_unit_test(an_heir_of_members_has_heirs_with_records),
        cmocka_unit_test(a_daemon_that_joins_is_a_member_or_joins_again_at_each_moment),
        cmocka_unit_test(callers_with_equal_tables_share_one),
        cmocka_unit_test(a_caller_that_calls_again_frees_its_share),
        cmocka_unit_test(a_table_beyond_the_bound_is_not_taken_and_others_decide),
        cmocka_unit_test(callers_share_a_table_that_is_larger_than_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
