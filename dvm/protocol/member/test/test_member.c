/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of members: epochs, the tree over them, and the nidmap that makes an equal table
 * elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/member/heads.h"
#include "dvm/protocol/member/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INC 5u

static struct msg_member facts(uint32_t vpid, uint64_t ctr)
{
    return (struct msg_member){.vpid = vpid,
                               .epoch = {INC, ctr},
                               .host = "host",
                               .address = "address",
                               .port = 7000,
                               .slots = 4};
}

static void add(struct members *m, uint32_t vpid, uint64_t ctr)
{
    struct msg_member f = facts(vpid, ctr);

    assert_int_equal(members_add(m, &f, 1), 1);
}

/* A head with vpids 0..n-1, in the epochs 10..10+n-1. */
static struct members table(uint32_t n)
{
    struct members m;

    members_init(&m, 0, 2);
    for (uint32_t v = 0; v < n; v++)
        add(&m, v, 10 + v);
    return m;
}

static bool current(const struct members *m, uint32_t vpid, uint64_t ctr)
{
    return members_current(m, vpid, (struct epoch){INC, ctr});
}

static void the_end_of_another_epoch_changes_nothing(void **state)
{
    static const struct msg_target others[] = {
        {1, {INC, 10}},     /* an earlier epoch of the vpid */
        {1, {INC, 12}},     /* a later one */
        {1, {INC + 1, 11}}, /* of another head */
        {7, {INC, 17}},     /* a vpid that never was */
        {VPID_MAX, {INC, 1}},
    };
    struct members m = table(3);

    assert_int_equal(members_remove(&m, others, 5, MEMBER_EV_LOSE), 0);
    assert_int_equal(m.repairs, 0);
    assert_true(current(&m, 1, 11));
    assert_int_equal(members_get(&m, 1)->state, MEMBER_WIRED);
    members_free(&m);
}

static void a_second_report_changes_nothing(void **state)
{
    struct members m = table(3);
    struct msg_member again = facts(1, 11);
    struct msg_target gone = {2, {INC, 12}};

    members_entry(&m, 1)->state = MEMBER_DRAINING;
    assert_int_equal(members_add(&m, &again, 1), 0);
    assert_int_equal(members_get(&m, 1)->state, MEMBER_DRAINING);
    assert_int_equal(members_remove(&m, &gone, 1, MEMBER_EV_LOSE), 1);
    assert_int_equal(members_remove(&m, &gone, 1, MEMBER_EV_REMOVE), 0);
    assert_int_equal(members_get(&m, 2)->state, MEMBER_LOST);
    assert_int_equal(m.repairs, 1);
    members_free(&m);
}

static void an_unknown_vpid_has_no_entry_and_no_epoch(void **state)
{
    struct members m = table(2);

    assert_null(members_get(&m, 2));
    assert_null(members_get(&m, VPID_MAX));
    assert_null(members_get(&m, VPID_NONE));
    assert_false(members_live(&m, VPID_NONE));
    assert_false(current(&m, 5, 15));
    members_entries(&m, m.n, m.cap - m.n); /* all memory of the table is used */
    assert_null(members_get(&m, m.n));
    assert_null(members_entry(&m, m.n));
    members_free(&m);
}

static void facts_without_a_broadcast_make_no_member(void **state)
{
    struct members m = table(2);
    struct msg_member f = facts(2, 12);

    members_put(&m, &f)->state = MEMBER_REPORTED;
    assert_non_null(members_get(&m, 2));
    assert_false(members_live(&m, 2));
    assert_false(current(&m, 2, 12));
    members_free(&m);
}

static void any_number_of_departed_is_one_repair(void **state)
{
    struct members m = table(64);
    struct msg_target list[40];

    for (uint32_t i = 0; i < 40; i++)
        list[i] = (struct msg_target){i + 1, {INC, 11 + i}};
    assert_int_equal(members_remove(&m, list, 39, MEMBER_EV_REMOVE), 39);
    assert_true(members_live(&m, 40));
    members_free(&m);
    m = table(64);
    assert_int_equal(members_remove(&m, list, 40, MEMBER_EV_REMOVE), 40);
    assert_int_equal(m.repairs, 1);
    for (uint32_t v = 1; v <= 40; v++) {
        assert_false(members_live(&m, v));
        assert_int_equal(members_get(&m, v)->state, MEMBER_LEAVING);
    }
    assert_true(members_live(&m, 41));
    members_free(&m);
}

static void a_vpid_returns_in_a_new_epoch_with_new_facts(void **state)
{
    struct members m = table(3);
    struct msg_target gone = {1, {INC, 11}};
    struct msg_member again = {1, {INC, 50}, "elsewhere", "there", 9000, 8, 0, {0}, {0}};

    assert_int_equal(members_remove(&m, &gone, 1, MEMBER_EV_LOSE), 1);
    assert_int_equal(members_add(&m, &again, 1), 1);
    assert_true(current(&m, 1, 50));
    assert_false(current(&m, 1, 11));
    assert_int_equal(members_get(&m, 1)->state, MEMBER_WIRED);
    assert_int_equal(members_remove(&m, &gone, 1, MEMBER_EV_LOSE), 0); /* late */
    assert_true(current(&m, 1, 50));
    members_free(&m);
}

static void the_head_has_no_parent_and_neither_has_a_non_member(void **state)
{
    struct members m = table(4);

    assert_int_equal(members_parent(&m), TREE_NONE);
    m.self = 3;
    assert_int_equal(members_parent(&m), 1);
    m.self = 9;
    assert_int_equal(members_parent(&m), TREE_NONE);
    members_free(&m);
}

static void the_epoch_of_the_head_is_0_while_it_is_not_known(void **state)
{
    struct members m = table(0);

    assert_int_equal(members_head(&m), 0);
    add(&m, VPID_HEAD, 10);
    assert_int_equal(members_head(&m), 10);
    members_free(&m);
}

static void keys_and_facts_count_as_memory(void **state)
{
    struct members m = table(8);
    size_t before = members_bytes(&m);
    struct msg_member other = members_facts(&m, 3);

    assert_true(before > m.cap * sizeof(*m.tab));
    members_set_key(&m, 3, (struct key_id){1, 3});
    assert_int_equal(members_bytes(&m), before + m.cap * sizeof(*m.keys));
    before = members_bytes(&m);
    free(other.host);
    other.host = xstrdup("a name that is like no other one");
    members_put(&m, &other);
    assert_true(members_bytes(&m) >= before + strlen(other.host));
    msg_member_free(&other);
    members_free(&m);
}

static void a_vpid_at_the_limit_has_room(void **state)
{
    struct members m = table(1);

    add(&m, VPID_MAX, 77);
    assert_true(current(&m, VPID_MAX, 77));
    assert_false(members_live(&m, VPID_MAX - 1));
    members_free(&m);
}

/* A table with holes, different epochs and other hosts; `percent` of it is live. */
static struct members random_table(unsigned *rng, unsigned percent)
{
    struct members m;

    members_init(&m, 0, 2 + (uint32_t)rand_r(rng) % 63);
    add(&m, 0, 1);
    for (uint32_t v = 1; v < 200; v++) {
        char host[32];
        struct msg_member f = {v,  {INC, ((uint64_t)rand_r(rng) << 31) + v}, host, "", 1, 1, 0, {0},
                               {0}};
        struct msg_target end = {v, f.epoch};

        snprintf(host, sizeof(host), "node%d", rand_r(rng) % 50);
        f.address = host;
        f.port = (uint16_t)rand_r(rng);
        f.slots = (uint32_t)rand_r(rng);
        if ((unsigned)rand_r(rng) % 100 < percent)
            assert_int_equal(members_add(&m, &f, 1), 1);
        if ((unsigned)rand_r(rng) % 5 == 0)
            members_remove(&m, &end, 1, MEMBER_EV_LOSE);
    }
    m.version = 1000;
    return m;
}

/* A new daemon has the table that it was sent. */
static struct members passed_on(const struct members *from)
{
    struct msg m = {.type = MSG_SNAPSHOT, .snapshot = {.op = from->version, .radix = from->radix}};
    BUF_AUTO struct buf nidmap = {0};
    BUF_AUTO struct buf b = {0};
    struct err err = {0};
    struct members to;
    struct msg got;
    struct cur c;

    buf_init(&nidmap, 1u << 20);
    members_encode(from, &nidmap);
    m.snapshot.table = nidmap.data;
    m.snapshot.len = nidmap.len;
    buf_init(&b, 1u << 20);
    msg_encode(&b, &m);
    c = cur_of(b.data, b.len);
    members_init(&to, 3, from->radix);
    if (msg_decode(&c, MSG_SNAPSHOT, &got, &err) < 0 ||
        members_decode(&to, got.snapshot.table, got.snapshot.len, &err) < 0)
        fail_msg("%s", err.msg);
    msg_free(&got);
    return to;
}

static void assert_equal_views(const struct members *a, const struct members *b)
{
    struct tree ta = members_tree(a);
    struct tree tb = members_tree(b);

    for (uint32_t v = 0; v < 250; v++) {
        struct msg_member x, y;

        assert_int_equal(members_live(a, v), members_live(b, v));
        if (!members_live(a, v))
            continue;
        x = members_facts(a, v);
        y = members_facts(b, v);
        assert_true(epoch_eq(x.epoch, y.epoch));
        assert_string_equal(x.host, y.host);
        assert_string_equal(x.address, y.address);
        assert_int_equal(x.port, y.port);
        assert_int_equal(x.slots, y.slots);
        assert_int_equal(tree_parent(&ta, v), tree_parent(&tb, v));
        msg_member_free(&x);
        msg_member_free(&y);
    }
}

static void a_nidmap_makes_exactly_the_heads_view_holes_and_epochs_included(void **state)
{
    unsigned rng = 1;

    for (unsigned percent = 0; percent <= 100; percent += 10) {
        struct members head = random_table(&rng, percent);
        struct members fresh = passed_on(&head);

        assert_equal_views(&head, &fresh);
        members_free(&head);
        members_free(&fresh);
    }
}

static void a_pair_that_is_not_in_the_table_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        enum member_state state;
        enum member_event event;
    } bad[] = {{MEMBER_WIRED, MEMBER_EV_CALL},    {MEMBER_LEAVING, MEMBER_EV_CANCEL},
               {MEMBER_DRAINING, MEMBER_EV_CALL}, {MEMBER_PARKED, MEMBER_EV_LOSE},
               {MEMBER_LEAVING, MEMBER_EV_CALL},  {MEMBER_WIRED, MEMBER_EV_LEFT},
               {MEMBER_ABSENT, MEMBER_EV_REMOVE}, {MEMBER_WIRED, MEMBER_EV_TURN_AWAY},
               {MEMBER_PARKED, MEMBER_EV_CANCEL}, {MEMBER_LOST, MEMBER_EV_LEFT}};
    struct err err = {0};

    assert_int_equal(fsm_check(&member_fsm, &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct member x = {.state = bad[i].state};

        assert_int_equal(member_step(&x, bad[i].event, &err), -1);
        assert_non_null(strstr(err.msg, "illegal"));
        assert_int_equal(x.state, bad[i].state);
    }
}

static void at_the_head_a_member_is_wired_when_all_daemons_have_processed_it(void **state)
{
    struct members m = table(2);
    struct msg_member f = facts(2, 12);

    assert_int_equal(member_step(members_put(&m, &f), MEMBER_EV_CALL, NULL), 0);
    assert_int_equal(members_add(&m, &f, 1), 1);
    assert_true(current(&m, 2, 12));
    assert_int_equal(members_get(&m, 2)->state, MEMBER_REPORTED);
    assert_int_equal(member_step(members_entry(&m, 2), MEMBER_EV_WIRE, NULL), 0);
    assert_int_equal(members_get(&m, 2)->state, MEMBER_WIRED);
    members_free(&m);
}

static void every_state_has_its_name(void **state)
{
    static const char *const names[] = {"absent",  "reported", "wired", "draining",
                                        "leaving", "parked",   "lost"};

    for (unsigned s = MEMBER_ABSENT; s <= MEMBER_LOST; s++)
        assert_string_equal(member_state_word(s), names[s]);
}

static void put_keyed(struct members *m, uint32_t vpid, uint64_t ctr, uint64_t key)
{
    struct msg_member f = facts(vpid, ctr);

    f.key.low = key;
    (void)members_put(m, &f);
}

static void a_key_stays_with_its_epoch_and_no_longer(void **state)
{
    struct members m = table(3);
    struct msg_member f;

    assert_true(key_id_none(members_key(&m, 1)) && key_id_none(members_key(&m, 99)));
    put_keyed(&m, 1, 11, 5);
    put_keyed(&m, 1, 11, 0); /* an ADD without keys repeats what is known */
    assert_int_equal(members_key(&m, 1).low, 5);
    f = members_facts(&m, 1);
    assert_int_equal(f.key.low, 5);
    msg_member_free(&f);
    put_keyed(&m, 1, 20, 0); /* the next daemon of the vpid shows none */
    assert_true(key_id_none(members_key(&m, 1)));
    add(&m, 30, 40); /* the table grows */
    assert_true(key_id_none(members_key(&m, 30)));
    assert_true(key_id_none(members_key(&m, 20))); /* no daemon */
    members_entries(&m, m.n, m.cap - m.n);         /* all memory of the table is used */
    assert_true(key_id_none(members_key(&m, m.n)));
    members_free(&m);
}

static void an_add_has_keys_only_if_each_live_member_can_read_them(void **state)
{
    struct msg_member list[2] = {facts(3, 20), facts(4, 21)};
    struct members m = table(3); /* the head has no key */

    list[0].key.low = list[1].key.low = 9;
    put_keyed(&m, 1, 11, 5);
    members_strip_keys(&m, list, 1); /* vpid 2 is of edition 0 */
    assert_true(key_id_none(list[0].key) && list[1].key.low == 9);
    members_strip_keys(&m, list, 2);
    assert_true(key_id_none(list[0].key) && key_id_none(list[1].key));
    list[0].key.low = list[1].key.low = 9;
    put_keyed(&m, 2, 12, 6);
    members_strip_keys(&m, list, 2);
    assert_true(list[0].key.low == 9 && list[1].key.low == 9);
    members_free(&m);
}

static void the_next_of_all_heads_is_found_up_to_a_limit(void **state)
{
    struct heads h = {0};

    assert_true(heads_since_after(&h, 0) == UINT64_MAX);
    heads_add(&h, 10, 5);
    heads_add(&h, 20, 9);
    assert_int_equal(heads_since_after(&h, 9), 5);
    assert_int_equal(heads_since_after(&h, 10), 9);
    assert_int_equal(heads_since_after(&h, 19), 9);
    assert_true(heads_since_after(&h, 20) == UINT64_MAX);
    for (uint64_t i = 0; i < HEADS_MAX - 1; i++)
        heads_add(&h, 30 + i, 100 + i);
    assert_int_equal(h.n, HEADS_MAX);
    assert_int_equal(heads_since_after(&h, 1), 9);
    assert_int_equal(heads_since_after(&h, 28 + HEADS_MAX - 1), 100 + HEADS_MAX - 2);
    assert_true(heads_since_after(&h, 29 + HEADS_MAX - 1) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_another_epoch_changes_nothing),
        cmocka_unit_test(a_second_report_changes_nothing),
        cmocka_unit_test(an_unknown_vpid_has_no_entry_and_no_epoch),
        cmocka_unit_test(facts_without_a_broadcast_make_no_member),
        cmocka_unit_test(any_number_of_departed_is_one_repair),
        cmocka_unit_test(a_vpid_returns_in_a_new_epoch_with_new_facts),
        cmocka_unit_test(the_head_has_no_parent_and_neither_has_a_non_member),
        cmocka_unit_test(the_epoch_of_the_head_is_0_while_it_is_not_known),
        cmocka_unit_test(keys_and_facts_count_as_memory),
        cmocka_unit_test(a_vpid_at_the_limit_has_room),
        cmocka_unit_test(a_nidmap_makes_exactly_the_heads_view_holes_and_epochs_included),
        cmocka_unit_test(a_pair_that_is_not_in_the_table_is_refused_and_changes_nothing),
        cmocka_unit_test(at_the_head_a_member_is_wired_when_all_daemons_have_processed_it),
        cmocka_unit_test(every_state_has_its_name),
        cmocka_unit_test(a_key_stays_with_its_epoch_and_no_longer),
        cmocka_unit_test(the_next_of_all_heads_is_found_up_to_a_limit),
        cmocka_unit_test(an_add_has_keys_only_if_each_live_member_can_read_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
