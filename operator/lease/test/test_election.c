/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the rules by which candidates share a Lease. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/lease/election.h"

#include <string.h>

#define WALL_MS 1700000000123

static struct election candidate(const char *identity)
{
    return (struct election){.identity = identity, .duration_s = 15, .deadline_ms = 10000};
}

static json_t *lease_of(const char *holder, const char *renewed)
{
    return json_pack("{s:{s:s, s:s}, s:{s:s, s:i, s:s, s:s, s:i}}", "metadata", "name", "op",
                     "resourceVersion", "7", "spec", "holderIdentity", holder,
                     "leaseDurationSeconds", 20, "acquireTime", "2023-11-14T22:00:00.000000Z",
                     "renewTime", renewed, "leaseTransitions", 3);
}

static void see(struct election *e, const char *holder, const char *renewed, uint64_t now_ms)
{
    json_t *lease = lease_of(holder, renewed);

    election_saw(e, lease, now_ms);
    json_decref(lease);
}

static const char *text_of(const json_t *lease, const char *key)
{
    return json_string_value(json_object_get(json_object_get(lease, "spec"), key));
}

static void a_lease_of_another_is_taken_only_after_its_own_duration(void **state)
{
    struct election e = candidate("b");

    see(&e, "a", "r1", 1000);
    assert_int_equal(election_next(&e, 1000), ELECTION_WAIT);
    assert_int_equal(election_next(&e, 20999), ELECTION_WAIT); /* 20 s are written in it */
    assert_int_equal(election_next(&e, 21000), ELECTION_TAKE);
    election_clear(&e);
}

static void a_renewal_begins_the_duration_again_and_a_second_look_does_not(void **state)
{
    struct election e = candidate("b");

    see(&e, "a", "r1", 1000);
    see(&e, "a", "r1", 15000);
    assert_int_equal(election_next(&e, 21000), ELECTION_TAKE);
    see(&e, "a", "r2", 21000);
    assert_int_equal(election_next(&e, 40999), ELECTION_WAIT);
    assert_int_equal(election_next(&e, 41000), ELECTION_TAKE);
    election_clear(&e);
}

static void the_times_written_in_a_lease_are_not_compared_with_our_clock(void **state)
{
    struct election e = candidate("b");

    see(&e, "a", "1990-01-01T00:00:00.000000Z", 1000);
    assert_int_equal(election_next(&e, 1001), ELECTION_WAIT);
    election_clear(&e);
}

static void a_lease_that_is_absent_or_free_or_ours_may_be_taken_at_once(void **state)
{
    struct election e = candidate("b");

    election_saw(&e, NULL, 1000);
    assert_int_equal(election_next(&e, 1000), ELECTION_CREATE);
    see(&e, "", "r1", 1000);
    assert_int_equal(election_next(&e, 1000), ELECTION_TAKE);
    see(&e, "b", "r1", 1000);
    assert_int_equal(election_next(&e, 1000), ELECTION_TAKE);
    assert_false(election_holds(&e, 1000));
    election_clear(&e);
}

static void the_holders_deadline_counts_from_the_sending_of_its_write(void **state)
{
    struct election e = candidate("b");
    json_t *lease = lease_of("b", "r1");

    election_wrote(&e, lease, 5000);
    assert_true(election_holds(&e, 14999));
    assert_int_equal(election_next(&e, 14999), ELECTION_RENEW);
    assert_false(election_holds(&e, 15000));
    election_wrote(&e, lease, 9000);
    assert_true(election_holds(&e, 18999));
    json_decref(lease);
    election_clear(&e);
}

static void a_lease_that_another_has_taken_is_not_held_any_more(void **state)
{
    struct election e = candidate("b");
    json_t *lease = lease_of("b", "r1");

    election_wrote(&e, lease, 5000);
    json_decref(lease);
    see(&e, "a", "r2", 6000);
    assert_false(election_holds(&e, 6000));
    assert_int_equal(election_next(&e, 6000), ELECTION_WAIT);
    election_clear(&e);
}

static void a_claim_has_the_fields_that_other_clients_read(void **state)
{
    struct election e = candidate("b");

    see(&e, "a", "r1", 1000);
    json_t *claim = election_claim(&e, "op", WALL_MS);
    assert_string_equal(text_of(claim, "holderIdentity"), "b");
    assert_string_equal(text_of(claim, "acquireTime"), "2023-11-14T22:13:20.123000Z");
    assert_string_equal(text_of(claim, "renewTime"), "2023-11-14T22:13:20.123000Z");
    const json_t *spec = json_object_get(claim, "spec");
    assert_int_equal(json_integer_value(json_object_get(spec, "leaseDurationSeconds")), 15);
    assert_int_equal(json_integer_value(json_object_get(spec, "leaseTransitions")), 4);
    const json_t *meta = json_object_get(claim, "metadata");
    assert_string_equal(json_string_value(json_object_get(meta, "resourceVersion")), "7");
    json_decref(claim);
    election_clear(&e);
}

static void a_renewal_keeps_the_time_of_acquisition_and_the_number_of_transitions(void **state)
{
    struct election e = candidate("a");

    see(&e, "a", "r1", 1000);
    json_t *claim = election_claim(&e, "op", WALL_MS);
    assert_string_equal(text_of(claim, "acquireTime"), "2023-11-14T22:00:00.000000Z");
    assert_string_equal(text_of(claim, "renewTime"), "2023-11-14T22:13:20.123000Z");
    const json_t *spec = json_object_get(claim, "spec");
    assert_int_equal(json_integer_value(json_object_get(spec, "leaseTransitions")), 3);
    json_decref(claim);
    election_clear(&e);
}

static void a_first_claim_names_the_lease_and_counts_no_transition(void **state)
{
    struct election e = candidate("a");

    json_t *claim = election_claim(&e, "op", WALL_MS);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(claim, "metadata"), "name")), "op");
    const json_t *spec = json_object_get(claim, "spec");
    assert_int_equal(json_integer_value(json_object_get(spec, "leaseTransitions")), 0);
    json_decref(claim);
    election_clear(&e);
}

static void a_release_leaves_no_holder(void **state)
{
    struct election e = candidate("a");

    see(&e, "a", "r1", 1000);
    json_t *release = election_release(&e, WALL_MS);
    assert_string_equal(text_of(release, "holderIdentity"), "");
    const json_t *spec = json_object_get(release, "spec");
    assert_int_equal(json_integer_value(json_object_get(spec, "leaseTransitions")), 3);
    election_wrote(&e, release, 2000);
    assert_false(election_holds(&e, 2000));
    json_decref(release);
    election_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_of_another_is_taken_only_after_its_own_duration),
        cmocka_unit_test(a_renewal_begins_the_duration_again_and_a_second_look_does_not),
        cmocka_unit_test(the_times_written_in_a_lease_are_not_compared_with_our_clock),
        cmocka_unit_test(a_lease_that_is_absent_or_free_or_ours_may_be_taken_at_once),
        cmocka_unit_test(the_holders_deadline_counts_from_the_sending_of_its_write),
        cmocka_unit_test(a_lease_that_another_has_taken_is_not_held_any_more),
        cmocka_unit_test(a_claim_has_the_fields_that_other_clients_read),
        cmocka_unit_test(a_renewal_keeps_the_time_of_acquisition_and_the_number_of_transitions),
        cmocka_unit_test(a_first_claim_names_the_lease_and_counts_no_transition),
        cmocka_unit_test(a_release_leaves_no_holder),
    };

    return cmocka_run_group_tests_name("election", tests, NULL, NULL);
}
