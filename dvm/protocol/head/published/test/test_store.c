/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of published values: ranges, lifetimes, limits, malformed requests. */
#include "dvm/protocol/head/published/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOB_MAX (80u << 20)

static const struct store_who alice = {.nspace = "9.1", .rank = 0, .vpid = 3, .uid = 100};
static const struct store_who alice_1 = {.nspace = "9.1", .rank = 1, .vpid = 5, .uid = 100};
static const struct store_who bob = {.nspace = "9.2", .rank = 0, .vpid = 3, .uid = 100};
static const struct store_who carol = {.nspace = "9.3", .rank = 0, .vpid = 5, .uid = 100};
static const struct store_who mallory = {.nspace = "9.4", .rank = 0, .vpid = 3, .uid = 666};

static int setup(void **state)
{
    *state = store_create();
    return 0;
}

static int teardown(void **state)
{
    store_destroy(*state);
    return 0;
}

/* As the fold of the journal does. */
static void take_away(struct store *s, struct store_ids *ids)
{
    struct err err = {0};

    if (store_remove(s, ids->list, ids->n, &err) < 0)
        fail_msg("%s", err.msg);
    free(ids->list);
}

static enum store_result look_up(struct store *s, const void *blob, size_t len, struct buf *out)
{
    struct store_ids ids = {0};
    enum store_result r = store_lookup(s, blob, len, out, &ids);

    take_away(s, &ids);
    return r;
}

static enum store_result end_rank(struct store *s, const void *blob, size_t len)
{
    struct store_ids ids = {0};
    enum store_result r = store_rank_ended(s, blob, len, &ids);

    take_away(s, &ids);
    return r;
}

static struct buf publish_blob(const struct store_who *who, uint8_t range, uint8_t persist,
                               const char *key, const char *value)
{
    struct buf b;

    buf_init(&b, BLOB_MAX);
    store_put_who(&b, who);
    buf_put_u8(&b, range);
    buf_put_u8(&b, persist);
    buf_put_u32(&b, 1);
    buf_put_str(&b, key);
    buf_put_bytes(&b, value, strlen(value));
    return b;
}

static enum store_result publish(void **state, const struct store_who *who, uint8_t range,
                                 uint8_t persist, const char *key, const char *value)
{
    BUF_AUTO struct buf b = publish_blob(who, range, persist, key, value);

    return store_publish(*state, b.data, b.len);
}

static struct buf lookup_blob(const struct store_who *who, uint8_t range, const char *key,
                              const char *key2)
{
    struct buf b;

    buf_init(&b, BLOB_MAX);
    store_put_who(&b, who);
    buf_put_u8(&b, range);
    buf_put_u8(&b, 0);
    buf_put_u32(&b, 0);
    buf_put_u32(&b, 0);
    buf_put_u32(&b, key2 ? 2 : 1);
    buf_put_str(&b, key);
    if (key2)
        buf_put_str(&b, key2);
    return b;
}

/* The value found, or "" ; the caller frees. */
static char *look(void **state, const struct store_who *who, uint8_t range, const char *key)
{
    BUF_AUTO struct buf b = lookup_blob(who, range, key, NULL);
    BUF_AUTO struct buf out = {.max = BLOB_MAX};
    struct cur c;

    if (look_up(*state, b.data, b.len, &out) != STORE_OK)
        return xstrdup("");
    c = cur_of(out.data, out.len);
    assert_int_equal(cur_u32(&c), 1);
    free(cur_str(&c, 255));
    cur_u32(&c);
    FREE_AUTO char *found = cur_str(&c, 511);
    assert_string_equal(found, key);
    return cur_str(&c, BLOB_MAX);
}

static void assert_finds(void **state, const struct store_who *who, uint8_t range, const char *key,
                         const char *expected)
{
    FREE_AUTO char *value = look(state, who, range, key);

    assert_string_equal(value, expected);
}

static enum store_result unpublish(void **state, const struct store_who *who, uint8_t range,
                                   const char *key)
{
    BUF_AUTO struct buf b = {.max = BLOB_MAX};
    struct store_ids ids = {0};
    enum store_result r;

    store_put_who(&b, who);
    buf_put_u8(&b, range);
    buf_put_u32(&b, key ? 1 : 0);
    if (key)
        buf_put_str(&b, key);
    r = store_unpublish(*state, b.data, b.len, &ids);
    take_away(*state, &ids);
    return r;
}

static void a_publish_request_cut_at_any_byte_changes_nothing(void **state)
{
    BUF_AUTO struct buf b = publish_blob(&alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "k", "v");

    for (size_t n = 0; n < b.len; n++) {
        FREE_AUTO uint8_t *cut = memcpy(xmalloc(n), b.data, n);

        assert_int_equal(store_publish(*state, cut, n), STORE_BAD);
    }
    assert_int_equal(store_count(*state), 0);
}

static void a_lookup_cut_at_any_byte_is_refused(void **state)
{
    BUF_AUTO struct buf b = lookup_blob(&alice, STORE_RANGE_SESSION, "k", "l");

    for (size_t n = 0; n < b.len; n++) {
        FREE_AUTO uint8_t *cut = memcpy(xmalloc(n), b.data, n);
        BUF_AUTO struct buf out = {.max = BLOB_MAX};

        assert_int_equal(look_up(*state, cut, n, &out), STORE_BAD);
    }
}

static void a_request_with_one_bad_pair_stores_none_of_its_pairs(void **state)
{
    BUF_AUTO struct buf b = {.max = BLOB_MAX};

    publish(state, &bob, STORE_RANGE_SESSION, STORE_PERSIST_APP, "taken", "1");
    store_put_who(&b, &alice);
    buf_put_u8(&b, STORE_RANGE_SESSION);
    buf_put_u8(&b, STORE_PERSIST_APP);
    buf_put_u32(&b, 2);
    buf_put_str(&b, "new");
    buf_put_bytes(&b, "x", 1);
    buf_put_str(&b, "taken");
    buf_put_bytes(&b, "y", 1);
    assert_int_equal(store_publish(*state, b.data, b.len), STORE_DUPLICATE);
    assert_int_equal(store_count(*state), 1);
    assert_finds(state, &alice, STORE_RANGE_SESSION, "taken", "1");
}

static void an_unknown_range_or_persistence_is_refused(void **state)
{
    static const uint8_t ranges[] = {1, 6, 8, UINT8_MAX};
    static const uint8_t lives[] = {STORE_PERSIST_SESSION + 1, UINT8_MAX};

    for (size_t i = 0; i < sizeof(ranges); i++)
        assert_int_equal(publish(state, &alice, ranges[i], STORE_PERSIST_APP, "k", "v"), STORE_BAD);
    for (size_t i = 0; i < sizeof(lives); i++)
        assert_int_equal(publish(state, &alice, STORE_RANGE_SESSION, lives[i], "k", "v"),
                         STORE_BAD);
    assert_int_equal(store_count(*state), 0);
}

static void a_store_that_is_full_refuses_and_keeps_what_it_has(void **state)
{
    FREE_AUTO char *big = xmalloc(STORE_BYTES_MAX / 2 + 1);

    memset(big, 'x', STORE_BYTES_MAX / 2);
    big[STORE_BYTES_MAX / 2] = '\0';
    assert_int_equal(publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "a", big),
                     STORE_OK);
    assert_int_equal(publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "b", big),
                     STORE_FULL);
    assert_int_equal(store_count(*state), 1);
    assert_int_equal(unpublish(state, &alice, STORE_RANGE_SESSION, "a"), STORE_OK);
    assert_int_equal(publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "b", big),
                     STORE_OK);
}

static void a_store_takes_as_many_keys_as_it_can_hold_and_no_further_one(void **state)
{
    BUF_AUTO struct buf b = {.max = 4 << 20};
    char key[16];

    store_put_who(&b, &alice);
    buf_put_u8(&b, STORE_RANGE_SESSION);
    buf_put_u8(&b, STORE_PERSIST_APP);
    buf_put_u32(&b, STORE_KEYS_MAX);
    for (unsigned i = 0; i < STORE_KEYS_MAX; i++) {
        snprintf(key, sizeof(key), "%u", i);
        buf_put_str(&b, key);
        buf_put_bytes(&b, "", 0);
    }
    assert_int_equal(store_publish(*state, b.data, b.len), STORE_OK);
    assert_int_equal(publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "more", ""),
                     STORE_FULL);
    assert_int_equal(store_count(*state), STORE_KEYS_MAX);
}

static void another_user_sees_nothing(void **state)
{
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "k", "v");
    assert_finds(state, &mallory, STORE_RANGE_SESSION, "k", "");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "k", "v");
}

static void a_published_value_is_found_within_its_range_only(void **state)
{
    publish(state, &alice, STORE_RANGE_NAMESPACE, STORE_PERSIST_APP, "ns", "1");
    publish(state, &alice, STORE_RANGE_LOCAL, STORE_PERSIST_APP, "node", "2");
    publish(state, &alice, STORE_RANGE_PROC_LOCAL, STORE_PERSIST_APP, "proc", "3");
    assert_finds(state, &alice_1, STORE_RANGE_NAMESPACE, "ns", "1");
    assert_finds(state, &bob, STORE_RANGE_NAMESPACE, "ns", "");
    assert_finds(state, &bob, STORE_RANGE_LOCAL, "node", "2");
    assert_finds(state, &carol, STORE_RANGE_LOCAL, "node", "");
    assert_finds(state, &alice, STORE_RANGE_PROC_LOCAL, "proc", "3");
    assert_finds(state, &alice_1, STORE_RANGE_PROC_LOCAL, "proc", "");
}

static void one_key_in_two_ranges_is_two_values(void **state)
{
    assert_int_equal(publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "k", "all"),
                     STORE_OK);
    assert_int_equal(publish(state, &alice, STORE_RANGE_NAMESPACE, STORE_PERSIST_APP, "k", "ours"),
                     STORE_OK);
    assert_int_equal(publish(state, &bob, STORE_RANGE_NAMESPACE, STORE_PERSIST_APP, "k", "theirs"),
                     STORE_OK);
    assert_int_equal(publish(state, &bob, STORE_RANGE_SESSION, STORE_PERSIST_APP, "k", "twice"),
                     STORE_DUPLICATE);
    assert_finds(state, &alice_1, STORE_RANGE_SESSION, "k", "all");
    assert_finds(state, &alice_1, STORE_RANGE_NAMESPACE, "k", "ours");
    assert_finds(state, &bob, STORE_RANGE_NAMESPACE, "k", "theirs");
}

static void a_value_to_be_read_once_is_read_once(void **state)
{
    BUF_AUTO struct buf b = lookup_blob(&bob, STORE_RANGE_SESSION, "k", NULL);

    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_FIRST_READ, "k", "v");
    assert_int_equal(store_count_found(*state, b.data, b.len), 1);
    assert_finds(state, &bob, STORE_RANGE_SESSION, "k", "v");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "k", "");
}

static void values_to_be_read_once_are_read_in_any_order(void **state)
{
    BUF_AUTO struct buf b = lookup_blob(&bob, STORE_RANGE_SESSION, "later", "earlier");
    BUF_AUTO struct buf out = {.max = BLOB_MAX};

    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_FIRST_READ, "earlier", "1");
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_FIRST_READ, "later", "2");
    assert_int_equal(look_up(*state, b.data, b.len, &out), STORE_OK);
    assert_int_equal(store_count(*state), 0);
}

static void a_lookup_that_fails_reads_no_value_that_is_read_once(void **state)
{
    BUF_AUTO struct buf b = lookup_blob(&bob, STORE_RANGE_SESSION, "k", NULL);
    BUF_AUTO struct buf longer = lookup_blob(&bob, STORE_RANGE_SESSION, "k", NULL);
    BUF_AUTO struct buf out = {.max = BLOB_MAX}, small = {.max = 8};

    buf_put_u8(&longer, 0);
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_FIRST_READ, "k", "v");
    assert_int_equal(look_up(*state, longer.data, longer.len, &out), STORE_BAD);
    assert_int_equal(look_up(*state, b.data, b.len, &small), STORE_BAD);
    assert_finds(state, &bob, STORE_RANGE_SESSION, "k", "v");
    assert_int_equal(store_count(*state), 0);
}

static void a_lookup_that_finds_some_of_several_keys_reports_a_partial_success(void **state)
{
    BUF_AUTO struct buf b = lookup_blob(&bob, STORE_RANGE_SESSION, "k", "l");
    BUF_AUTO struct buf out = {.max = BLOB_MAX};

    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "l", "v");
    assert_int_equal(look_up(*state, b.data, b.len, &out), STORE_SOME);
}

static void only_the_publisher_can_unpublish(void **state)
{
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "k", "v");
    assert_int_equal(unpublish(state, &alice_1, STORE_RANGE_SESSION, "k"), STORE_NONE);
    assert_int_equal(unpublish(state, &bob, STORE_RANGE_SESSION, NULL), STORE_OK);
    assert_int_equal(store_count(*state), 1);
    assert_int_equal(unpublish(state, &alice, STORE_RANGE_SESSION, NULL), STORE_OK);
    assert_int_equal(store_count(*state), 0);
    assert_int_equal(unpublish(state, &alice, STORE_RANGE_SESSION, "k"), STORE_NONE);
}

static void a_request_removes_each_key_that_it_names_and_one_that_it_names_twice_once(void **state)
{
    static const char *const keys[] = {"a", "b", "a", "c"};
    BUF_AUTO struct buf b = {.max = BLOB_MAX};
    struct store_ids ids = {0};

    for (size_t i = 0; i < 4; i++)
        publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, keys[i], "v");
    assert_int_equal(store_count(*state), 3);
    store_put_who(&b, &alice);
    buf_put_u8(&b, STORE_RANGE_SESSION);
    buf_put_u32(&b, 4);
    for (size_t i = 0; i < 4; i++)
        buf_put_str(&b, keys[i]);
    assert_int_equal(store_unpublish(*state, b.data, b.len, &ids), STORE_OK);
    assert_int_equal(ids.n, 3);
    take_away(*state, &ids);
    assert_int_equal(store_count(*state), 0);
}

static void a_malformed_report_of_a_rank_s_end_changes_no_value(void **state)
{
    struct store_who all = alice;
    BUF_AUTO struct buf b = {.max = BLOB_MAX}, of_all = {.max = BLOB_MAX};

    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_PROC, "proc", "1");
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "app", "2");
    publish(state, &alice_1, STORE_RANGE_SESSION, STORE_PERSIST_PROC, "proc1", "3");
    all.rank = UINT32_MAX;
    store_put_who(&of_all, &all);
    store_put_who(&b, &alice);
    assert_int_equal(end_rank(*state, of_all.data, of_all.len), STORE_BAD);
    assert_int_equal(end_rank(*state, b.data, b.len - 1), STORE_BAD);
    assert_int_equal(end_rank(*state, "", 0), STORE_BAD);
    assert_int_equal(store_count(*state), 3);
    assert_int_equal(end_rank(*state, b.data, b.len), STORE_OK);
    assert_int_equal(store_count(*state), 2);
    assert_int_equal(end_rank(*state, b.data, b.len), STORE_OK);
    assert_int_equal(store_count(*state), 2);
}

/* `arg`: the only job that runs; NULL: none does. */
static bool runs_only(const char *nspace, void *arg)
{
    return arg && strcmp(nspace, arg) == 0;
}

static void values_go_with_the_rank_or_the_job_or_stay(void **state)
{
    BUF_AUTO struct buf b = {.max = BLOB_MAX};
    struct store_ids ids = {0};

    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_PROC, "proc", "1");
    publish(state, &alice_1, STORE_RANGE_SESSION, STORE_PERSIST_PROC, "proc1", "2");
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "app", "3");
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_SESSION, "session", "4");
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_INDEF, "indef", "5");
    store_put_who(&b, &alice);
    assert_int_equal(end_rank(*state, b.data, b.len), STORE_OK);
    assert_finds(state, &bob, STORE_RANGE_SESSION, "proc", "");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "proc1", "2");
    store_job_ended(*state, "9.1", runs_only, NULL, &ids);
    take_away(*state, &ids);
    assert_finds(state, &bob, STORE_RANGE_SESSION, "proc1", "");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "app", "");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "session", "4");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "indef", "5");
}

static void end_job(void **state, const char *nspace, const char *running)
{
    struct store_ids ids = {0};

    store_job_ended(*state, nspace, runs_only, (void *)running, &ids);
    take_away(*state, &ids);
}

static void a_value_until_its_first_read_outlives_its_job_if_another_one_can_read_it(void **state)
{
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_FIRST_READ, "all", "1");
    publish(state, &alice, STORE_RANGE_LOCAL, STORE_PERSIST_FIRST_READ, "node", "2");
    publish(state, &alice, STORE_RANGE_NAMESPACE, STORE_PERSIST_FIRST_READ, "job", "3");
    publish(state, &alice, STORE_RANGE_PROC_LOCAL, STORE_PERSIST_FIRST_READ, "rank", "4");
    end_job(state, "9.1", NULL);
    assert_int_equal(store_count(*state), 2);
    assert_finds(state, &bob, STORE_RANGE_SESSION, "all", "1");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "all", "");
}

/* Each job publishes one value, and nobody reads it. */
static void of_too_many_unread_values_of_ended_jobs_the_oldest_are_removed(void **state)
{
    struct store_who who = alice;

    publish(state, &bob, STORE_RANGE_SESSION, STORE_PERSIST_FIRST_READ, "of.running", "r");
    for (unsigned i = 0; i <= STORE_UNREAD_MAX; i++) {
        char key[32];

        snprintf(who.nspace, sizeof(who.nspace), "7.%u", i);
        snprintf(key, sizeof(key), "k%u", i);
        publish(state, &who, STORE_RANGE_SESSION, STORE_PERSIST_FIRST_READ, key, "v");
    }
    end_job(state, who.nspace, bob.nspace);
    assert_int_equal(store_count(*state), STORE_UNREAD_MAX + 1);
    assert_finds(state, &bob, STORE_RANGE_SESSION, "k0", "");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "k1", "v");
    assert_finds(state, &bob, STORE_RANGE_SESSION, "of.running", "r");
}

static void a_lookup_names_a_port_if_a_key_begins_with_it_and_a_colon(void **state)
{
    static const struct {
        const char *key;
        bool is;
    } keys[] = {{"9.1;0:77:accept", true}, {"9.1;0:77:", true}, {"9.1;0:778:accept", false},
                {"9.1;0:77", false},       {"accept", false},   {"x9.1;0:77:accept", false}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        BUF_AUTO struct buf b = {.max = BLOB_MAX};

        store_put_who(&b, &alice);
        buf_put_u8(&b, STORE_RANGE_SESSION);
        buf_put_u8(&b, 1);
        buf_put_u32(&b, 0);
        buf_put_u32(&b, 0);
        buf_put_u32(&b, 2);
        buf_put_str(&b, "other");
        buf_put_str(&b, keys[i].key);
        assert_int_equal(store_lookup_names(b.data, b.len, "9.1;0:77"), keys[i].is);
    }
    assert_false(store_lookup_names("x", 1, "x"));
}

static void a_value_that_is_not_there_is_not_removed_nor_one_twice(void **state)
{
    uint64_t none[] = {1, 3}, twice[] = {2, 2}, both[] = {1, 2};
    struct err err = {0};

    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "k", "1");
    publish(state, &alice, STORE_RANGE_SESSION, STORE_PERSIST_APP, "l", "2");
    assert_int_equal(store_remove(*state, none, 2, &err), -1);
    assert_int_equal(store_remove(*state, twice, 2, &err), -1);
    assert_int_equal(store_count(*state), 2);
    assert_int_equal(store_remove(*state, both, 2, &err), 0);
    assert_int_equal(store_count(*state), 0);
}

static void a_lookup_s_limit_is_shortened_to_a_second_at_least(void **state)
{
    BUF_AUTO struct buf b = lookup_blob(&bob, STORE_RANGE_SESSION, "k", NULL);
    struct store_lookup l;

    for (size_t n = 0; n < b.len; n++) {
        FREE_AUTO uint8_t *cut = memcpy(xmalloc(n), b.data, n);

        store_lookup_shorten(cut, n, 1);
    }
    store_lookup_shorten(b.data, b.len, 5);
    assert_true(store_lookup_head(b.data, b.len, &l));
    assert_int_equal(l.timeout_s, 0); /* it has none */
    buf_patch_u32(&b, b.len - strlen("k") - 4 - 12, 600);
    store_lookup_shorten(b.data, b.len, 5);
    assert_true(store_lookup_head(b.data, b.len, &l));
    assert_int_equal(l.timeout_s, 595);
    store_lookup_shorten(b.data, b.len, 700);
    assert_true(store_lookup_head(b.data, b.len, &l));
    assert_int_equal(l.timeout_s, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_publish_request_cut_at_any_byte_changes_nothing),
        TEST(a_lookup_cut_at_any_byte_is_refused),
        TEST(a_request_with_one_bad_pair_stores_none_of_its_pairs),
        TEST(an_unknown_range_or_persistence_is_refused),
        TEST(a_store_that_is_full_refuses_and_keeps_what_it_has),
        TEST(a_store_takes_as_many_keys_as_it_can_hold_and_no_further_one),
        TEST(another_user_sees_nothing),
        TEST(a_published_value_is_found_within_its_range_only),
        TEST(one_key_in_two_ranges_is_two_values),
        TEST(a_value_to_be_read_once_is_read_once),
        TEST(values_to_be_read_once_are_read_in_any_order),
        TEST(a_lookup_that_fails_reads_no_value_that_is_read_once),
        TEST(a_lookup_that_finds_some_of_several_keys_reports_a_partial_success),
        TEST(only_the_publisher_can_unpublish),
        TEST(a_request_removes_each_key_that_it_names_and_one_that_it_names_twice_once),
        TEST(a_malformed_report_of_a_rank_s_end_changes_no_value),
        TEST(values_go_with_the_rank_or_the_job_or_stay),
        TEST(a_value_until_its_first_read_outlives_its_job_if_another_one_can_read_it),
        TEST(of_too_many_unread_values_of_ended_jobs_the_oldest_are_removed),
        TEST(a_lookup_names_a_port_if_a_key_begins_with_it_and_a_colon),
        TEST(a_value_that_is_not_there_is_not_removed_nor_one_twice),
        TEST(a_lookup_s_limit_is_shortened_to_a_second_at_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
