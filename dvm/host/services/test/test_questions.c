/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to a daemon that departs, and requests for published values that go to a new head. */
#include "dvm/host/services/questions.h"
#include "dvm/host/services/test/fake.h"

#include <pmix_common.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SENT_MAX 8

struct bench {
    struct fake f;
    struct app_table table;
    struct questions *questions;
    const struct host_ask *ask;
    bool live, refuses; /* the other daemon is a member; its queue is full */
    uint8_t speaks;     /* the head's edition */
    struct app_data_ask sent[SENT_MAX];
    size_t n;
};

static struct bench *the_bench;

bool core_live(const struct core *c, uint32_t vpid)
{
    return the_bench->live;
}

bool core_head_speaks(const struct core *c, uint8_t n)
{
    return the_bench->speaks >= n;
}

static int take_sent(uint32_t vpid, enum out_class traffic, uint32_t kind, const struct buf *b,
                     void *arg)
{
    struct bench *t = the_bench;
    struct cur c = cur_of(b->data, b->len);

    if (t->refuses)
        return -1;
    assert_true(t->n < SENT_MAX);
    if (kind == APP_DATA_ASK) {
        assert_int_equal(vpid, VPID_HEAD);
        assert_int_equal(app_data_ask_decode(&c, &t->sent[t->n]), 0);
        t->sent[t->n].blob = NULL; /* borrowed */
    }
    t->n++;
    return 0;
}

static void bench_open(struct bench *t)
{
    struct err err = {0};

    memset(t, 0, sizeof(*t));
    the_bench = t;
    t->live = true;
    t->speaks = 1;
    fake_open(&t->f);
    t->f.env.send = take_sent;
    t->f.env.loop = loop_create(&err);
    assert_non_null(t->f.env.loop);
    t->questions = questions_create(&t->f.env, NULL, fake_pmix(&t->f));
    t->ask = questions_asking(t->questions);
    questions_handle(t->questions, &t->table);
}

static void bench_close(struct bench *t)
{
    questions_destroy(t->questions);
    loop_destroy(t->f.env.loop);
    fake_close(&t->f);
}

static void answer(struct bench *t, uint32_t from, uint64_t question)
{
    BUF_AUTO struct buf b = {0};

    app_answer_encode(&b, &(struct app_answer){question, PMIX_SUCCESS, NULL, 0});
    app_table_dispatch(&t->table, from, APP_ANSWER, b.data, b.len);
}

static void requests_for_data_go_to_a_new_head_in_their_order_with_their_numbers(void **state)
{
    struct bench t;

    bench_open(&t);
    for (pmix_req req = 1; req <= 3; req++)
        host_ask_data(t.ask, req, 'p', "blob", 4);
    answer(&t, VPID_HEAD, t.sent[0].question);
    assert_int_equal(t.f.answered.n, 1);
    questions_member_gone(t.questions, VPID_HEAD);
    assert_int_equal(t.f.answered.n, 1);
    assert_int_equal(t.n, 5);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(t.sent[3 + i].question, t.sent[1 + i].question);
        assert_int_equal(t.sent[3 + i].op, 'p');
        assert_int_equal(t.sent[3 + i].len, 4);
        assert_int_equal(t.sent[3 + i].open_from, t.sent[1].question);
    }
    for (size_t i = 0; i < 2; i++)
        answer(&t, VPID_HEAD, t.sent[3 + i].question);
    assert_int_equal(t.f.answered.n, 3);
    answer(&t, VPID_HEAD, t.sent[3].question);
    assert_int_equal(t.f.answered.n, 3);
    bench_close(&t);
}

static void the_first_open_question_is_named_to_a_head_that_knows_of_it(void **state)
{
    struct bench t;

    bench_open(&t);
    host_ask_data(t.ask, 1, 'p', "blob", 4);
    host_ask_data(t.ask, 2, 'p', "blob", 4);
    assert_int_equal(t.sent[1].open_from, t.sent[0].question);
    answer(&t, VPID_HEAD, t.sent[0].question);
    host_ask_data(t.ask, 3, 'p', "blob", 4);
    assert_int_equal(t.sent[2].open_from, t.sent[1].question);
    t.speaks = 0;
    host_ask_data(t.ask, 4, 'p', "blob", 4);
    assert_int_equal(t.sent[3].open_from, 0);
    bench_close(&t);
}

static void put_question(struct bench *t, uint32_t vpid)
{
    struct app_query_ask m = {.nspaces = (char *)""};
    BUF_AUTO struct buf b = {0};

    app_query_ask_encode(&b, &m);
    host_ask_for(t->ask, 9, vpid, APP_QUERY_ASK, &b);
}

static void other_questions_end_with_the_process_that_was_asked(void **state)
{
    struct bench t;

    bench_open(&t);
    put_question(&t, VPID_HEAD);
    put_question(&t, 4);
    questions_member_gone(t.questions, VPID_HEAD);
    assert_int_equal(t.f.answered.n, 1);
    assert_int_equal(t.f.answered.status, PMIX_ERR_LOST_CONNECTION);
    questions_member_gone(t.questions, 4);
    assert_int_equal(t.f.answered.n, 2);
    bench_close(&t);
}

static void a_request_for_data_fails_when_there_is_no_head_for_this_daemon(void **state)
{
    struct bench t;

    bench_open(&t);
    host_ask_data(t.ask, 1, 'l', "blob", 4);
    t.live = false;
    questions_member_gone(t.questions, VPID_HEAD);
    assert_int_equal(t.f.answered.n, 1);
    assert_int_equal(t.f.answered.status, PMIX_ERR_LOST_CONNECTION);
    host_ask_data(t.ask, 2, 'l', "blob", 4);
    assert_int_equal(t.f.answered.n, 2);
    bench_close(&t);
}

static void a_request_for_data_that_cannot_be_queued_fails_with_the_reason(void **state)
{
    struct bench t;

    bench_open(&t);
    host_ask_data(t.ask, 1, 'p', "blob", 4);
    t.refuses = true;
    questions_member_gone(t.questions, VPID_HEAD);
    assert_int_equal(t.f.answered.n, 1);
    assert_int_equal(t.f.answered.status, PMIX_ERR_OUT_OF_RESOURCE);
    bench_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_for_data_go_to_a_new_head_in_their_order_with_their_numbers),
        cmocka_unit_test(the_first_open_question_is_named_to_a_head_that_knows_of_it),
        cmocka_unit_test(other_questions_end_with_the_process_that_was_asked),
        cmocka_unit_test(a_request_for_data_fails_when_there_is_no_head_for_this_daemon),
        cmocka_unit_test(a_request_for_data_that_cannot_be_queued_fails_with_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
