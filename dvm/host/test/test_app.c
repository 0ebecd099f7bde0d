/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions between daemons: each gets one answer, from the daemon that was asked. */
#include "dvm/host/test/alone.h"

#include <pmix_common.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REQ 77
#define JOB "000000000000abc1.1" /* the scene's */

static void put_question(struct buf *b, uint64_t id)
{
    buf_init(b, MSG_DATA_MAX);
    buf_put_u64(b, id);
}

static uint64_t number_of(const struct alone_sent *s)
{
    struct cur c = cur_of(s->data.data, s->data.len);

    return cur_u64(&c);
}

static void assert_answer(const struct alone *a, uint32_t to, uint64_t id, int status, size_t len)
{
    struct cur c = cur_of(a->sent.data.data, a->sent.data.len);

    assert_int_equal(a->sent.kind, APP_ANSWER);
    assert_int_equal(a->sent.vpid, to);
    assert_int_equal(cur_u64(&c), id);
    assert_int_equal((int)cur_u32(&c), status);
    assert_int_equal(cur_u32(&c), len);
    assert_int_equal(cur_left(&c), len);
}

static void answer(struct alone *a, uint32_t from, uint64_t id)
{
    BUF_AUTO struct buf b = {0};

    put_question(&b, id);
    buf_put_u32(&b, PMIX_SUCCESS);
    buf_put_bytes(&b, "", 0);
    alone_hear(a, from, APP_ANSWER, b.data, b.len);
}

static void only_the_asked_peer_can_answer_and_only_once(void **state)
{
    struct alone a;

    alone_open(&a, SCENE_MEMBER_PARENT);
    modex_data(a.modex, REQ, 'l', "x", 1);
    assert_int_equal(a.sent.kind, APP_DATA_ASK);
    assert_int_equal(a.sent.vpid, 0);
    answer(&a, 3, number_of(&a.sent));
    answer(&a, 0, number_of(&a.sent) + 1);
    assert_int_equal(a.answered.n, 0);
    answer(&a, 0, number_of(&a.sent));
    answer(&a, 0, number_of(&a.sent));
    assert_int_equal(a.answered.n, 1);
    assert_int_equal(a.answered.req, REQ);
    assert_int_equal(a.answered.status, PMIX_SUCCESS);
    alone_close(&a);
}

static void a_question_to_a_lost_member_ends_with_an_error(void **state)
{
    struct alone a;

    alone_open(&a, SCENE_MEMBER_PARENT);
    queries_ask(a.queries, REQ, "");
    assert_int_equal(a.sent.kind, APP_QUERY_ASK);
    questions_member_gone(a.questions, 3);
    assert_int_equal(a.answered.n, 0);
    questions_member_gone(a.questions, 0);
    assert_int_equal(a.answered.n, 1);
    assert_int_equal(a.answered.status, PMIX_ERR_LOST_CONNECTION);
    alone_close(&a);
}

static void ask_modex(struct alone *a, uint64_t id)
{
    BUF_AUTO struct buf b = {0};

    put_question(&b, id);
    buf_put_str(&b, "7.1");
    buf_put_u32(&b, 0);
    buf_put_u32(&b, 0);
    alone_hear(a, 1, APP_MODEX_ASK, b.data, b.len);
}

static void an_answer_that_is_too_long_is_an_error_for_the_requester(void **state)
{
    struct alone a;

    alone_open(&a, SCENE_HEAD_MEMBER);
    a.len = 64u << 20;
    a.data = calloc(a.len, 1);
    ask_modex(&a, 5);
    assert_answer(&a, 1, 5, PMIX_ERR_OUT_OF_RESOURCE, 0);
    a.len = 1000;
    ask_modex(&a, 6);
    assert_answer(&a, 1, 6, PMIX_SUCCESS, 1000);
    free(a.data);
    alone_close(&a);
}

static void a_call_whose_answer_is_too_long_is_answered(void **state)
{
    size_t len = CLIENT_BODY_MAX - 64;
    char *body = xmalloc(len + 1);
    BUF_AUTO struct buf b = {0};
    struct cur c;
    struct alone a;

    memset(body, ' ', len); /* is sent back unchanged */
    body[len] = '\0';
    alone_open(&a, SCENE_HEAD_MEMBER);
    buf_init(&b, CLIENT_BODY_MAX + 64);
    buf_put_u32(&b, 9);
    buf_put_str(&b, "GET");
    buf_put_str(&b, "/");
    buf_put_str(&b, body);
    alone_hear(&a, 1, APP_CALL, b.data, b.len);
    c = cur_of(a.sent.data.data, a.sent.data.len);
    assert_int_equal(a.sent.kind, APP_REPLY);
    assert_int_equal(cur_u32(&c), 9);
    assert_int_equal(cur_u32(&c), 200);

    b.len = 0;
    buf_put_u32(&b, 9);
    buf_put_str(&b, "GET");
    buf_put_str(&b, "/");
    free(body);
    body = xmalloc(CLIENT_BODY_MAX + 1);
    memset(body, ' ', CLIENT_BODY_MAX);
    body[CLIENT_BODY_MAX] = '\0';
    buf_put_str(&b, body);
    alone_hear(&a, 1, APP_CALL, b.data, b.len);
    c = cur_of(a.sent.data.data, a.sent.data.len);
    assert_int_equal(cur_u32(&c), 9);
    assert_int_equal(cur_u32(&c), 500);
    free(body);
    alone_close(&a);
}

static void a_question_that_is_cut_short_is_answered_too(void **state)
{
    static const struct {
        enum app_kind kind;
        int status;
    } rows[] = {{APP_MODEX_ASK, PMIX_ERR_BAD_PARAM},  {APP_DATA_ASK, PMIX_ERR_BAD_PARAM},
                {APP_NOTIFY, PMIX_SUCCESS},           {APP_QUERY_ASK, PMIX_ERR_NOT_FOUND},
                {APP_SIGNAL_ASK, PMIX_ERR_NOT_FOUND}, {APP_JOB_ASK, PMIX_ERR_NOT_FOUND},
                {APP_NOTIFY_ALL, PMIX_ERR_BAD_PARAM}, {APP_TOOL_HERE, PMIX_SUCCESS}};
    struct alone a;
    BUF_AUTO struct buf b = {0};

    put_question(&b, 5);
    alone_open(&a, SCENE_HEAD_MEMBER);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        alone_hear(&a, 1, rows[i].kind, b.data, b.len);
        assert_int_equal(a.sent.n, i + 1);
        assert_answer(&a, 1, 5, rows[i].status, 0);
    }
    alone_close(&a);
}

static void hear_output(struct alone *a, uint8_t stream, const char *more)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_str(&b, "7.1");
    buf_put_u32(&b, 0); /* of the scene's job */
    buf_put_u32(&b, 0);
    buf_put_u8(&b, stream);
    buf_put_bytes(&b, "x", 1);
    buf_put_raw(&b, more, strlen(more));
    alone_hear(a, 1, IOF_OUTPUT, b.data, b.len);
}

static void a_client_is_passed_output_of_its_two_streams_only(void **state)
{
    struct alone a;

    alone_open(&a, SCENE_MEMBER_PARENT); /* where the job was submitted */
    hear_output(&a, ODLS_STDIN, "");
    hear_output(&a, 3, "");
    hear_output(&a, ODLS_STDOUT, "more");
    assert_int_equal(a.said, 0);
    hear_output(&a, ODLS_STDOUT, "");
    hear_output(&a, ODLS_STDERR, "");
    assert_int_equal(a.said, 2);
    alone_close(&a);
}

static void hear_copy(struct alone *a, uint8_t stream, size_t cut)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_str(&b, JOB);
    buf_put_u32(&b, 0);
    buf_put_u8(&b, stream);
    buf_put_bytes(&b, "word", 4);
    alone_hear(a, 1, IOF_COPY, b.data, b.len - cut);
}

static void hear_flag(struct alone *a, uint32_t kind, size_t more)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_str(&b, JOB);
    buf_put_u8(&b, 0);
    buf_put_raw(&b, "more", more);
    alone_hear(a, 1, kind, b.data, b.len);
}

static void
a_tool_is_answered_when_copying_has_started_and_malformed_copies_are_dropped(void **state)
{
    struct pmix_srv_proc all = {JOB, PMIX_SRV_RANK_ALL};
    struct alone a;

    alone_open(&a, SCENE_MEMBER_PARENT);
    hear_copy(&a, ODLS_STDOUT, 0); /* no question is open */
    pulled_output_ask(a.pulled_output, REQ, &all, 1);
    hear_flag(&a, IOF_COPY_STARTED, 1);
    assert_int_equal(a.answered.n, 0);
    hear_flag(&a, IOF_COPY_STARTED, 0);
    assert_int_equal(a.answered.n, 1);
    assert_int_equal(a.answered.req, REQ);
    assert_int_equal(a.answered.status, PMIX_SUCCESS);
    hear_copy(&a, ODLS_STDIN, 0);
    hear_copy(&a, ODLS_STDOUT, 1);
    assert_int_equal(a.output, 0);
    hear_copy(&a, ODLS_STDERR, 0);
    assert_int_equal(a.output, 4);
    alone_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_asked_peer_can_answer_and_only_once),
        cmocka_unit_test(a_question_to_a_lost_member_ends_with_an_error),
        cmocka_unit_test(an_answer_that_is_too_long_is_an_error_for_the_requester),
        cmocka_unit_test(a_call_whose_answer_is_too_long_is_answered),
        cmocka_unit_test(
            a_tool_is_answered_when_copying_has_started_and_malformed_copies_are_dropped),
        cmocka_unit_test(a_client_is_passed_output_of_its_two_streams_only),
        cmocka_unit_test(a_question_that_is_cut_short_is_answered_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
