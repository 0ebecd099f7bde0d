/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for published values: repeated ones, those that wait, and their records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/published/published.h"

#include <string.h>

#define STATE_MAX (1u << 20)

struct bench { /* a head, and a fold of its records */
    struct out out;
    struct journal *journal, *folded;
    struct published *values, *same;
    size_t records;
    bool quick; /* the states are not compared */
};

static const struct record_data_request once = {{3, {5, 2}}, 7, 7};
static const struct record_data_request never = {0};

static void assert_same(const struct bench *b)
{
    BUF_AUTO struct buf one = {.max = STATE_MAX}, two = {.max = STATE_MAX};

    journal_save(b->journal, &one);
    journal_save(b->folded, &two);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.data, two.data, one.len);
}

/* From the head's snapshot. */
static void begin_fold(struct bench *b)
{
    BUF_AUTO struct buf snapshot = {.max = STATE_MAX};
    struct err err = {0};

    published_destroy(b->same);
    journal_destroy(b->folded);
    b->folded = journal_create(&b->out);
    b->same = published_create(b->folded);
    journal_snapshot(b->journal, &snapshot);
    if (journal_replay(b->folded, snapshot.data, snapshot.len, &err) < 0)
        fail_msg("%s", err.msg);
    assert_same(b);
}

static void on_record(void *arg, const uint8_t *data, size_t len)
{
    struct bench *b = arg;
    struct err err = {0};

    b->records++;
    if (journal_replay(b->folded, data, len, &err) < 0)
        fail_msg("%s", err.msg);
    if (b->quick)
        return;
    assert_same(b);
    begin_fold(b);
}

static int setup(void **state)
{
    struct bench *b = xcalloc(1, sizeof(*b));

    b->journal = journal_create(&b->out);
    b->values = published_create(b->journal);
    begin_fold(b);
    journal_stream_to(b->journal, on_record, b);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    published_destroy(b->same);
    journal_destroy(b->folded);
    published_destroy(b->values);
    journal_destroy(b->journal);
    free_ptr(state);
    return 0;
}

static void put_owner(struct buf *b, uint32_t rank)
{
    store_put_who(b, &(struct store_who){.nspace = "9.1", .rank = rank, .vpid = 3});
}

static enum store_result serve(struct bench *b, char op, const struct record_data_request *q,
                               const struct buf *blob, struct buf *answer)
{
    struct published_ask a = {.request = *q, .op = op, .blob = blob->data, .len = blob->len};

    return published_serve(b->values, &a, answer);
}

static enum store_result publish(struct bench *b, const struct record_data_request *q,
                                 const char *key, enum store_persistence persistence)
{
    BUF_AUTO struct buf blob = {.max = 1024};

    put_owner(&blob, 0);
    buf_put_u8(&blob, STORE_RANGE_SESSION);
    buf_put_u8(&blob, (uint8_t)persistence);
    buf_put_u32(&blob, 1);
    buf_put_str(&blob, key);
    buf_put_bytes(&blob, "value", 5);
    return serve(b, 'p', q, &blob, NULL);
}

static enum store_result look_up(struct bench *b, const struct record_data_request *q,
                                 const char *key, bool waits, struct buf *answer)
{
    BUF_AUTO struct buf blob = {.max = 1024};

    put_owner(&blob, 1);
    buf_put_u8(&blob, STORE_RANGE_SESSION);
    buf_put_u8(&blob, waits);
    buf_put_u32(&blob, 0);
    buf_put_u32(&blob, 0);
    buf_put_u32(&blob, 1);
    buf_put_str(&blob, key);
    buf_reset(answer);
    return serve(b, 'l', q, &blob, answer);
}

static enum store_result unpublish(struct bench *b, const struct record_data_request *q,
                                   const char *key)
{
    BUF_AUTO struct buf blob = {.max = 1024};

    put_owner(&blob, 0);
    buf_put_u8(&blob, STORE_RANGE_SESSION);
    buf_put_u32(&blob, 1);
    buf_put_str(&blob, key);
    return serve(b, 'u', q, &blob, NULL);
}

static struct record_data_request question(uint64_t number, uint64_t open_from)
{
    return (struct record_data_request){{3, {5, 2}}, number, open_from};
}

static bool runs_never(const char *nspace, void *arg)
{
    return false;
}

static void a_request_that_changes_nothing_is_no_record(void **state)
{
    BUF_AUTO struct buf answer = {.max = 1024};
    struct bench *b = *state;

    assert_int_equal(look_up(b, &once, "k", false, &answer), STORE_NONE);
    assert_int_equal(unpublish(b, &once, "k"), STORE_NONE);
    published_job_ended(b->values, "9.1", runs_never, NULL);
    assert_int_equal(b->records, 0);
    assert_int_equal(publish(b, &never, "k", STORE_PERSIST_APP), STORE_OK);
    assert_int_equal(publish(b, &once, "k", STORE_PERSIST_APP), STORE_DUPLICATE);
    assert_int_equal(look_up(b, &once, "k", false, &answer), STORE_OK);
    assert_int_equal(b->records, 1);
}

static void a_publish_that_is_repeated_has_the_same_result_and_no_second_value(void **state)
{
    BUF_AUTO struct buf answer = {.max = 1024};
    struct record_data_request other = question(8, 7);
    struct bench *b = *state;

    assert_int_equal(publish(b, &once, "k", STORE_PERSIST_FIRST_READ), STORE_OK);
    assert_int_equal(publish(b, &once, "k", STORE_PERSIST_FIRST_READ), STORE_OK);
    assert_int_equal(published_count(b->values), 1);
    assert_int_equal(look_up(b, &never, "k", false, &answer), STORE_OK);
    assert_int_equal(publish(b, &once, "k", STORE_PERSIST_FIRST_READ), STORE_OK);
    assert_int_equal(published_count(b->values), 0);
    assert_int_equal(publish(b, &other, "k", STORE_PERSIST_FIRST_READ), STORE_OK);
    assert_int_equal(published_count(b->values), 1);
}

static void a_value_to_be_read_once_is_given_again_to_its_reader_alone(void **state)
{
    BUF_AUTO struct buf first = {.max = 1024}, again = {.max = 1024};
    struct record_data_request other = question(8, 7);
    struct bench *b = *state;

    publish(b, &never, "k", STORE_PERSIST_FIRST_READ);
    assert_int_equal(look_up(b, &once, "k", true, &first), STORE_OK);
    assert_int_equal(look_up(b, &other, "k", true, &again), STORE_WAITS);
    assert_int_equal(look_up(b, &once, "k", true, &again), STORE_OK);
    assert_int_equal(first.len, again.len);
    assert_memory_equal(first.data, again.data, first.len);
}

static void an_unpublish_that_is_repeated_succeeds_and_removes_no_later_value(void **state)
{
    struct record_data_request later = question(8, 7);
    struct bench *b = *state;

    publish(b, &never, "k", STORE_PERSIST_APP);
    assert_int_equal(unpublish(b, &once, "k"), STORE_OK);
    assert_int_equal(publish(b, &later, "k", STORE_PERSIST_APP), STORE_OK);
    assert_int_equal(unpublish(b, &once, "k"), STORE_OK);
    assert_int_equal(published_count(b->values), 1);
}

static size_t state_bytes(const struct bench *b)
{
    BUF_AUTO struct buf state = {.max = STATE_MAX};

    journal_save(b->journal, &state);
    return state.len;
}

static void a_result_is_forgotten_with_its_answer_its_process_or_its_daemon(void **state)
{
    struct record_data_request next = question(8, 8), anew = {{3, {5, 9}}, 1, 1};
    struct msg_target gone = {3, {5, 9}};
    struct record left = {
        .type = RECORD_OP_APPLIED,
        .op.msg = {.type = MSG_REMOVE, .remove = {.op = 1, .ntargets = 1, .targets = &gone}}};
    struct bench *b = *state;
    size_t none = state_bytes(b), one;

    publish(b, &once, "k", STORE_PERSIST_APP);
    unpublish(b, &never, "k");
    one = state_bytes(b);
    assert_true(one > none);
    publish(b, &next, "k", STORE_PERSIST_APP);
    unpublish(b, &never, "k");
    assert_int_equal(state_bytes(b), one);
    publish(b, &anew, "k", STORE_PERSIST_APP);
    unpublish(b, &never, "k");
    assert_int_equal(state_bytes(b), one);
    left.op.msg.remove.text = (char *)"";
    journal_note(b->journal, &left);
    assert_int_equal(state_bytes(b), none);
}

static void a_lookup_waits_for_as_many_values_as_it_wants(void **state)
{
    BUF_AUTO struct buf answer = {.max = 1024};
    struct bench *b = *state;

    assert_int_equal(look_up(b, &once, "k", true, &answer), STORE_WAITS);
    assert_int_equal(answer.len, 0);
    publish(b, &never, "k", STORE_PERSIST_APP);
    assert_int_equal(look_up(b, &once, "k", true, &answer), STORE_OK);
}

static void values_for_a_job_s_life_are_removed_at_its_end(void **state)
{
    struct bench *b = *state;

    publish(b, &never, "k", STORE_PERSIST_APP);
    publish(b, &never, "l", STORE_PERSIST_PROC);
    publish(b, &never, "m", STORE_PERSIST_SESSION);
    published_job_ended(b->values, "9.2", runs_never, NULL);
    assert_int_equal(published_count(b->values), 3);
    published_job_ended(b->values, "9.1", runs_never, NULL);
    assert_int_equal(published_count(b->values), 1);
    assert_int_equal(b->records, 4);
}

static void the_end_of_a_rank_removes_what_it_has_published_for_its_life(void **state)
{
    BUF_AUTO struct buf blob = {.max = 1024};
    struct bench *b = *state;

    publish(b, &never, "k", STORE_PERSIST_APP);
    publish(b, &never, "l", STORE_PERSIST_PROC);
    put_owner(&blob, 0);
    assert_int_equal(serve(b, 'e', &once, &blob, NULL), STORE_OK);
    assert_int_equal(serve(b, 'e', &once, &blob, NULL), STORE_OK);
    assert_int_equal(published_count(b->values), 1);
    assert_int_equal(serve(b, 'x', &once, &blob, NULL), STORE_OK); /* by its number */
    assert_int_equal(serve(b, 'x', &never, &blob, NULL), STORE_BAD);
}

static void the_oldest_results_of_a_daemon_make_room(void **state)
{
    struct bench *b = *state;

    b->quick = true;
    for (uint64_t n = 1; n <= PUBLISHED_RESULTS_OF_ONE + 1; n++) {
        struct record_data_request q = question(n, 1);

        assert_int_equal(publish(b, &q, "k", STORE_PERSIST_APP), STORE_OK);
        unpublish(b, &never, "k");
    }
    begin_fold(b);
    for (uint64_t n = PUBLISHED_RESULTS_OF_ONE + 1; n > 0; n--) {
        struct record_data_request q = question(n, 1);

        assert_int_equal(publish(b, &q, "k", STORE_PERSIST_APP), STORE_OK);
        assert_int_equal(published_count(b->values), n == 1); /* its result was forgotten */
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_that_changes_nothing_is_no_record),
        TEST(a_publish_that_is_repeated_has_the_same_result_and_no_second_value),
        TEST(a_value_to_be_read_once_is_given_again_to_its_reader_alone),
        TEST(an_unpublish_that_is_repeated_succeeds_and_removes_no_later_value),
        TEST(a_result_is_forgotten_with_its_answer_its_process_or_its_daemon),
        TEST(a_lookup_waits_for_as_many_values_as_it_wants),
        TEST(values_for_a_job_s_life_are_removed_at_its_end),
        TEST(the_end_of_a_rank_removes_what_it_has_published_for_its_life),
        TEST(the_oldest_results_of_a_daemon_make_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
