/* SPDX-License-Identifier: BSD-3-Clause */
/* The budgets of a port: who is refused, who makes room, who is late. */
#include "base/door/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union address parse_address(const char *text)
{
    union address a = {.v6 = {0}};

    if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &a.v6.sin6_addr), 1);
        a.v6.sin6_family = AF_INET6;
    }
    return a;
}

/* Four strangers, two of one source, 100 ms or 10 ms; two known ones, 1000 ms. */
static struct door *small_door(void)
{
    const struct door_opts opts = {
        .of = {[DOOR_STRANGER] = {.max = 4, .per_source = 2, .idle_ms = 100, .hurry_ms = 10},
               [DOOR_KNOWN] = {.max = 2, .idle_ms = 1000}}};

    return door_create(&opts);
}

static struct door_place *enter_door(struct door *d, const char *from, const char *owner,
                                     uint64_t now)
{
    union address a = parse_address(from);

    return door_enter(d, DOOR_STRANGER, &a.any, (void *)owner, now);
}

static void a_newcomer_over_its_sources_budget_displaces_the_sources_oldest(void **state)
{
    struct door *d = small_door();

    enter_door(d, "10.0.0.9", "old other", 0);
    enter_door(d, "10.0.0.1", "first", 1);
    enter_door(d, "10.0.0.1", "second", 2);
    assert_null(door_next_out(d, 2));
    assert_non_null(enter_door(d, "10.0.0.1", "third", 3));
    assert_string_equal(door_next_out(d, 3), "first");
    assert_null(door_next_out(d, 3));
    door_destroy(d);
}

static void a_newcomer_to_a_full_port_displaces_the_oldest_of_the_largest_source(void **state)
{
    struct door *d = small_door();

    enter_door(d, "10.0.0.9", "alone", 0);
    enter_door(d, "10.0.0.8", "alone too", 0);
    enter_door(d, "10.0.0.1", "first", 1);
    enter_door(d, "10.0.0.1", "second", 2);
    assert_non_null(enter_door(d, "10.0.0.2", "newcomer", 3));
    assert_string_equal(door_next_out(d, 3), "first");
    assert_null(door_next_out(d, 3));
    door_destroy(d);
}

static void a_busy_connection_is_neither_late_nor_displaced(void **state)
{
    struct door *d = small_door();
    struct door_place *p = enter_door(d, "10.0.0.1", "busy", 0);
    struct door_place *q;

    door_busy(p);
    enter_door(d, "10.0.0.1", "idle", 1);
    assert_non_null(enter_door(d, "10.0.0.1", "newcomer", 2));
    assert_string_equal(door_next_out(d, 2), "idle");
    assert_string_equal(door_next_out(d, 5000), "newcomer");
    assert_null(door_next_out(d, 5000));
    q = enter_door(d, "10.0.0.1", "second", 5000);
    door_busy(q);
    assert_null(enter_door(d, "10.0.0.1", "refused", 5001));
    assert_null(door_next_out(d, 5001));
    door_destroy(d);
}

static void a_port_of_busy_connections_refuses_a_newcomer(void **state)
{
    static const char *const from[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"};
    struct door *d = small_door();
    struct door_place *p[4];

    for (size_t i = 0; i < 4; i++) {
        p[i] = enter_door(d, from[i], "busy", i);
        door_busy(p[i]);
    }
    assert_null(enter_door(d, "10.0.0.5", "refused", 9));
    assert_null(door_next_out(d, 9));
    door_leave(p[2]);
    assert_non_null(enter_door(d, "10.0.0.5", "accepted", 10));
    door_destroy(d);
}

static void an_idle_connection_is_closed_after_its_time_and_sooner_when_the_port_is_full(void **st)
{
    struct door *d = small_door();

    assert_int_equal(door_deadline(d), UINT64_MAX);
    enter_door(d, "10.0.0.1", "first", 5);
    enter_door(d, "10.0.0.2", "second", 6);
    assert_int_equal(door_deadline(d), 105);
    assert_null(door_next_out(d, 104));
    enter_door(d, "10.0.0.3", "third", 7);
    assert_int_equal(door_deadline(d), 15);
    assert_string_equal(door_next_out(d, 15), "first");
    assert_null(door_next_out(d, 30));
    assert_int_equal(door_deadline(d), 106);
    door_destroy(d);
}

static void a_connection_that_becomes_idle_again_has_its_whole_time(void **state)
{
    struct door *d = small_door();
    struct door_place *p = enter_door(d, "10.0.0.1", "served", 0);

    door_busy(p);
    assert_int_equal(door_deadline(d), UINT64_MAX);
    door_idle(p, 500);
    assert_null(door_next_out(d, 599));
    assert_string_equal(door_next_out(d, 600), "served");
    door_idle(p, 600); /* it is out */
    assert_int_equal(door_deadline(d), UINT64_MAX);
    door_leave(p);
    door_destroy(d);
}

static void known_connections_have_a_budget_of_their_own(void **state)
{
    struct door *d = small_door();
    struct door_place *a = enter_door(d, "10.0.0.1", "a", 0);
    struct door_place *b = enter_door(d, "10.0.0.2", "b", 0);
    struct door_place *c = enter_door(d, "10.0.0.3", "c", 0);

    assert_int_equal(door_admit(a, 1), 0);
    assert_int_equal(door_admit(b, 2), 0);
    for (int i = 0; i < 8; i++) {
        assert_non_null(enter_door(d, "10.0.0.7", "crowd", 3));
        assert_non_null(enter_door(d, "10.0.0.8", "crowd", 3));
    }
    for (const char *out; (out = door_next_out(d, 3));)
        assert_true(strcmp(out, "crowd") == 0 || strcmp(out, "c") == 0);
    assert_int_equal(door_admit(c, 4), 0);
    assert_string_equal(door_next_out(d, 4), "a");
    door_destroy(d);
}

static void a_credential_is_refused_when_all_known_connections_are_busy(void **state)
{
    struct door *d = small_door();
    struct door_place *a = enter_door(d, "10.0.0.1", "a", 0);
    struct door_place *b = enter_door(d, "10.0.0.2", "b", 0);
    struct door_place *c = enter_door(d, "10.0.0.3", "c", 0);

    assert_int_equal(door_admit(a, 1), 0);
    assert_int_equal(door_admit(b, 1), 0);
    door_busy(a);
    door_busy(b);
    assert_int_equal(door_admit(c, 2), -1);
    assert_int_equal(door_admit(a, 2), 0); /* is known already */
    assert_null(door_next_out(d, 2));
    door_destroy(d);
}

static void places_that_are_left_are_free_again(void **state)
{
    struct door *d = small_door();

    for (int i = 0; i < 1000; i++)
        door_leave(enter_door(d, "10.0.0.1", "short", 0));
    enter_door(d, "10.0.0.1", "first", 1);
    enter_door(d, "10.0.0.1", "second", 1);
    assert_null(door_next_out(d, 1));
    door_leave(NULL);
    door_destroy(d);
}

static void a_place_that_is_left_before_it_was_given_is_not_given(void **state)
{
    struct door *d = small_door();
    struct door_place *first = enter_door(d, "10.0.0.1", "first", 0);

    enter_door(d, "10.0.0.1", "second", 0);
    enter_door(d, "10.0.0.1", "third", 0);
    assert_int_equal(door_deadline(d), 0);
    door_leave(first);
    assert_null(door_next_out(d, 0));
    door_destroy(d);
}

static void all_addresses_of_an_ipv6_subnet_are_one_source(void **state)
{
    struct door *d = small_door();

    enter_door(d, "2001:db8::1", "first", 0);
    enter_door(d, "2001:db8::ffff:2", "second", 0);
    enter_door(d, "2001:db8:0:1::1", "other net", 0);
    assert_null(door_next_out(d, 0));
    enter_door(d, "2001:db8::3", "third", 0);
    assert_string_equal(door_next_out(d, 0), "first");
    door_destroy(d);
}

static void an_ipv4_address_is_one_source_in_either_notation(void **state)
{
    struct door *d = small_door();

    enter_door(d, "10.0.0.1", "first", 0);
    enter_door(d, "::ffff:10.0.0.1", "second", 0);
    enter_door(d, "::ffff:10.0.0.2", "other", 0);
    enter_door(d, "10.0.0.1", "third", 0);
    assert_string_equal(door_next_out(d, 0), "first");
    assert_null(door_next_out(d, 0));
    door_destroy(d);
}

static void a_share_is_bounded_by_the_limit_of_descriptors(void **state)
{
    struct rlimit old;
    struct rlimit r;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    r = old;
    r.rlim_cur = 200;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
    assert_int_equal(door_share(1000, 25), 50);
    assert_int_equal(door_share(30, 25), 30);
    r.rlim_cur = 24;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
    assert_int_equal(door_share(1000, 5), 4);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_over_its_sources_budget_displaces_the_sources_oldest),
        cmocka_unit_test(a_newcomer_to_a_full_port_displaces_the_oldest_of_the_largest_source),
        cmocka_unit_test(a_busy_connection_is_neither_late_nor_displaced),
        cmocka_unit_test(a_port_of_busy_connections_refuses_a_newcomer),
        cmocka_unit_test(
            an_idle_connection_is_closed_after_its_time_and_sooner_when_the_port_is_full),
        cmocka_unit_test(a_connection_that_becomes_idle_again_has_its_whole_time),
        cmocka_unit_test(known_connections_have_a_budget_of_their_own),
        cmocka_unit_test(a_credential_is_refused_when_all_known_connections_are_busy),
        cmocka_unit_test(places_that_are_left_are_free_again),
        cmocka_unit_test(a_place_that_is_left_before_it_was_given_is_not_given),
        cmocka_unit_test(all_addresses_of_an_ipv6_subnet_are_one_source),
        cmocka_unit_test(an_ipv4_address_is_one_source_in_either_notation),
        cmocka_unit_test(a_share_is_bounded_by_the_limit_of_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
