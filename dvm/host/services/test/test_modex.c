/* SPDX-License-Identifier: BSD-3-Clause */
/* Data of ranks on other daemons: which daemon is asked, and the answer to a malformed question. */
#include "dvm/host/services/modex.h"
#include "dvm/host/services/test/fake.h"

#include <pmix_common.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define REQ 77

struct bench {
    struct fake f;
    struct app_table table;
    struct modex *modex;
    void (*done)(int status, const void *data, size_t len, void *arg);
    void *done_arg;
};

/* The library answers when the test says so. */
void pmix_srv_dmodex_serve(struct pmix_srv *p, const char *nspace, uint32_t rank, int timeout_s,
                           void (*done)(int status, const void *data, size_t len, void *arg),
                           void *arg)
{
    struct bench *b = (struct bench *)p;

    assert_string_equal(nspace, "a.1");
    assert_int_equal(rank, 2);
    assert_int_equal(timeout_s, 60);
    b->done = done;
    b->done_arg = arg;
}

void pmix_srv_data_ask(struct pmix_srv *p, const struct pmix_srv_data_ask *a,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg)
{
    fail();
}

bool core_has_left(const struct core *c, const char *nspace, uint32_t rank)
{
    return rank == 1;
}

static void bench_open(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    fake_open(&b->f);
    b->modex = modex_create(NULL, fake_pmix(&b->f), &b->f.ask, &b->f.jobs);
    modex_handle(b->modex, &b->table);
}

static void bench_close(struct bench *b)
{
    modex_destroy(b->modex);
    fake_close(&b->f);
}

static void the_daemon_of_the_rank_is_asked_for_its_data(void **state)
{
    struct bench b;

    bench_open(&b);
    modex_fetch(b.modex, REQ, "a.1", 2, 60);
    assert_int_equal(b.f.n, 1);
    assert_int_equal(b.f.questions[0].vpid, 4);
    assert_int_equal(b.f.questions[0].kind, APP_MODEX_ASK);
    assert_int_equal(b.f.questions[0].req, REQ);
    assert_int_equal(b.f.answered.n, 0);
    bench_close(&b);
}

static void a_rank_that_the_job_does_not_have_is_not_found(void **state)
{
    struct bench b;

    bench_open(&b);
    modex_fetch(b.modex, REQ, "a.1", 3, 60);
    modex_fetch(b.modex, REQ, "a.9", 0, 60);
    assert_int_equal(b.f.n, 0);
    assert_int_equal(b.f.answered.n, 2);
    assert_int_equal(b.f.answered.status, PMIX_ERR_NOT_FOUND);
    bench_close(&b);
}

static void the_head_is_asked_for_published_data(void **state)
{
    struct bench b;

    bench_open(&b);
    modex_data(b.modex, REQ, 'l', "key", 3);
    assert_int_equal(b.f.n, 1);
    assert_int_equal(b.f.questions[0].vpid, 0);
    assert_int_equal(b.f.questions[0].kind, APP_DATA_ASK);
    bench_close(&b);
}

static void another_daemon_is_answered_when_the_library_has_the_data(void **state)
{
    char nspace[] = "a.1";
    BUF_AUTO struct buf ask = {0};
    struct bench b;

    bench_open(&b);
    app_modex_ask_encode(&ask, &(struct app_modex_ask){9, nspace, 2, 60});
    app_table_dispatch(&b.table, 5, APP_MODEX_ASK, ask.data, ask.len);
    assert_int_equal(b.f.replied.n, 0);
    b.done(PMIX_SUCCESS, "data", 4, b.done_arg);
    assert_int_equal(b.f.replied.n, 1);
    assert_int_equal(b.f.replied.vpid, 5);
    assert_int_equal(b.f.replied.question, 9);
    assert_int_equal(b.f.replied.status, PMIX_SUCCESS);
    bench_close(&b);
}

/* The library would wait for a job that it does not know any more. */
static void another_daemon_does_not_wait_for_a_rank_that_has_left(void **state)
{
    char nspace[] = "a.1";
    BUF_AUTO struct buf ask = {0};
    struct bench b;

    bench_open(&b);
    app_modex_ask_encode(&ask, &(struct app_modex_ask){9, nspace, 1, 60});
    app_table_dispatch(&b.table, 5, APP_MODEX_ASK, ask.data, ask.len);
    assert_null(b.done);
    assert_int_equal(b.f.replied.question, 9);
    assert_int_equal(b.f.replied.status, PMIX_ERR_NOT_FOUND);
    bench_close(&b);
}

static void a_malformed_question_is_answered_with_bad_parameters(void **state)
{
    char nspace[] = "a.1";
    BUF_AUTO struct buf ask = {0};
    struct bench b;

    bench_open(&b);
    app_modex_ask_encode(&ask, &(struct app_modex_ask){9, nspace, 2, 60});
    app_table_dispatch(&b.table, 5, APP_MODEX_ASK, ask.data, ask.len - 1);
    assert_null(b.done);
    assert_int_equal(b.f.replied.question, 9);
    assert_int_equal(b.f.replied.status, PMIX_ERR_BAD_PARAM);
    app_table_dispatch(&b.table, 5, APP_DATA_ASK, ask.data, 8);
    assert_int_equal(b.f.replied.n, 2);
    assert_int_equal(b.f.replied.status, PMIX_ERR_BAD_PARAM);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_daemon_of_the_rank_is_asked_for_its_data),
        cmocka_unit_test(a_rank_that_the_job_does_not_have_is_not_found),
        cmocka_unit_test(the_head_is_asked_for_published_data),
        cmocka_unit_test(another_daemon_is_answered_when_the_library_has_the_data),
        cmocka_unit_test(another_daemon_does_not_wait_for_a_rank_that_has_left),
        cmocka_unit_test(a_malformed_question_is_answered_with_bad_parameters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
