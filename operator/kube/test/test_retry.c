/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of repeated requests: which are repeated, when, and how often. The clock stands until a
 * test moves it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/loop/test/clock.h"
#include "operator/http/test/fake_server.h"
#include "operator/kube/kube_private.h"

#include <stdio.h>

#define TRIES 5

struct world {
    struct loop *loop;
    struct kube *kube;
    struct fake server;
    int asked;
    const char *answers[TRIES + 1]; /* one per request, the last one is repeated; "": hang up */
    int ends, status;
    char message[ERR_MSG_MAX];
};

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
#define BROKEN "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"
#define BUSY "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
#define NOT_FOUND "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
#define CUT "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}"
#define GARBAGE "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"
#define HANG "hang"

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    struct world *w = arg;
    int n = 0;

    while (n < w->asked && w->answers[n + 1])
        n++;
    w->asked++;
    if (strcmp(w->answers[n], HANG) == 0)
        return;
    if (*w->answers[n])
        fake_text(c, w->answers[n]);
    if (!*w->answers[n] || strcmp(w->answers[n], CUT) == 0)
        fake_close(c);
}

static void on_done(int status, const json_t *body, const struct err *err, void *arg)
{
    struct world *w = arg;

    w->ends++;
    w->status = status;
    snprintf(w->message, sizeof(w->message), "%s", err->msg);
}

static void setup(struct world *w)
{
    struct err err = {0};
    struct kube_config *c = xcalloc(1, sizeof(*c));

    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    fake_start(&w->server, w->loop, 0, on_request, w);
    c->server = xasprintf("http://127.0.0.1:%d", w->server.port);
    c->base = xstrdup(c->server);
    c->ns = xstrdup("hpc");
    w->kube = kube_create(w->loop, c, &err);
    assert_non_null(w->kube);
}

static void teardown(struct world *w)
{
    kube_destroy(w->kube);
    fake_stop(&w->server);
    loop_destroy(w->loop);
}

static void start(struct world *w, const struct kube_verb *v)
{
    struct err err = {0};

    assert_true(kube_request(w->kube, v, on_done, w, &err) > 0);
}

/* Turns the loop until the request pauses or has ended; the clock stays. */
static void turn_until_still(struct world *w, unsigned long retries)
{
    while (!w->ends && kube_stats(w->kube).retries < retries)
        clock_turn(w->loop);
}

static void run_to_the_end(struct world *w)
{
    for (unsigned long retries = 1; !w->ends; retries++) {
        turn_until_still(w, retries);
        if (!w->ends)
            clock_run_for(w->loop, 60000);
    }
}

static void a_request_is_repeated_until_it_succeeds(void **state)
{
    struct world w = {.answers = {BROKEN, "", CUT, GARBAGE, OK}};

    setup(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    run_to_the_end(&w);
    assert_int_equal(w.status, 200);
    assert_int_equal(w.asked, 5);
    assert_int_equal(w.ends, 1);
    assert_int_equal(kube_stats(w.kube).retries, 4);
    teardown(&w);
}

static void the_fifth_failure_is_reported(void **state)
{
    struct world w = {.answers = {BROKEN}};

    setup(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    run_to_the_end(&w);
    assert_int_equal(w.status, 500);
    assert_int_equal(w.asked, TRIES);
    assert_string_equal(w.message, "GET /x: HTTP status 500: ");
    teardown(&w);
}

static void a_refusal_is_not_repeated(void **state)
{
    struct world w = {.answers = {NOT_FOUND}};

    setup(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    run_to_the_end(&w);
    assert_int_equal(w.status, 404);
    assert_int_equal(w.asked, 1);
    teardown(&w);
}

static void a_time_that_the_server_asks_for_is_waited_for(void **state)
{
    struct world w = {.answers = {BUSY, OK}};

    setup(&w);
    start(&w, &(struct kube_verb){.method = "POST", .path = "/x"});
    turn_until_still(&w, 1);
    clock_run_for(w.loop, 7000);
    assert_int_equal(w.asked, 1);
    clock_run_for(w.loop, 200);
    while (!w.ends)
        clock_turn(w.loop);
    assert_int_equal(w.status, 200);
    assert_int_equal(w.asked, 2);
    teardown(&w);
}

static void a_post_is_not_repeated_after_a_lost_answer_unless_it_may_be(void **state)
{
    for (int repeatable = 0; repeatable < 2; repeatable++) {
        struct world w = {.answers = {"", OK}};

        setup(&w);
        start(&w,
              &(struct kube_verb){.method = "POST", .path = "/x", .repeatable = repeatable != 0});
        run_to_the_end(&w);
        assert_int_equal(w.status, repeatable ? 200 : 0);
        assert_int_equal(w.asked, repeatable ? 2 : 1);
        teardown(&w);
    }
}

static void a_server_that_hangs_is_left_after_a_second_and_later_gets_more(void **state)
{
    struct world w = {.answers = {HANG, HANG, OK}};

    setup(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    while (w.asked < 1)
        clock_turn(w.loop);
    clock_run_for(w.loop, 1100);
    turn_until_still(&w, 1);
    clock_run_for(w.loop, 300);
    while (w.asked < 2)
        clock_turn(w.loop);
    clock_run_for(w.loop, 1500);
    assert_int_equal(kube_stats(w.kube).retries, 1);
    clock_run_for(w.loop, 600);
    run_to_the_end(&w);
    assert_int_equal(w.status, 200);
    teardown(&w);
}

static void a_request_that_pauses_may_be_cancelled_and_delays_no_other(void **state)
{
    struct world w = {.answers = {BUSY, OK}};
    struct err err = {0};

    setup(&w);
    struct kube_verb v = {.method = "GET", .path = "/x"};
    unsigned long id = kube_request(w.kube, &v, on_done, &w, &err);
    turn_until_still(&w, 1);
    assert_int_equal(kube_stats(w.kube).running, 0);
    start(&w, &v);
    while (!w.ends)
        clock_turn(w.loop);
    assert_int_equal(w.status, 200);
    kube_cancel(w.kube, id);
    clock_run_for(w.loop, 60000);
    assert_int_equal(w.ends, 1);
    assert_int_equal(w.asked, 2);
    teardown(&w);
}

static void pauses_grow_and_are_bounded(void **state)
{
    for (unsigned n = 1; n < 40; n++) {
        struct kube_try t = {.number = n < TRIES ? n : TRIES, .repeatable = true};
        uint64_t least = kube_retry_pause_ms(&t, 0, 0);

        assert_in_range(least, 50, 1000);
        assert_in_range(kube_retry_pause_ms(&t, 0, n * 7919), least, 2 * least);
        assert_in_range(kube_retry_pause_ms(&t, 999999999, 0), 30000, 32000);
        assert_true(kube_retry_timeout_ms(&t, 30000) <= 30000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_repeated_until_it_succeeds),
        cmocka_unit_test(the_fifth_failure_is_reported),
        cmocka_unit_test(a_refusal_is_not_repeated),
        cmocka_unit_test(a_time_that_the_server_asks_for_is_waited_for),
        cmocka_unit_test(a_post_is_not_repeated_after_a_lost_answer_unless_it_may_be),
        cmocka_unit_test(a_server_that_hangs_is_left_after_a_second_and_later_gets_more),
        cmocka_unit_test(a_request_that_pauses_may_be_cancelled_and_delays_no_other),
        cmocka_unit_test(pauses_grow_and_are_bounded),
    };

    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
