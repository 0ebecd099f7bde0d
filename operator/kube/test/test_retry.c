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

#define TRIES 6
#define ANSWERS 12

struct world {
    struct loop *loop;
    struct kube *kube;
    struct fake server;
    int asked;
    const char *answers[ANSWERS]; /* one per request, the last one is repeated; "": hang up */
    char methods[128];            /* of the requests, each with a blank */
    struct fake_conn *held[ANSWERS];
    int ends, status;
    const char *word; /* of the answer */
    char message[ERR_MSG_MAX];
};

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
#define BROKEN "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"
#define BUSY "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
#define NOT_FOUND "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
#define CUT "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}"
#define GARBAGE "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"
#define HANG "hang"
#define CONFLICT "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"
/* An object that holds what put_versioned() writes, and one that does not. */
#define HELD                                                                                       \
    "HTTP/1.1 200 OK\r\nContent-Length: "                                                          \
    "38\r\n\r\n{\"metadata\":{\"name\":\"x\"},\"spec\":\"new\"}"
#define OLD                                                                                        \
    "HTTP/1.1 200 OK\r\nContent-Length: "                                                          \
    "38\r\n\r\n{\"metadata\":{\"name\":\"x\"},\"spec\":\"old\"}"

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    struct world *w = arg;
    int n = 0;

    while (n < w->asked && w->answers[n + 1])
        n++;
    size_t used = strlen(w->methods);
    snprintf(w->methods + used, sizeof(w->methods) - used, "%s ", method);
    w->held[w->asked < ANSWERS ? w->asked : ANSWERS - 1] = c;
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
    w->word = json_string_value(json_object_get(body, "spec")) ? "object" : "";
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

/* Moves the clock in steps in which the server has time to answer, until the request has ended. */
static void run_to_the_end(struct world *w)
{
    for (int step = 0; step < 2000 && !w->ends; step++) {
        clock_run_for(w->loop, 100);
        for (int i = 0; i < 20; i++)
            clock_turn(w->loop);
    }
    assert_int_equal(w->ends, 1);
}

static void a_request_is_repeated_until_it_succeeds(void **state)
{
    struct world w = {.answers = {"", BROKEN, CUT, GARBAGE, OK}};

    setup(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    run_to_the_end(&w);
    assert_int_equal(w.status, 200);
    assert_int_equal(w.asked, 5);
    assert_int_equal(w.ends, 1);
    assert_int_equal(kube_stats(w.kube).retries, 4);
    teardown(&w);
}

static void the_sixth_failure_is_reported(void **state)
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

/* After one answer, which took no time, the limit is one second. */
static void know_pace(struct world *w)
{
    start(w, &(struct kube_verb){.method = "GET", .path = "/first"});
    while (!w->ends)
        clock_turn(w->loop);
    w->ends = 0;
    w->methods[0] = '\0';
    assert_int_equal(w->asked, 1);
}

static void turn_until_asked(struct world *w, int asked)
{
    while (w->asked < asked)
        clock_turn(w->loop);
}

static void turn_until_ended(struct world *w)
{
    while (!w->ends)
        clock_turn(w->loop);
}

/* The answer of the server to its `n`th request, from 0. */
static void answer_late(struct world *w, int n, const char *text)
{
    fake_text(w->held[n], text);
}

static void a_request_that_hangs_is_repeated_after_a_second(void **state)
{
    struct world w = {.answers = {OK, HANG, OK}};

    setup(&w);
    know_pace(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    turn_until_asked(&w, 2);
    clock_run_for(w.loop, 999);
    assert_int_equal(kube_stats(w.kube).retries, 0);
    clock_run_for(w.loop, 1);
    turn_until_ended(&w);
    assert_int_equal(w.status, 200);
    assert_int_equal(w.asked, 3);
    teardown(&w);
}

static void the_first_answer_counts_also_if_it_is_that_of_an_earlier_try(void **state)
{
    struct world w = {.answers = {OK, HANG, HANG}};

    setup(&w);
    know_pace(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    turn_until_asked(&w, 2);
    clock_run_for(w.loop, 1000);
    turn_until_asked(&w, 3);
    answer_late(&w, 1, OK);
    turn_until_ended(&w);
    assert_int_equal(w.status, 200);
    clock_run_for(w.loop, 60000);
    assert_int_equal(w.asked, 3);
    assert_int_equal(w.ends, 1);
    teardown(&w);
}

static void the_failure_of_an_earlier_try_does_not_end_a_later_one(void **state)
{
    struct world w = {.answers = {OK, HANG, HANG}};

    setup(&w);
    know_pace(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    turn_until_asked(&w, 2);
    clock_run_for(w.loop, 1000);
    turn_until_asked(&w, 3);
    answer_late(&w, 1, BROKEN);
    while (kube_stats(w.kube).failed < 1)
        clock_turn(w.loop);
    answer_late(&w, 2, OK);
    turn_until_ended(&w);
    assert_int_equal(w.status, 200);
    assert_int_equal(w.asked, 3);
    teardown(&w);
}

static void a_server_that_has_become_slow_is_asked_again_once_and_then_waited_for(void **state)
{
    struct world w = {.answers = {OK, HANG}};

    setup(&w);
    know_pace(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    turn_until_asked(&w, 2);
    clock_run_for(w.loop, 1000);
    turn_until_asked(&w, 3);
    clock_run_for(w.loop, 900);
    answer_late(&w, 1, OK);
    turn_until_ended(&w);
    for (int i = 0; i < 4; i++) {
        w.ends = 0;
        start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
        turn_until_asked(&w, 4 + i);
        clock_run_for(w.loop, 2500);
        answer_late(&w, 3 + i, OK);
        turn_until_ended(&w);
    }
    assert_int_equal(w.asked, 7);
    teardown(&w);
}

static void requests_under_way_wait_longer_when_an_answer_shows_a_slow_server(void **state)
{
    struct world w = {.answers = {OK, HANG}};

    setup(&w);
    know_pace(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    start(&w, &(struct kube_verb){.method = "GET", .path = "/y"});
    turn_until_asked(&w, 3);
    clock_run_for(w.loop, 990);
    answer_late(&w, 1, OK);
    turn_until_ended(&w);
    clock_run_for(w.loop, 900);
    assert_int_equal(w.asked, 3);
    answer_late(&w, 2, OK);
    w.ends = 0;
    turn_until_ended(&w);
    teardown(&w);
}

static void a_server_that_never_answers_gets_six_tries(void **state)
{
    struct world w = {.answers = {OK, HANG}};

    setup(&w);
    know_pace(&w);
    start(&w, &(struct kube_verb){.method = "GET", .path = "/x"});
    run_to_the_end(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.message, "GET /x: no answer within 30000 ms");
    assert_string_equal(w.methods, "GET GET GET GET GET GET ");
    teardown(&w);
}

static void put_versioned(struct world *w, const char *method, const char *path)
{
    json_t *body = json_pack("{s:{s:s, s:s}, s:s}", "metadata", "name", "x", "resourceVersion", "7",
                             "spec", "new");

    know_pace(w);
    start(w, &(struct kube_verb){.method = method, .path = path, .body = body, .repeatable = true});
    json_decref(body);
}

/* The write has no answer; what follows has answers. */
static void a_write_without_an_answer_is_looked_up_before_it_is_repeated(void **state)
{
    static const struct {
        const char *method, *path, *answers[4], *methods;
        int status;
    } cases[] = {
        {"PUT", "/x", {OK, HANG, HELD}, "PUT GET ", 200},
        {"PUT", "/x", {OK, CUT, HELD}, "PUT GET ", 200},
        {"PUT", "/x", {OK, HANG, OLD, OK}, "PUT GET PUT ", 200},
        {"PUT", "/x", {OK, HANG, NOT_FOUND, CONFLICT}, "PUT GET PUT ", 409},
        {"PUT", "/x", {OK, HANG, BROKEN, OK}, "PUT GET PUT ", 200},
        {"PUT", "/x", {OK, HANG, HANG, OK}, "PUT GET PUT ", 200},
        {"PUT", "/x", {OK, BROKEN, OK}, "PUT PUT ", 200},
        {"POST", "/all", {OK, HANG, HELD}, "POST GET ", 201},
        {"POST", "/all?dryRun=All", {OK, HANG, OK}, "POST POST ", 200},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w = {0};

        memcpy(w.answers, cases[i].answers, sizeof(cases[i].answers));
        setup(&w);
        put_versioned(&w, cases[i].method, cases[i].path);
        run_to_the_end(&w);
        assert_string_equal(w.methods, cases[i].methods);
        assert_int_equal(w.status, cases[i].status);
        assert_int_equal(w.word && *w.word, strcmp(w.answers[2], HELD) == 0);
        teardown(&w);
    }
}

static void a_write_that_never_has_an_answer_has_six_tries_and_five_readings(void **state)
{
    struct world w = {.answers = {OK, HANG}};

    setup(&w);
    put_versioned(&w, "PUT", "/x");
    run_to_the_end(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.methods, "PUT GET PUT GET PUT GET PUT GET PUT GET PUT ");
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
    }
}

static void the_limit_follows_the_answers(void **state)
{
    struct kube_pace p = {0};

    assert_int_equal(kube_pace_limit_ms(&p), 4000);
    kube_pace_note(&p, 5);
    assert_int_equal(kube_pace_limit_ms(&p), 1000);
    kube_pace_note(&p, 3000); /* after its limit */
    assert_int_equal(kube_pace_limit_ms(&p), 12000);
    kube_pace_note(&p, 5000);
    assert_int_equal(kube_pace_limit_ms(&p), 16000);
    for (int i = 0; i < 50; i++)
        kube_pace_note(&p, 1500);
    assert_in_range(kube_pace_limit_ms(&p), 5900, 6100);
    for (int i = 0; i < 50; i++)
        kube_pace_note(&p, 60000);
    assert_int_equal(kube_pace_limit_ms(&p), 30000);
    for (int i = 0; i < 50; i++)
        kube_pace_note(&p, 0);
    assert_int_equal(kube_pace_limit_ms(&p), 1000);
}

static void the_limit_is_doubled_from_the_fourth_try_on_and_for_readings(void **state)
{
    static const uint64_t limits_ms[] = {1000, 1000, 1000, 2000, 4000, 8000};
    struct kube_pace p = {.measured = true}, slow = {.measured = true, .smoothed_ms = 6000};

    for (unsigned n = 1; n <= TRIES; n++) {
        struct kube_try t = {.number = n};

        assert_int_equal(kube_retry_limit_ms(&t, false, &p), limits_ms[n - 1]);
        assert_int_equal(kube_retry_limit_ms(&t, true, &p), 2000);
        assert_int_equal(kube_retry_limit_ms(&t, false, &slow), n < 4 ? 24000 : 30000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_repeated_until_it_succeeds),
        cmocka_unit_test(the_sixth_failure_is_reported),
        cmocka_unit_test(a_refusal_is_not_repeated),
        cmocka_unit_test(a_time_that_the_server_asks_for_is_waited_for),
        cmocka_unit_test(a_post_is_not_repeated_after_a_lost_answer_unless_it_may_be),
        cmocka_unit_test(a_request_that_hangs_is_repeated_after_a_second),
        cmocka_unit_test(the_first_answer_counts_also_if_it_is_that_of_an_earlier_try),
        cmocka_unit_test(the_failure_of_an_earlier_try_does_not_end_a_later_one),
        cmocka_unit_test(a_server_that_has_become_slow_is_asked_again_once_and_then_waited_for),
        cmocka_unit_test(requests_under_way_wait_longer_when_an_answer_shows_a_slow_server),
        cmocka_unit_test(a_server_that_never_answers_gets_six_tries),
        cmocka_unit_test(a_write_without_an_answer_is_looked_up_before_it_is_repeated),
        cmocka_unit_test(a_write_that_never_has_an_answer_has_six_tries_and_five_readings),
        cmocka_unit_test(the_limit_follows_the_answers),
        cmocka_unit_test(the_limit_is_doubled_from_the_fourth_try_on_and_for_readings),
        cmocka_unit_test(a_request_that_pauses_may_be_cancelled_and_delays_no_other),
        cmocka_unit_test(pauses_grow_and_are_bounded),
    };

    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
