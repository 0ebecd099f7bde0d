/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders to signal ranks: one answer each, after the last target. */
#include "dvm/host/services/control.h"
#include "dvm/host/services/test/fake.h"

#include <pmix_common.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define REQ 77

/* The head's edition. */
static uint8_t head_speaks = 1;

bool core_head_speaks(const struct core *c, uint8_t n)
{
    return head_speaks >= n;
}

enum job_control core_job_control(const struct core *c, uint32_t from, const char *asker,
                                  const char *target)
{
    fail();
    return JOB_CONTROL_UNKNOWN;
}

struct bench {
    struct fake f;
    struct control *control;
    char written[64];
};

static void signal_rank(const char *nspace, uint32_t rank, int signum, void *arg)
{
    fail();
}

static void write_output(const char *nspace, uint32_t rank, int stream, const void *data,
                         size_t len, void *arg)
{
    struct bench *b = arg;

    assert_true(len < sizeof(b->written));
    memcpy(b->written, data, len);
}

static void bench_open(struct bench *b)
{
    struct control_io io = {.signal_rank = signal_rank, .write_output = write_output, .arg = b};

    memset(b, 0, sizeof(*b));
    fake_open(&b->f);
    b->control = control_create(&b->f.env, NULL, fake_pmix(&b->f), &b->f.ask, &b->f.jobs, &io);
}

static void bench_close(struct bench *b)
{
    control_destroy(b->control);
    fake_close(&b->f);
}

static void answer_question(struct bench *b, size_t i, int status)
{
    b->f.questions[i].answered(status, NULL, 0, b->f.questions[i].asker);
}

static void an_order_for_two_ranks_is_answered_when_both_daemons_have_answered(void **state)
{
    static const struct pmix_srv_proc procs[] = {{"a.1", 1}, {"a.1", 2}};
    struct bench b;

    bench_open(&b);
    control_signal(b.control, REQ, "a.1", procs, 2, SIGUSR1);
    assert_int_equal(b.f.n, 2);
    assert_int_equal(b.f.questions[0].vpid, 3);
    assert_int_equal(b.f.questions[1].vpid, 4);
    assert_int_equal(b.f.questions[1].kind, APP_SIGNAL_ASK);
    answer_question(&b, 1, PMIX_ERR_LOST_CONNECTION);
    assert_int_equal(b.f.answered.n, 0);
    answer_question(&b, 0, PMIX_SUCCESS);
    assert_int_equal(b.f.answered.n, 1);
    assert_int_equal(b.f.answered.req, REQ);
    assert_int_equal(b.f.answered.status, PMIX_ERR_LOST_CONNECTION);
    bench_close(&b);
}

static void no_rank_is_signalled_if_a_job_is_unknown(void **state)
{
    static const struct pmix_srv_proc procs[] = {{"a.1", 1}, {"a.9", 0}};
    struct bench b;

    bench_open(&b);
    b.f.learnt = false;
    control_signal(b.control, REQ, "a.1", procs, 2, SIGUSR1);
    assert_int_equal(b.f.n, 1); /* whether a.9 may be controlled */
    answer_question(&b, 0, PMIX_SUCCESS);
    assert_int_equal(b.f.n, 1);
    assert_int_equal(b.f.answered.n, 1);
    assert_int_equal(b.f.answered.status, PMIX_ERR_NOT_FOUND);
    bench_close(&b);
}

static void no_rank_is_signalled_if_the_head_refuses_one_of_the_jobs(void **state)
{
    static const struct pmix_srv_proc procs[] = {{"a.1", 1}, {"b.1", 0}, {"b.1", 1}, {"c.1", 0}};
    struct bench b;

    bench_open(&b);
    control_signal(b.control, REQ, "a.1", procs, 4, SIGUSR1);
    assert_int_equal(b.f.n, 2); /* its own job is not asked for, and others once */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(b.f.questions[i].vpid, 0);
        assert_int_equal(b.f.questions[i].kind, APP_CONTROL_ASK);
    }
    answer_question(&b, 1, PMIX_ERR_NO_PERMISSIONS);
    assert_int_equal(b.f.answered.n, 0);
    answer_question(&b, 0, PMIX_SUCCESS);
    assert_int_equal(b.f.n, 2);
    assert_int_equal(b.f.answered.n, 1);
    assert_int_equal(b.f.answered.status, PMIX_ERR_NO_PERMISSIONS);
    bench_close(&b);
}

static void a_head_that_does_not_know_the_question_is_not_asked(void **state)
{
    static const struct pmix_srv_proc proc = {"a.1", 1};
    struct bench b;

    bench_open(&b);
    head_speaks = 0;
    control_signal(b.control, REQ, "b.1", &proc, 1, SIGUSR1);
    head_speaks = 1;
    assert_int_equal(b.f.n, 1);
    assert_int_equal(b.f.questions[0].kind, APP_SIGNAL_ASK);
    answer_question(&b, 0, PMIX_SUCCESS);
    assert_int_equal(b.f.answered.status, PMIX_SUCCESS);
    bench_close(&b);
}

static void a_rank_that_the_job_does_not_have_is_not_found(void **state)
{
    static const struct pmix_srv_proc proc = {"a.1", 3};
    struct bench b;

    bench_open(&b);
    control_signal(b.control, REQ, "a.1", &proc, 1, SIGUSR1);
    assert_int_equal(b.f.n, 0);
    assert_int_equal(b.f.answered.n, 1);
    assert_int_equal(b.f.answered.status, PMIX_ERR_NOT_FOUND);
    bench_close(&b);
}

static void a_text_for_a_stream_is_output_of_the_rank(void **state)
{
    struct bench b;

    bench_open(&b);
    control_log(b.control, REQ, "a.1", 0, 0, "for the log");
    assert_string_equal(b.written, "");
    control_log(b.control, REQ, "a.1", 0, 1, "a line\n");
    assert_string_equal(b.written, "a line\n");
    assert_int_equal(b.f.answered.n, 2);
    assert_int_equal(b.f.answered.status, PMIX_SUCCESS);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_for_two_ranks_is_answered_when_both_daemons_have_answered),
        cmocka_unit_test(no_rank_is_signalled_if_a_job_is_unknown),
        cmocka_unit_test(no_rank_is_signalled_if_the_head_refuses_one_of_the_jobs),
        cmocka_unit_test(a_head_that_does_not_know_the_question_is_not_asked),
        cmocka_unit_test(a_rank_that_the_job_does_not_have_is_not_found),
        cmocka_unit_test(a_text_for_a_stream_is_output_of_the_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
