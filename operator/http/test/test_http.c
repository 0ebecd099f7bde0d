/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the HTTP client against a server that misbehaves on purpose. */
#include "operator/http/test/world.h"

#include <time.h>

#define BURST 64
#define IDLE_MAX 16 /* as in http.c */

static void serve_close(struct fake_conn *c, const char *method, const char *target,
                        const char *head, const char *body, void *arg)
{
    fake_close(c);
}

static void serve_garbage(struct fake_conn *c, const char *method, const char *target,
                          const char *head, const char *body, void *arg)
{
    fake_text(c, "SSH-2.0-something\r\n\r\n");
}

static void serve_short(struct fake_conn *c, const char *method, const char *target,
                        const char *head, const char *body, void *arg)
{
    fake_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\"");
    fake_close(c);
}

static void serve_long(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    char text[1002];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    fake_reply(c, 200, text);
}

/* --- tests */

static void a_refused_connection_is_an_end_without_status(void **state)
{
    struct world w;

    setup(&w, serve_ok);
    fake_stop(&w.server);
    struct http_call_opts o = options(&w);
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_int_equal(w.ends, 1);
    assert_non_null(strstr(w.why, "connect"));
    teardown(&w);
}

static void a_server_that_hangs_up_is_an_end_without_status(void **state)
{
    fake_fn *const servers[] = {serve_close, serve_garbage, serve_short};

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct world w;

        setup(&w, servers[i]);
        struct http_call_opts o = options(&w);
        start(&w, &o);
        run(&w);
        assert_int_equal(w.status, 0);
        assert_true(strlen(w.why) > 0);
        teardown(&w);
    }
}

static void an_answer_over_the_limit_is_not_kept(void **state)
{
    struct world w;

    setup(&w, serve_long);
    struct http_call_opts o = options(&w);
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.why, "the answer is longer than 1000 bytes");
    teardown(&w);
}

static void a_silent_server_times_out(void **state)
{
    struct world w;

    setup(&w, serve_nothing);
    struct http_call_opts o = options(&w);
    o.timeout_ms = 50;
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.why, "no answer within 50 ms");
    teardown(&w);
}

static void a_bad_address_is_an_end_without_status(void **state)
{
    struct world w;

    setup(&w, serve_ok);
    snprintf(w.url, sizeof(w.url), "ftp://127.0.0.1/");
    struct http_call_opts o = options(&w);
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 0);
    teardown(&w);
}

static void an_answer_is_reported_whole_with_its_status(void **state)
{
    static const char *const headers[] = {"X-One: 1", "Content-Type: application/json", NULL};
    struct world w;

    setup(&w, serve_ok);
    struct http_call_opts o = options(&w);
    o.method = "PATCH";
    o.headers = headers;
    o.body = "{\"b\": 2}";
    o.body_len = 8;
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 200);
    assert_string_equal(w.body, "{\"a\": 1}");
    assert_string_equal(w.method, "PATCH");
    assert_string_equal(w.request_body, "{\"b\": 2}");
    assert_non_null(strstr(w.head, "X-One: 1"));
    assert_non_null(strstr(w.head, "Content-Type: application/json"));
    assert_null(strstr(w.head, "Expect"));
    teardown(&w);
}

static void a_put_without_a_body_has_length_zero(void **state)
{
    struct world w;

    setup(&w, serve_ok);
    struct http_call_opts o = options(&w);
    o.method = "PUT";
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 200);
    assert_string_equal(w.method, "PUT");
    assert_non_null(strstr(w.head, "Content-Length: 0"));
    assert_null(strstr(w.head, "Content-Type"));
    teardown(&w);
}

static void a_second_call_reuses_the_connection(void **state)
{
    struct world w;

    setup(&w, serve_ok);
    for (int i = 0; i < 2; i++) {
        struct http_call_opts o = options(&w);

        w.ends = 0;
        start(&w, &o);
        run(&w);
        assert_int_equal(w.status, 200);
    }
    assert_int_equal(w.server.accepted, 1);
    teardown(&w);
}

static void a_connection_may_go_to_another_address_than_the_url(void **state)
{
    struct world w;
    char connect[64];

    setup(&w, serve_ok);
    snprintf(connect, sizeof(connect), "127.0.0.1:%d", w.server.port);
    snprintf(w.url, sizeof(w.url), "http://x-head.ns.svc:7443/");
    struct http_peer peer = {.connect = connect};
    struct http_call_opts o = options(&w);
    o.peer = &peer;
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 200);
    assert_non_null(strstr(w.head, "Host: x-head.ns.svc:7443"));
    teardown(&w);
}

static void start_another(struct world *w)
{
    struct err err = {0};
    struct http_call_opts o = options(w);

    if (w->ends == 1)
        w->call = http_start(w->http, &o, &err);
}

static void a_new_call_may_be_started_in_a_callback(void **state)
{
    struct world w;

    setup(&w, serve_ok);
    struct http_call_opts o = options(&w);
    w.on_end_do = start_another;
    start(&w, &o);
    run(&w);
    assert_int_equal(w.ends, 1);
    run(&w);
    assert_int_equal(w.ends, 2);
    assert_int_equal(w.status, 200);
    teardown(&w);
}

static void serve_after_all(struct fake_conn *c, const char *method, const char *target,
                            const char *head, const char *body, void *arg)
{
    struct world *w = arg;
    struct fake_conn *each;

    if (w->server.accepted < BURST)
        return;
    DL_FOREACH(w->server.conns, each)
    {
        fake_reply(each, 200, "{}");
    }
}

static void stop_when_few(struct fake_conn *c)
{
    struct world *w = c->fake->arg;
    struct fake_conn *each;
    int n;

    DL_COUNT(w->server.conns, each, n);
    if (n - 1 <= IDLE_MAX)
        loop_stop(w->loop);
}

static void on_end_of_many(const struct http_answer *a, void *arg)
{
    struct world *w = arg;

    assert_int_equal(a->status, 200);
    w->ends++;
}

/* Otherwise each of many heads keeps a connection after a burst of requests. */
static void a_burst_of_calls_to_many_servers_leaves_few_connections(void **state)
{
    const struct http_peer peer = {.one_of_many = true};
    struct world w;

    setup(&w, serve_after_all);
    w.server.on_drop = stop_when_few;
    struct http_call_opts o = options(&w);
    o.peer = &peer;
    o.on_end = on_end_of_many;
    for (int i = 0; i < BURST; i++)
        start(&w, &o);
    run(&w);
    assert_int_equal(w.ends, BURST);
    w.server.on_drop = NULL;
    teardown(&w);
}

static void reserved_characters_are_escaped(void **state)
{
    FREE_AUTO char *text = http_escape("a=b,c in (d&e)/\xc3\xbc-._~");

    assert_string_equal(text, "a%3Db%2Cc%20in%20%28d%26e%29%2F%C3%BC-._~");
}

struct turns {
    int asked, open; /* the gate is open for the first `open` questions */
};

static bool gate_for_turns(void *arg)
{
    struct turns *t = arg;

    return t->asked++ < t->open;
}

/* As after a stop of the process between the start of a call and the end of its handshake. */
static void a_gate_that_closes_while_a_call_connects_lets_no_byte_out(void **state)
{
    struct world w;
    struct err err = {0};
    struct turns t = {.open = 1};
    struct http_gate gate = {.is_open = gate_for_turns, .arg = &t};

    setup(&w, serve_ok);
    struct http_call_opts o = options(&w);
    o.gate = &gate;
    w.call = http_start(w.http, &o, &err);
    assert_non_null(w.call);
    run(&w);
    assert_int_equal(t.asked, 2);
    assert_int_equal(w.status, 0);
    assert_non_null(strstr(w.why, "does not lead"));
    assert_string_equal(w.method, "");
    assert_null(http_start(w.http, &o, &err));
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_connection_is_an_end_without_status),
        cmocka_unit_test(a_server_that_hangs_up_is_an_end_without_status),
        cmocka_unit_test(an_answer_over_the_limit_is_not_kept),
        cmocka_unit_test(a_silent_server_times_out),
        cmocka_unit_test(a_bad_address_is_an_end_without_status),
        cmocka_unit_test(an_answer_is_reported_whole_with_its_status),
        cmocka_unit_test(a_put_without_a_body_has_length_zero),
        cmocka_unit_test(a_second_call_reuses_the_connection),
        cmocka_unit_test(a_connection_may_go_to_another_address_than_the_url),
        cmocka_unit_test(a_new_call_may_be_started_in_a_callback),
        cmocka_unit_test(reserved_characters_are_escaped),
        cmocka_unit_test(a_burst_of_calls_to_many_servers_leaves_few_connections),
        cmocka_unit_test(a_gate_that_closes_while_a_call_connects_lets_no_byte_out),
    };

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
