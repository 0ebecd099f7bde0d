/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between services: each is decoded as it was encoded; malformed ones are refused. */
#include "dvm/host/app/app.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define QUESTION 0x0102030405060708u

/* Decodes, frees; 0 or -1. */
static int decode_modex_ask(struct cur *c)
{
    struct app_modex_ask m;
    int rc = app_modex_ask_decode(c, &m);

    app_modex_ask_free(&m);
    return rc;
}

static int decode_data_ask(struct cur *c)
{
    struct app_data_ask m;

    return app_data_ask_decode(c, &m);
}

static int decode_answer(struct cur *c)
{
    struct app_answer m;

    return app_answer_decode(c, &m);
}

static int decode_notify(struct cur *c)
{
    struct app_notify m;

    return app_notify_decode(c, &m);
}

static int decode_notify_all(struct cur *c)
{
    struct app_notify_all m;
    int rc = app_notify_all_decode(c, &m);

    app_notify_all_free(&m);
    return rc;
}

static int decode_query_ask(struct cur *c)
{
    struct app_query_ask m;
    int rc = app_query_ask_decode(c, &m);

    app_query_ask_free(&m);
    return rc;
}

static int decode_signal_ask(struct cur *c)
{
    struct app_signal_ask m;
    int rc = app_signal_ask_decode(c, &m);

    app_signal_ask_free(&m);
    return rc;
}

static int decode_job_ask(struct cur *c)
{
    struct app_job_ask m;
    int rc = app_job_ask_decode(c, &m);

    app_job_ask_free(&m);
    return rc;
}

static int decode_tool_here(struct cur *c)
{
    struct app_tool_here m;

    return app_tool_here_decode(c, &m);
}

static int decode_control_ask(struct cur *c)
{
    struct app_control_ask m;
    int rc = app_control_ask_decode(c, &m);

    app_control_ask_free(&m);
    return rc;
}

static int decode_job_waits(struct cur *c)
{
    struct app_job_waits m;
    int rc = app_job_waits_decode(c, &m);

    app_job_waits_free(&m);
    return rc;
}

static int decode_call(struct cur *c)
{
    struct app_call m;
    int rc = app_call_decode(c, &m);

    app_call_free(&m);
    return rc;
}

static int decode_reply(struct cur *c)
{
    struct app_reply m;
    int rc = app_reply_decode(c, &m);

    app_reply_free(&m);
    return rc;
}

static char nspace[] = "abc.1";
static const struct pmix_srv_proc procs[] = {{"abc.1", 3}, {"abc.2", PMIX_SRV_RANK_ALL}};

static void encode_sample(struct buf *b, enum app_kind kind)
{
    switch (kind) {
    case APP_MODEX_ASK:
        app_modex_ask_encode(b, &(struct app_modex_ask){QUESTION, nspace, 3, 60});
        break;
    case APP_DATA_ASK:
        app_data_ask_encode(b, &(struct app_data_ask){QUESTION, 'l', "key", 3, 0});
        break;
    case APP_ANSWER:
        app_answer_encode(b, &(struct app_answer){QUESTION, -25, "data", 4});
        break;
    case APP_NOTIFY:
        app_notify_encode(b, &(struct app_notify){QUESTION, "event", 5});
        break;
    case APP_QUERY_ASK:
        app_query_ask_encode(b, &(struct app_query_ask){QUESTION, nspace});
        break;
    case APP_SIGNAL_ASK:
        app_signal_ask_encode(b, &(struct app_signal_ask){QUESTION, nspace, 3, 15});
        break;
    case APP_JOB_ASK:
        app_job_ask_encode(b, &(struct app_job_ask){QUESTION, nspace});
        break;
    case APP_CALL:
        app_call_encode(b, &(struct app_call){7, nspace, nspace, nspace});
        break;
    case APP_REPLY:
        app_reply_encode(b, &(struct app_reply){7, 200, nspace});
        break;
    case APP_NOTIFY_ALL:
        app_notify_all_encode(
            b, &(struct app_notify_all){QUESTION, {PMIX_SRV_REACH_LIST, procs, 2}, "event", 5});
        break;
    case APP_TOOL_HERE:
        app_tool_here_encode(b, &(struct app_tool_here){QUESTION});
        break;
    case APP_CONTROL_ASK:
        app_control_ask_encode(b, &(struct app_control_ask){QUESTION, nspace, nspace});
        break;
    case APP_JOB_WAITS:
        app_job_waits_encode(b, &(struct app_job_waits){nspace, nspace});
        break;
    case APP_KINDS:
        fail();
    }
}

static int (*const decoders[APP_KINDS])(struct cur *c) = {
    [APP_MODEX_ASK] = decode_modex_ask, [APP_DATA_ASK] = decode_data_ask,
    [APP_ANSWER] = decode_answer,       [APP_NOTIFY] = decode_notify,
    [APP_QUERY_ASK] = decode_query_ask, [APP_SIGNAL_ASK] = decode_signal_ask,
    [APP_JOB_ASK] = decode_job_ask,     [APP_CALL] = decode_call,
    [APP_REPLY] = decode_reply,         [APP_NOTIFY_ALL] = decode_notify_all,
    [APP_TOOL_HERE] = decode_tool_here, [APP_CONTROL_ASK] = decode_control_ask,
    [APP_JOB_WAITS] = decode_job_waits};

/* An exact copy on the heap, so that ASan sees a read past the end. */
static int decode_exactly(enum app_kind kind, const void *data, size_t len)
{
    FREE_AUTO uint8_t *exact = malloc(len + !len);
    struct cur c;

    memcpy(exact, data, len);
    c = cur_of(exact, len);
    return decoders[kind](&c);
}

static void a_message_that_is_cut_anywhere_or_has_more_is_refused(void **state)
{
    for (enum app_kind kind = APP_MODEX_ASK; kind < APP_KINDS; kind++) {
        BUF_AUTO struct buf b = {0};

        encode_sample(&b, kind);
        assert_false(b.failed);
        assert_int_equal(decode_exactly(kind, b.data, b.len), 0);
        for (size_t len = 0; len < b.len; len++)
            assert_int_equal(decode_exactly(kind, b.data, len), -1);
        buf_put_u8(&b, 0);
        assert_int_equal(decode_exactly(kind, b.data, b.len), -1);
    }
}

static void a_question_that_is_cut_keeps_its_number(void **state)
{
    BUF_AUTO struct buf b = {0};
    struct app_signal_ask m;
    struct cur c;

    encode_sample(&b, APP_SIGNAL_ASK);
    c = cur_of(b.data, b.len - 1);
    assert_int_equal(app_signal_ask_decode(&c, &m), -1);
    assert_int_equal(m.question, QUESTION);
    app_signal_ask_free(&m);
}

static void a_request_for_data_may_name_its_first_open_question(void **state)
{
    for (uint64_t from = QUESTION; from <= QUESTION + 1; from++) {
        struct app_data_ask m = {QUESTION, 'l', "key", 3, from};
        BUF_AUTO struct buf b = {0};
        struct cur c;

        app_data_ask_encode(&b, &m);
        c = cur_of(b.data, b.len);
        assert_int_equal(app_data_ask_decode(&c, &m), from == QUESTION ? 0 : -1);
        assert_int_equal(m.open_from, from);
        assert_int_equal(decode_exactly(APP_DATA_ASK, b.data, b.len - 1), -1);
    }
}

static void the_target_processes_of_an_event_are_decoded_in_their_order(void **state)
{
    BUF_AUTO struct buf b = {0};
    struct app_notify_all m;
    struct cur c;

    encode_sample(&b, APP_NOTIFY_ALL);
    c = cur_of(b.data, b.len);
    assert_int_equal(app_notify_all_decode(&c, &m), 0);
    assert_int_equal(m.to.kind, PMIX_SRV_REACH_LIST);
    assert_int_equal(m.to.nprocs, 2);
    assert_string_equal(m.to.procs[0].nspace, "abc.1");
    assert_int_equal(m.to.procs[0].rank, 3);
    assert_string_equal(m.to.procs[1].nspace, "abc.2");
    assert_int_equal(m.to.procs[1].rank, PMIX_SRV_RANK_ALL);
    assert_int_equal(m.len, 5);
    assert_memory_equal(m.event, "event", 5);
    app_notify_all_free(&m);
}

/* --- the table */

struct heard {
    unsigned n;
    uint32_t from;
    size_t left;
};

static void on_message(uint32_t from, struct cur *c, void *service)
{
    struct heard *h = service;

    h->n++;
    h->from = from;
    h->left = cur_left(c);
}

static void a_message_goes_to_the_handler_of_its_kind_alone(void **state)
{
    static const struct app_handler handler[] = {{APP_JOB_ASK, on_message}};
    struct app_table t = {0};
    struct heard h = {0};

    app_table_add(&t, handler, 1, &h);
    app_table_dispatch(&t, 4, APP_JOB_ASK, "abc", 3);
    assert_int_equal(h.n, 1);
    assert_int_equal(h.from, 4);
    assert_int_equal(h.left, 3);
    app_table_dispatch(&t, 4, APP_QUERY_ASK, "abc", 3);
    app_table_dispatch(&t, 4, APP_KINDS, "abc", 3);
    app_table_dispatch(&t, 4, UINT32_MAX, "abc", 3);
    assert_int_equal(h.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_that_is_cut_anywhere_or_has_more_is_refused),
        cmocka_unit_test(a_question_that_is_cut_keeps_its_number),
        cmocka_unit_test(a_request_for_data_may_name_its_first_open_question),
        cmocka_unit_test(the_target_processes_of_an_event_are_decoded_in_their_order),
        cmocka_unit_test(a_message_goes_to_the_handler_of_its_kind_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
