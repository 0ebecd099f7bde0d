/* SPDX-License-Identifier: BSD-3-Clause */
/* The vpid table keeps the facts of every epoch unchanged. The nidmap gives the same table back,
 * and a malformed one gives none. */
#include "dvm/protocol/member/member.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INC 0x1234u

static uint32_t seed = 1;

static uint32_t draw(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void add(struct members *m, uint32_t vpid, uint64_t ctr, const char *host,
                const char *address)
{
    struct msg_member x = {.vpid = vpid,
                           .epoch = {INC, ctr},
                           .host = (char *)host,
                           .address = (char *)address,
                           .port = 7400,
                           .slots = 2};

    assert_int_equal(members_add(m, &x, 1), 1);
}

static void pod(struct members *m, uint32_t vpid, uint64_t ctr)
{
    char host[32];
    char address[32];

    snprintf(host, sizeof(host), "x-%u", vpid);
    snprintf(address, sizeof(address), "10.244.%u.%u", draw(256), draw(256));
    add(m, vpid, ctr, host, address);
}

static void assert_told(struct members *m, uint32_t vpid, const char *host, const char *address)
{
    struct msg_member x = members_facts(m, vpid);
    char *name = members_host(m, vpid);

    assert_int_equal(x.vpid, vpid);
    assert_string_equal(x.host, host);
    assert_string_equal(name, host);
    assert_string_equal(x.address, address);
    assert_int_equal(x.port, 7400);
    assert_int_equal(x.slots, 2);
    free(name);
    msg_member_free(&x);
}

static void assert_same(const struct members *a, const struct members *b)
{
    unsigned v;

    assert_true(hwloc_bitmap_isequal(a->live, b->live));
    hwloc_bitmap_foreach_begin(v, a->live)
    {
        struct msg_member x = members_facts(a, v);
        struct msg_member y = members_facts(b, v);

        assert_true(epoch_eq(x.epoch, y.epoch));
        assert_string_equal(x.host, y.host);
        assert_int_equal(x.nmore, y.nmore);
        for (size_t i = 0; i <= x.nmore; i++)
            assert_string_equal(msg_member_address(&x, i), msg_member_address(&y, i));
        assert_int_equal(x.port, y.port);
        assert_int_equal(x.slots, y.slots);
        assert_int_equal(members_get(b, v)->state, MEMBER_WIRED);
        msg_member_free(&x);
        msg_member_free(&y);
    }
    hwloc_bitmap_foreach_end();
}

static struct buf encoded(const struct members *m)
{
    struct buf b;

    buf_init(&b, MSG_DATA_MAX);
    members_encode(m, &b);
    assert_false(b.failed);
    return b;
}

static size_t round_trip(const struct members *m)
{
    struct buf b = encoded(m);
    size_t len = b.len;
    struct members back;

    members_init(&back, 1, 64);
    assert_int_equal(members_decode(&back, b.data, b.len, NULL), 0);
    assert_same(m, &back);
    members_free(&back);
    buf_free(&b);
    return len;
}

static void facts_come_back_as_they_were_reported(void **state)
{
    static const char *const texts[] = {"",
                                        "x-7",
                                        "7",
                                        "x-7.x-members.ns.svc",
                                        "x-77",
                                        "077",
                                        "x-07",
                                        "7-7",
                                        "dvm7-7.dvm7",
                                        "10.244.12.34",
                                        "10.0.0.07",
                                        "10.0.0.256",
                                        "10.0.0",
                                        "10.0.0.1.",
                                        "+1.2.3.4",
                                        " 1.2.3.4",
                                        "fd00::7",
                                        "fd00::1a2f",
                                        "fd00::001a",
                                        "fd00::1A",
                                        "fd00::",
                                        "fd00::12345",
                                        "::",
                                        "\1",
                                        "\1-7",
                                        "=7",
                                        "%7",
                                        "4",
                                        "6",
                                        "@",
                                        "[fd00::7]",
                                        "x-7 7",
                                        "\xc3\xa9-7",
                                        "4294967295.1.1.1",
                                        "255.255.255.255",
                                        "fd00::%eth0"};
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    add(&m, 0, 1, "head", "10.0.0.1");
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        for (size_t j = 0; j < sizeof(texts) / sizeof(*texts); j++) {
            add(&m, 7, i * 1000 + j + 1, texts[i], texts[j]);
            assert_told(&m, 7, texts[i], texts[j]);
        }
        round_trip(&m);
    }
    members_free(&m);
}

static void add_homed(struct members *m, uint32_t vpid, uint64_t ctr, uint8_t nmore)
{
    char host[32];
    char text[MEMBER_ADDRESSES_MAX][32];
    struct msg_member x = {.vpid = vpid, .epoch = {INC, ctr}, .host = host, .address = text[0]};

    snprintf(host, sizeof(host), "x-%u", vpid);
    snprintf(text[0], sizeof(text[0]), "10.244.%u.%u", draw(256), draw(256));
    snprintf(text[1], sizeof(text[1]), "192.168.%u.%u", draw(256), draw(256));
    snprintf(text[2], sizeof(text[2]), "fd00:1::%x", 1 + draw(0xfffe));
    snprintf(text[3], sizeof(text[3]), "x-%u.fast", vpid);
    for (; x.nmore < nmore; x.nmore++)
        x.more[x.nmore] = text[x.nmore + 1];
    assert_int_equal(members_add(m, &x, 1), 1);
    assert_int_equal(msg_member_addresses(&x), 1 + nmore);
    x = members_facts(m, vpid);
    assert_int_equal(x.nmore, nmore);
    for (size_t i = 0; i <= nmore; i++)
        assert_string_equal(msg_member_address(&x, i), text[i]);
    msg_member_free(&x);
}

static void each_address_of_a_member_comes_back(void **state)
{
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    add_homed(&m, 0, 1, 0);
    for (uint32_t v = 1; v < 200; v++)
        add_homed(&m, v, v + 1, v < 20 ? 0 : (uint8_t)draw(MEMBER_ADDRESSES_MAX));
    round_trip(&m);
    for (uint32_t v = 1; v < 200; v++) /* a later epoch has other ones */
        add_homed(&m, v, v + 500, (uint8_t)draw(MEMBER_ADDRESSES_MAX));
    round_trip(&m);
    members_free(&m);
}

static void pods_with_two_addresses_share_one_record_and_add_four_bytes_each(void **state)
{
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    for (uint32_t v = 0; v < 1000; v++)
        add_homed(&m, v, v + 1, 1);
    assert_int_equal(HASH_COUNT(m.facts.by_key), 1);
    assert_in_range(round_trip(&m), 8000, 8100);
    members_free(&m);
    members_init(&m, 0, 64);
    for (uint32_t v = 0; v < 1000; v++)
        add_homed(&m, v, v + 1, 0);
    assert_null(m.more); /* one address takes no more memory than before */
    members_free(&m);
}

/* It reads a nidmap as if there were no commas in it. */
static void a_daemon_of_edition_0_gets_the_first_address_of_each_member(void **state)
{
    struct members one, several, back;
    struct buf a, b;

    (void)state;
    members_init(&one, 0, 64);
    members_init(&several, 0, 64);
    for (uint32_t v = 0; v < 20; v++) {
        seed = v;
        add_homed(&one, v, v + 1, 0);
        seed = v;
        add_homed(&several, v, v + 1, v % 4);
    }
    buf_init(&b, MSG_DATA_MAX);
    members_encode_first(&several, &b);
    members_init(&back, 1, 64);
    assert_int_equal(members_decode(&back, b.data, b.len, NULL), 0);
    assert_same(&one, &back);
    assert_null(memchr(b.data, ',', b.len));
    a = encoded(&one);
    buf_free(&b);
    buf_init(&b, MSG_DATA_MAX);
    members_encode_first(&one, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_free(&a);
    buf_free(&b);
    members_free(&one);
    members_free(&several);
    members_free(&back);
}

static void facts_without_a_member_are_dropped(void **state)
{
    char host[32];
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(host, sizeof(host), "host-%c%u", 'a' + (int)(i % 26), i + 10);
        add(&m, i % 4, i + 1, host, "address");
    }
    assert_int_equal(HASH_COUNT(m.facts.by_key), 4);
    assert_in_range(m.facts.n, 5, 7);
    members_free(&m);
}

static void pods_with_equal_facts_share_one_record(void **state)
{
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    for (uint32_t v = 0; v < 1000; v++)
        pod(&m, v, v + 1);
    assert_int_equal(HASH_COUNT(m.facts.by_key), 1);
    assert_int_equal(sizeof(struct member), 24);
    members_free(&m);
}

/* The texts of vpids 1 and 2: one record, if they differ by the vpid or by the value of an address
 * alone. */
static void facts_are_shared_by_texts_with_a_place_for_the_vpid_or_a_value(void **state)
{
    static const struct {
        const char *one, *two;
        bool shared;
    } rows[] = {{"n1", "n2", true},
                {"1n", "2n", true},
                {"n-1.ns", "n-2.ns", true},
                {"n1/11", "n2/11", true},
                {"n11/1", "n11/2", true},
                {"n91", "n92", false},
                {"n01", "n02", false},
                {"n19", "n29", false},
                {"n10", "n20", false},
                {"11", "22", false},
                {"10.0.0.7", "9.9.9.9", true},
                {"0.0.0.0", "255.255.255.255", true},
                {"fd00::7", "fd00::1a2f", true},
                {"fd00::12345", "fd00::54321", false},
                {"fd00::a", "fd01::a", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct members m;

        members_init(&m, 0, 64);
        add(&m, 1, 1, "host", rows[i].one);
        add(&m, 2, 2, "host", rows[i].two);
        if (HASH_COUNT(m.facts.by_key) != (rows[i].shared ? 1 : 2))
            fail_msg("%s and %s", rows[i].one, rows[i].two);
        members_free(&m);
    }
}

static void a_further_address_whose_value_is_0_comes_back(void **state)
{
    struct msg_member x = {.vpid = 0,
                           .epoch = {INC, 1},
                           .host = "x-0",
                           .address = "10.0.0.1",
                           .nmore = 1,
                           .more = {"0.0.0.0"}};
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    assert_int_equal(members_add(&m, &x, 1), 1);
    x = members_facts(&m, 0);
    assert_string_equal(x.more[0], "0.0.0.0");
    msg_member_free(&x);
    members_free(&m);
}

static void a_new_entry_has_no_values(void **state)
{
    struct members m;
    uint32_t first;

    (void)state;
    members_init(&m, 0, 64);
    add_homed(&m, 0, 1, 1);
    first = m.cap;
    members_entries(&m, first, 1000); /* the table grows */
    for (uint32_t v = first; v < first + 1000; v++)
        assert_int_equal(members_value(&m, v, 0) | members_value(&m, v, 1), 0);
    members_free(&m);
}

static void a_later_epoch_replaces_the_facts_and_a_second_report_changes_nothing(void **state)
{
    struct msg_target old = {3, {INC, 9}};
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    add(&m, 3, 9, "x-3", "10.0.0.1");
    assert_int_equal(members_remove(&m, &old, 1, MEMBER_EV_LOSE), 1);
    assert_int_equal(members_remove(&m, &old, 1, MEMBER_EV_LOSE), 0);
    assert_int_equal(m.repairs, 1);
    assert_false(members_live(&m, 3));
    add(&m, 3, 12, "x-3", "10.0.0.2");
    assert_int_equal(members_remove(&m, &old, 1, MEMBER_EV_LOSE), 0);
    assert_true(members_current(&m, 3, (struct epoch){INC, 12}));
    assert_false(members_current(&m, 3, (struct epoch){INC + 1, 12}));
    assert_told(&m, 3, "x-3", "10.0.0.2");
    members_free(&m);
}

static void a_nidmap_has_holes_epochs_and_facts_of_any_table(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct members m;
        uint32_t n = 1 + draw(300);
        uint64_t ctr = (uint64_t)draw(1000) << draw(60);

        members_init(&m, 0, 2 + draw(63));
        add(&m, 0, 1, "head", "10.0.0.1");
        for (uint32_t v = 1; v < n; v++) {
            ctr += draw(4) ? 1 : draw(1u << 24);
            if (draw(5) == 0)
                add(&m, v, ctr, draw(2) ? "other" : "node-4", draw(2) ? "fd00::1:2" : "h");
            else if (draw(4))
                pod(&m, v, draw(8) ? ctr : ctr + ((uint64_t)1 << 40));
        }
        round_trip(&m);
        members_free(&m);
    }
}

static void facts_of_a_nidmap_stay_while_one_of_their_members_is_there(void **state)
{
    struct msg_target gone = {1, {INC, 11}};
    BUF_AUTO struct buf b = {0};
    struct members a, m;

    members_init(&a, 0, 2);
    for (uint32_t v = 0; v < 3; v++)
        add(&a, v, 10 + v, "one-host", "10.244.0.1");
    buf_init(&b, 1u << 16);
    members_encode(&a, &b);
    members_init(&m, 0, 2);
    assert_int_equal(members_decode(&m, b.data, b.len, NULL), 0);
    members_remove(&m, &gone, 1, MEMBER_EV_LOSE);
    add(&m, 1, 21, "another", "10.244.0.2");
    assert_told(&m, 2, "one-host", "10.244.0.1");
    members_free(&a);
    members_free(&m);
}

static void daemons_that_are_not_live_are_in_no_nidmap(void **state)
{
    struct msg_target gone[] = {{2, {INC, 3}}, {9, {INC, 10}}};
    struct members m;
    size_t all;

    (void)state;
    members_init(&m, 0, 64);
    for (uint32_t v = 0; v < 10; v++)
        pod(&m, v, v + 1);
    all = round_trip(&m);
    members_remove(&m, gone, 2, MEMBER_EV_REMOVE);
    assert_int_equal(round_trip(&m), all + 21 - 8); /* one hole: a second run; two values less */
    members_free(&m);
}

static void a_nidmap_of_pods_takes_few_bytes_each(void **state)
{
    char host[64];
    struct members m;

    (void)state;
    members_init(&m, 0, 64);
    for (uint32_t v = 0; v < 10000; v++)
        pod(&m, v, v + 1);
    assert_in_range(round_trip(&m), 40000, 40100);
    members_clear(&m);
    for (uint32_t v = 0; v < 10000; v++)
        pod(&m, v, 20000 - v); /* as they come */
    assert_in_range(round_trip(&m), 80000, 80100);
    members_clear(&m);
    for (uint32_t v = 0; v < 10000; v++) {
        snprintf(host, sizeof(host), "x-%u.x-members.ns.svc", v);
        add(&m, v, v + 1, "x", host);
    }
    assert_in_range(round_trip(&m), 50, 150);
    members_free(&m);
}

static void a_cut_nidmap_is_refused_and_leaves_nothing(void **state)
{
    struct members m, back;
    struct buf b;

    (void)state;
    members_init(&m, 0, 64);
    for (uint32_t v = 0; v < 50; v++)
        pod(&m, v, v == 7 ? 99 : v + 1);
    b = encoded(&m);
    members_init(&back, 1, 64);
    for (size_t len = 0; len < b.len; len++) {
        struct err err = {0};
        uint8_t *cut = malloc(len + 1); /* so that a read beyond it is seen */

        memcpy(cut, b.data, len);
        assert_int_equal(members_decode(&back, cut, len, &err), -1);
        assert_non_null(strstr(err.msg, "malformed"));
        assert_int_equal(back.n, 0);
        assert_true(hwloc_bitmap_iszero(back.live));
        free(cut);
    }
    members_free(&back);
    buf_free(&b);
    members_free(&m);
}

struct kind_row {
    uint64_t inc;
    const char *host, *address;
};

struct run_row {
    uint32_t first, count, kind;
    uint8_t form;
};

static int decode_rows(const struct kind_row *kind, const struct run_row *runs, uint32_t nruns)
{
    struct members m;
    struct buf b;
    int rc;

    buf_init(&b, 4096);
    buf_put_u32(&b, 1);
    buf_put_u64(&b, kind->inc);
    buf_put_u16(&b, 1);
    buf_put_u32(&b, 1);
    buf_put_str(&b, kind->host);
    buf_put_str(&b, kind->address);
    buf_put_u32(&b, nruns);
    for (uint32_t i = 0; i < nruns; i++) {
        buf_put_u32(&b, runs[i].first);
        buf_put_u32(&b, runs[i].count);
        buf_put_u32(&b, runs[i].kind);
        buf_put_u8(&b, runs[i].form);
        buf_put_u64(&b, 1);
        for (uint32_t j = 1; runs[i].form == 1 && j < runs[i].count && j < 8; j++)
            buf_put_u32(&b, j);
    }
    members_init(&m, 0, 64);
    rc = members_decode(&m, b.data, b.len, NULL);
    assert_true((rc == 0) == (m.n != 0));
    members_free(&m);
    buf_free(&b);
    return rc;
}

static void a_malformed_list_of_members_is_refused(void **state)
{
    static const struct kind_row good = {INC, "=a", "%b"};
    static const struct kind_row several = {INC, "=a", "%b,=c,=d,=e"};
    static const struct kind_row bad_kinds[] = {{0, "=a", "=b"},    {INC, "", "=b"},
                                                {INC, "=a", ""},    {INC, "4", "=b"},
                                                {INC, "=a", "@b"},  {INC, "a", "=b"},
                                                {INC, "=a", "=b,"}, {INC, "=a", "=b,c"},
                                                {INC, "=a", ",=b"}, {INC, "=a", "=b,=c,=d,=e,=f"}};
    static const struct run_row bad_runs[] = {
        {0, 0, 0, 0},          {VPID_MAX + 1, 1, 0, 0}, {VPID_MAX, 2, 0, 0},
        {1, UINT32_MAX, 0, 0}, {UINT32_MAX, 2, 0, 0},   {5, 1, 1, 0},
        {5, 1, 0, 2},          {5, 100, 0, 1},          {5, VPID_MAX - 4, 0, 1}};
    static const struct run_row last[] = {{0, 1, 0, 0}, {VPID_MAX, 1, 0, 0}};
    static const struct run_row eight[] = {{0, 8, 0, 1}};
    static const struct run_row fine[] = {{0, 1, 0, 1}, {5, 1, 0, 0}};
    static const struct run_row headless[] = {{1, 2, 0, 0}, {5, 1, 0, 0}};
    static const struct run_row overlap[] = {{0, 2, 0, 0}, {1, 1, 0, 0}};
    static const struct run_row falling[] = {{0, 1, 0, 0}, {5, 1, 0, 0}, {3, 1, 0, 0}};

    (void)state;
    assert_int_equal(decode_rows(&good, fine, 2), 0);
    assert_int_equal(decode_rows(&several, fine, 2), 0);
    assert_int_equal(decode_rows(&good, last, 2), 0);
    assert_int_equal(decode_rows(&good, eight, 1), 0);
    assert_int_equal(decode_rows(&good, overlap, 2), -1);
    assert_int_equal(decode_rows(&good, headless, 2), -1);
    assert_int_equal(decode_rows(&good, fine, 0), -1);
    assert_int_equal(decode_rows(&good, falling, 2), 0);
    assert_int_equal(decode_rows(&good, falling, 3), -1);
    for (size_t i = 0; i < sizeof(bad_kinds) / sizeof(*bad_kinds); i++)
        assert_int_equal(decode_rows(&bad_kinds[i], fine, 2), -1);
    for (size_t i = 0; i < sizeof(bad_runs) / sizeof(*bad_runs); i++)
        assert_int_equal(decode_rows(&good, (struct run_row[]){fine[0], bad_runs[i]}, 2), -1);
}

static struct key_id key_of(uint32_t vpid)
{
    return vpid % 3 ? (struct key_id){vpid, ~0ull - vpid} : (struct key_id){0, 0};
}

static void keyed_pods(struct members *m, uint32_t n)
{
    members_init(m, 0, 64);
    for (uint32_t v = 0; v < n; v++) {
        pod(m, v, v + 1);
        members_set_key(m, v, key_of(v));
    }
}

static void keys_come_back_with_a_nidmap(void **state)
{
    struct members m, other;
    struct buf b;
    struct msg_target gone = {7, {INC, 8}};

    keyed_pods(&m, 20);
    assert_int_equal(members_remove(&m, &gone, 1, MEMBER_EV_LOSE), 1);
    buf_init(&b, 1u << 20);
    members_encode(&m, &b);
    members_init(&other, 0, 64);
    assert_int_equal(members_decode(&other, b.data, b.len, NULL), 0);
    for (uint32_t v = 1; v < 20; v++)
        assert_true(key_id_eq(members_key(&other, v), v == 7 ? key_of(0) : key_of(v)));
    members_clear(&other);
    assert_int_equal(members_decode(&other, b.data, b.len - 1, NULL), -1);
    assert_int_equal(members_decode(&other, b.data, b.len - 16, NULL), -1);
    members_free(&other);
    members_free(&m);
    buf_free(&b);
}

static void a_daemon_of_edition_0_gets_no_keys(void **state)
{
    struct members keyed, plain;
    struct buf a, b;

    seed = 1;
    keyed_pods(&keyed, 20);
    seed = 1;
    members_init(&plain, 0, 64);
    for (uint32_t v = 0; v < 20; v++)
        pod(&plain, v, v + 1);
    buf_init(&a, 1u << 20);
    buf_init(&b, 1u << 20);
    members_encode_first(&keyed, &a);
    members_encode(&plain, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    members_free(&keyed);
    members_free(&plain);
    buf_free(&a);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_nidmap_is_refused_and_leaves_nothing),
        cmocka_unit_test(a_malformed_list_of_members_is_refused),
        cmocka_unit_test(facts_come_back_as_they_were_reported),
        cmocka_unit_test(each_address_of_a_member_comes_back),
        cmocka_unit_test(pods_with_two_addresses_share_one_record_and_add_four_bytes_each),
        cmocka_unit_test(a_daemon_of_edition_0_gets_the_first_address_of_each_member),
        cmocka_unit_test(facts_without_a_member_are_dropped),
        cmocka_unit_test(pods_with_equal_facts_share_one_record),
        cmocka_unit_test(facts_are_shared_by_texts_with_a_place_for_the_vpid_or_a_value),
        cmocka_unit_test(a_further_address_whose_value_is_0_comes_back),
        cmocka_unit_test(a_new_entry_has_no_values),
        cmocka_unit_test(a_later_epoch_replaces_the_facts_and_a_second_report_changes_nothing),
        cmocka_unit_test(a_nidmap_has_holes_epochs_and_facts_of_any_table),
        cmocka_unit_test(facts_of_a_nidmap_stay_while_one_of_their_members_is_there),
        cmocka_unit_test(daemons_that_are_not_live_are_in_no_nidmap),
        cmocka_unit_test(a_nidmap_of_pods_takes_few_bytes_each),
        cmocka_unit_test(keys_come_back_with_a_nidmap),
        cmocka_unit_test(a_daemon_of_edition_0_gets_no_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
