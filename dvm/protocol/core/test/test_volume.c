/* SPDX-License-Identifier: BSD-3-Clause */
/* A head whose records are on a volume and at keepers: those of the volume are taken if both
 * keepers are lost with the head, and not if members show that they are older. */
#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/keepers.h"

static struct sim *boot_with_volume(void)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = MEMBERS,
                                                 .started = MEMBERS,
                                                 .radix = 2,
                                                 .slots = 2,
                                                 .disk = true,
                                                 .keepers = true});

    dvm_wait_wired(s, MEMBERS, 20000);
    sim_for(s, 100);
    assert_int_equal(core_stats(sim_core(s, 0)).keepers, 2);
    return s;
}

static uint64_t current_incarnation(struct sim *s)
{
    return core_inspect_epoch(sim_core(s, 0)).inc;
}

static void save_records(struct sim *s, struct buf *b)
{
    buf_init(b, RECORD_SNAPSHOT_MAX);
    core_snapshot(sim_core(s, 0), b);
    assert_false(b->failed);
}

/* Of the new head, which asks. */
static void set_volume(struct sim *s, const void *data, size_t len)
{
    struct buf *volume = &sim_core(s, 0)->asking.volume;

    assert_true(sim_core(s, 0)->asking.on);
    buf_free(volume);
    *volume = (struct buf){0};
    buf_init(volume, RECORD_SNAPSHOT_MAX);
    buf_put_raw(volume, data, len);
}

static void lose_keepers(struct sim *s)
{
    sim_crash(s, 0);
    sim_crash(s, 1);
    sim_crash(s, 2);
}

static void start_head(struct sim *s)
{
    sim_start(s, 0);
    assert_true(sim_until(s, is_head, NULL, 30000));
}

static void put_shrink(struct sim *s)
{
    uint32_t last[] = {MEMBERS};
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_SHRINK, .deadline_s = -1, .ntargets = 1, .targets = last};

    dvm_put_campaign(s, "down", &r);
    assert_int_not_equal(dvm_phase(s, "down"), API_PHASE_COMPLETE);
}

static void c21_jobs_and_campaigns_go_on_when_both_keepers_are_lost_with_the_head(void **state)
{
    const struct sim_want held = {.ranks = 2, .run_ms = 9000, .code = 5, .nhosts = 1, .hosts = {5}};
    struct sim *s = boot_with_volume();
    uint64_t before = current_incarnation(s);
    size_t runs = sim_submit_job(s, 4, &held), waits;

    sim_for(s, 100);
    waits = sim_submit_job(s, 3, &held); /* for the slots of vpid 5 */
    sim_for(s, 100);
    assert_true(sim_job(s, waits)->accepted);
    put_shrink(s);
    lose_keepers(s);
    sim_for(s, DVM_AWAY_MS);
    start_head(s);
    assert_true(current_incarnation(s) == before);
    dvm_wait_job(s, runs, 5);
    dvm_wait_job(s, waits, 5);
    dvm_wait_complete(s, "down", 60000);
    sim_destroy(s);
}

/* Both keepers are lost with the head, and a member came anew after the records of the volume. */
static void start_with_older_volume(struct sim *s)
{
    BUF_AUTO struct buf older = {0};

    save_records(s, &older);
    sim_crash(s, 6);
    sim_start(s, 6);
    sim_for(s, 2000);
    dvm_wait_wired(s, MEMBERS, 20000);
    lose_keepers(s);
    sim_start(s, 0);
    set_volume(s, older.data, older.len);
}

static void c21_records_of_a_volume_that_a_member_is_ahead_of_are_not_taken(void **state)
{
    struct sim *s = boot_with_volume();

    start_with_older_volume(s);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_false(core_inspect_from_volume(sim_core(s, 0))); /* but the table of the members */
    dvm_wait_wired(s, MEMBERS - 2, 60000);
    sim_destroy(s);
}

/* The head runs on without its members, and its records go to the volume. Its heir has given the
 * same number to its own ADD, so the members are not ahead of the volume by their versions. */
static void records_of_a_head_that_ran_on_are_not_taken_if_members_know_its_heir(void **state)
{
    struct sim *s = boot_with_volume();
    BUF_AUTO struct buf ran_on = {0};
    uint64_t version;

    cut_off(s, 1);
    cut_off(s, 2);
    put_shrink(s);
    save_records(s, &ran_on);
    version = core_inspect_members(sim_core(s, 0))->version;
    sim_crash(s, 0);
    sim_heal(s);
    start_head(s);
    sim_for(s, 2000);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(core_inspect_members(sim_core(s, v))->version, version);
    lose_keepers(s);
    sim_start(s, 0);
    set_volume(s, ran_on.data, ran_on.len);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_false(core_inspect_from_volume(sim_core(s, 0)));
    dvm_wait_wired(s, MEMBERS - 2, 60000);
    sim_destroy(s);
}

static bool knows_caller(struct sim *s, uint32_t vpid)
{
    const struct asking *a = &sim_core(s, 0)->asking;

    for (size_t i = 0; i < a->nseen; i++) {
        if (a->seen[i].vpid == vpid)
            return true;
    }
    return false;
}

static bool all_have_called(struct sim *s, void *arg)
{
    bool all = true;

    for (uint32_t v = 3; v <= MEMBERS; v++)
        all &= knows_caller(s, v);
    return all;
}

static void c21_a_member_that_has_called_and_ended_shows_that_a_volume_is_older(void **state)
{
    struct sim *s = boot_with_volume();
    uint64_t before = current_incarnation(s);

    start_with_older_volume(s);
    assert_true(sim_until(s, all_have_called, NULL, 9000));
    for (uint32_t v = 3; v <= MEMBERS; v++)
        sim_crash(s, v);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(current_incarnation(s) != before);
    sim_destroy(s);
}

static void c21_the_records_of_keepers_are_taken_before_those_of_a_volume(void **state)
{
    struct sim *s = boot_with_volume();
    uint64_t before = current_incarnation(s);
    BUF_AUTO struct buf older = {0};
    size_t job;

    save_records(s, &older);
    job = sim_submit(s, 4, 2, 9000, 5);
    sim_for(s, 100);
    assert_true(sim_job(s, job)->accepted);
    sim_crash(s, 0);
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
    set_volume(s, older.data, older.len);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(current_incarnation(s) == before);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

static void damaged_records_of_a_volume_are_not_taken(void **state)
{
    struct sim *s = boot_with_volume();

    lose_keepers(s);
    sim_start(s, 0);
    set_volume(s, "damaged", 7);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_false(core_inspect_from_volume(sim_core(s, 0)));
    dvm_wait_wired(s, MEMBERS - 2, 60000);
    sim_destroy(s);
}

/* The volume was not there in the second incarnation. */
static void c21_records_of_an_incarnation_that_most_members_have_left_are_not_taken(void **state)
{
    struct sim *s = boot_with_volume();
    uint64_t first = current_incarnation(s), second;
    BUF_AUTO struct buf older = {0};

    save_records(s, &older);
    lose_keepers(s);
    sim_crash(s, 3); /* half of the members are left */
    sim_lose_disk(s);
    start_head(s);
    second = current_incarnation(s);
    assert_true(second != first);
    dvm_wait_wired(s, MEMBERS - 3, 60000);
    sim_crash(s, 0);
    sim_crash(s, 4);
    sim_crash(s, 5);
    sim_start(s, 0);
    set_volume(s, older.data, older.len);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(current_incarnation(s) != first && current_incarnation(s) != second);
    dvm_wait_wired(s, 1, 60000);
    sim_destroy(s);
}

static void lose_all_members(struct sim *s)
{
    for (uint32_t v = 1; v <= MEMBERS; v++)
        sim_crash(s, v);
    sim_for(s, 20000);
    assert_int_equal(core_stats(sim_core(s, 0)).keepers, 0);
}

static void send_sigterm(struct sim *s)
{
    sim_clock(s, 0);
    core_sigterm(sim_core(s, 0));
}

static void sigterm_ends_the_incarnation_when_the_volume_is_lost_too(void **state)
{
    struct sim *s = boot_with_volume();

    lose_all_members(s);
    core_records_lost(sim_core(s, 0));
    send_sigterm(s);
    assert_true(core_incarnation_ends(sim_core(s, 0)));
    sim_destroy(s);
}

static void c21_sigterm_hands_over_to_a_volume_when_no_keeper_is_in_sync(void **state)
{
    struct sim *s = boot_with_volume();
    uint64_t before = current_incarnation(s);

    lose_all_members(s);
    send_sigterm(s);
    sim_drain(s, 0);
    sim_for(s, 2000);
    assert_null(sim_core(s, 0));
    start_head(s);
    assert_true(current_incarnation(s) == before);
    sim_destroy(s);
}

/* All pods of the DVM were deleted, and come again. */
static void c21_the_records_of_a_volume_are_taken_if_no_member_is_left(void **state)
{
    struct sim *s = boot_with_volume();
    uint64_t before = current_incarnation(s);

    for (uint32_t v = 0; v <= MEMBERS; v++)
        sim_crash(s, v);
    sim_start(s, 0);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        sim_start(s, v);
    assert_true(sim_until(s, is_head, NULL, 30000));
    assert_true(current_incarnation(s) == before);
    dvm_wait_wired(s, MEMBERS, 60000);
    sim_destroy(s);
}

/* The file of a head that has asked may be older than what it got. */
static void c21_the_first_records_of_a_head_that_has_asked_replace_the_earlier_ones(void **state)
{
    struct sim *s = boot_with_volume();
    uint64_t before = current_incarnation(s);
    size_t job = sim_submit_job(
        s, 4,
        &(struct sim_want){.ranks = 2, .run_ms = 20000, .code = 5, .nhosts = 1, .hosts = {5}});

    sim_for(s, 100);
    sim_lose_disk(s);
    replace_head(s); /* by its keepers */
    sim_for(s, 1000);
    lose_keepers(s);
    sim_for(s, DVM_AWAY_MS);
    start_head(s);
    assert_true(has_records(s));
    assert_true(current_incarnation(s) == before);
    dvm_wait_job(s, job, 5);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c21_jobs_and_campaigns_go_on_when_both_keepers_are_lost_with_the_head),
        cmocka_unit_test(c21_records_of_a_volume_that_a_member_is_ahead_of_are_not_taken),
        cmocka_unit_test(records_of_a_head_that_ran_on_are_not_taken_if_members_know_its_heir),
        cmocka_unit_test(c21_a_member_that_has_called_and_ended_shows_that_a_volume_is_older),
        cmocka_unit_test(c21_the_records_of_keepers_are_taken_before_those_of_a_volume),
        cmocka_unit_test(damaged_records_of_a_volume_are_not_taken),
        cmocka_unit_test(c21_records_of_an_incarnation_that_most_members_have_left_are_not_taken),
        cmocka_unit_test(sigterm_ends_the_incarnation_when_the_volume_is_lost_too),
        cmocka_unit_test(c21_sigterm_hands_over_to_a_volume_when_no_keeper_is_in_sync),
        cmocka_unit_test(c21_the_records_of_a_volume_are_taken_if_no_member_is_left),
        cmocka_unit_test(c21_the_first_records_of_a_head_that_has_asked_replace_the_earlier_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
