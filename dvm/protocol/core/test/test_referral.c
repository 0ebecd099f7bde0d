/* SPDX-License-Identifier: BSD-3-Clause */
/* The members to which a head sends clients on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"

#include <string.h>

#define MEMBERS 5

static struct sim *boot(bool disk, bool keepers)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){
        .members = MEMBERS, .started = MEMBERS, .slots = 1, .disk = disk, .keepers = keepers});

    dvm_wait_wired(s, MEMBERS, 20000);
    return s;
}

/* Members of a simulated DVM differ by their ports. */
static uint32_t vpid_of(struct sim *s, const struct client_place *p)
{
    const struct members *m = core_inspect_members(sim_core(s, 0));

    for (uint32_t v = 1; v < m->n; v++) {
        struct msg_member facts = members_facts(m, v);
        bool same = facts.port == p->port && strcmp(facts.address, p->address) == 0;

        msg_member_free(&facts);
        if (same)
            return v;
    }
    fail_msg("%s:%u is no member's", p->address, p->port);
    return 0;
}

/* Fails the test if the head, in this turn, does not name exactly these members, in this order. */
static void assert_named(struct sim *s, uint64_t turn, const uint32_t *vpids, size_t n)
{
    struct client_referral r = core_referral(sim_core(s, 0), turn);

    assert_int_equal(r.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(vpid_of(s, &r.places[i]), vpids[i]);
}

static void a_head_without_records_names_no_member(void **state)
{
    struct sim *s = boot(false, false);

    assert_int_equal(core_referral(sim_core(s, 0), 0).n, 0);
    sim_destroy(s);
}

static void a_member_names_no_member(void **state)
{
    struct sim *s = boot(true, true);

    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(core_referral(sim_core(s, v), 0).n, 0);
    sim_destroy(s);
}

static void a_head_without_a_member_names_none(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 2, .disk = true});

    sim_for(s, 1000);
    assert_int_equal(core_state(sim_core(s, 0)), CORE_WIRED);
    assert_int_equal(core_referral(sim_core(s, 0), 0).n, 0);
    sim_destroy(s);
}

static void a_head_that_ends_its_incarnation_names_no_member(void **state)
{
    struct sim *s = boot(true, false);
    size_t job = sim_submit(s, 1, 1, 60000, 0);
    struct api_shutdown end = {.deadline_s = -1};
    enum api_reason reason = API_REASON_NONE;

    sim_for(s, 1000);
    assert_int_equal(core_referral(sim_core(s, 0), 0).n, 3);
    assert_int_equal(core_shutdown(sim_core(s, 0), &end, &reason, NULL), 0);
    sim_for(s, 1000);
    assert_int_equal(core_referral(sim_core(s, 0), 0).n, 0);
    (void)job;
    sim_destroy(s);
}

static void the_lower_half_of_the_members_takes_turns(void **state)
{
    for (int keepers = 0; keepers < 2; keepers++) {
        struct sim *s = boot(!keepers, keepers);

        for (uint64_t turn = 0; turn <= 6; turn += 3) {
            assert_named(s, turn, (uint32_t[]){1, 2, 3}, 3);
            assert_named(s, turn + 1, (uint32_t[]){2, 3, 1}, 3);
            assert_named(s, turn + 2, (uint32_t[]){3, 1, 2}, 3);
        }
        sim_destroy(s);
    }
}

static void the_upper_half_fills_the_list(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 3, .started = 3, .disk = true});

    dvm_wait_wired(s, 3, 20000);
    assert_named(s, 0, (uint32_t[]){1, 2, 3}, 3);
    assert_named(s, 1, (uint32_t[]){2, 1, 3}, 3);
    sim_destroy(s);
}

static void a_member_that_leaves_is_not_named(void **state)
{
    struct sim *s = boot(true, false);
    size_t job = sim_submit(s, 1, MEMBERS, 60000, 0);
    uint32_t target = 2;
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .keeps_size = true,
                                     .deadline_s = -1,
                                     .ntargets = 1,
                                     .targets = &target};

    sim_for(s, 1000);
    assert_int_equal(sim_ranks(s, 2), 1);
    dvm_put_campaign(s, "c", &r);
    assert_int_equal(dvm_in_state(s, MEMBER_DRAINING), 1);
    assert_named(s, 0, (uint32_t[]){1, 3, 4}, 3);
    assert_named(s, 1, (uint32_t[]){3, 1, 4}, 3);
    (void)job;
    sim_destroy(s);
}

static void a_member_that_is_lost_is_not_named(void **state)
{
    struct sim *s = boot(true, false);

    sim_crash(s, 1);
    sim_for(s, DVM_LOSS_MS);
    assert_named(s, 0, (uint32_t[]){2, 3, 4}, 3);
    sim_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_without_records_names_no_member),
        cmocka_unit_test(a_member_names_no_member),
        cmocka_unit_test(a_head_without_a_member_names_none),
        cmocka_unit_test(a_head_that_ends_its_incarnation_names_no_member),
        cmocka_unit_test(the_lower_half_of_the_members_takes_turns),
        cmocka_unit_test(the_upper_half_fills_the_list),
        cmocka_unit_test(a_member_that_leaves_is_not_named),
        cmocka_unit_test(a_member_that_is_lost_is_not_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
