/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the HTTP client against a server that misbehaves on purpose. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "operator/http/http.h"
#include "operator/http/test/fake_server.h"

#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define GUARD_MS 20000

struct world {
    struct loop *loop;
    struct http *http;
    struct fake server;
    struct loop_timer *guard;
    struct http_call *call;
    char url[256];
    /* what the callbacks have reported */
    int status, ends, opens, lines;
    unsigned stop_after_lines;
    char body[4096];
    char why[512];
    char head[4096], request_body[4096], method[16];
    void (*on_line_do)(struct world *w);
    void (*on_end_do)(struct world *w);
};

static void on_guard(void *arg)
{
    fail_msg("nothing happened for %d ms", GUARD_MS);
}

static void run(struct world *w)
{
    struct err err = {0};

    loop_timer_arm(w->guard, GUARD_MS);
    assert_int_equal(loop_run(w->loop, &err), 0);
    loop_timer_disarm(w->guard);
}

static void on_open(void *arg)
{
    struct world *w = arg;

    w->opens++;
}

static void on_line(char *line, size_t len, void *arg)
{
    struct world *w = arg;

    assert_int_equal(strlen(line), len);
    w->lines++;
    size_t used = strlen(w->body);
    snprintf(w->body + used, sizeof(w->body) - used, "%s|", line);
    if (w->on_line_do)
        w->on_line_do(w);
}

static void on_end(const struct http_answer *a, void *arg)
{
    struct world *w = arg;

    w->ends++;
    w->status = a->status;
    snprintf(w->why, sizeof(w->why), "%s", a->why);
    if (a->len > 0 && a->len < sizeof(w->body)) {
        memcpy(w->body, a->body, a->len);
        w->body[a->len] = '\0';
    }
    w->call = NULL;
    if (w->on_end_do)
        w->on_end_do(w);
    loop_stop(w->loop);
}

static void setup(struct world *w, fake_fn *on_request)
{
    struct err err = {0};

    *w = (struct world){.status = -1};
    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    w->http = http_create(w->loop, &err);
    assert_non_null(w->http);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    fake_start(&w->server, w->loop, 0, on_request, w);
    snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%d/path?q=1", w->server.port);
}

static void teardown(struct world *w)
{
    http_destroy(w->http);
    fake_stop(&w->server);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
}

static struct http_call_opts options(struct world *w)
{
    static const struct http_peer peer = {0};

    return (struct http_call_opts){.method = "GET",
                                   .url = w->url,
                                   .peer = &peer,
                                   .max_body = 1000,
                                   .timeout_ms = 10000,
                                   .on_end = on_end,
                                   .arg = w};
}

static void start(struct world *w, const struct http_call_opts *o)
{
    struct err err = {0};

    w->call = http_start(w->http, o, &err);
    assert_non_null(w->call);
    assert_int_equal(w->ends, 0);
}

static void start_stream(struct world *w, struct http_call_opts o)
{
    o.on_line = on_line;
    o.on_open = on_open;
    start(w, &o);
}

/* --- servers */

static void serve_ok(struct fake_conn *c, const char *method, const char *target, const char *head,
                     const char *body, void *arg)
{
    struct world *w = arg;

    snprintf(w->method, sizeof(w->method), "%s", method);
    snprintf(w->head, sizeof(w->head), "%s", head);
    snprintf(w->request_body, sizeof(w->request_body), "%s", body);
    fake_reply(c, 200, "{\"a\": 1}");
}

static void serve_nothing(struct fake_conn *c, const char *method, const char *target,
                          const char *head, const char *body, void *arg)
{
}

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

static void serve_410(struct fake_conn *c, const char *method, const char *target, const char *head,
                      const char *body, void *arg)
{
    fake_reply(c, 410, "{\"gone\": true}");
}

static void serve_lines(struct fake_conn *c, const char *method, const char *target,
                        const char *head, const char *body, void *arg)
{
    fake_stream(c);
    fake_chunk(c, "one\ntw");
    fake_chunk(c, "o\n\nthree\r\n");
    fake_stream_end(c);
}

static void serve_half_line(struct fake_conn *c, const char *method, const char *target,
                            const char *head, const char *body, void *arg)
{
    fake_stream(c);
    fake_chunk(c, "one\ntw");
    fake_stream_end(c);
}

static void serve_broken_stream(struct fake_conn *c, const char *method, const char *target,
                                const char *head, const char *body, void *arg)
{
    fake_stream(c);
    fake_chunk(c, "one\n");
    fake_close(c);
}

static void serve_endless_line(struct fake_conn *c, const char *method, const char *target,
                               const char *head, const char *body, void *arg)
{
    FREE_AUTO char *text = xmalloc((8u << 20) + 1);

    memset(text, 'x', 8u << 20);
    text[8u << 20] = '\0';
    fake_stream(c);
    fake_chunk(c, text);
}

static void serve_one_line_then_silence(struct fake_conn *c, const char *method, const char *target,
                                        const char *head, const char *body, void *arg)
{
    fake_stream(c);
    fake_chunk(c, "one\n");
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

static void a_stream_that_is_refused_has_an_answer_like_any_other(void **state)
{
    struct world w;

    setup(&w, serve_410);
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.status, 410);
    assert_int_equal(w.opens, 0);
    assert_int_equal(w.lines, 0);
    assert_string_equal(w.body, "{\"gone\": true}");
    teardown(&w);
}

static void a_stream_is_reported_line_by_line(void **state)
{
    struct world w;

    setup(&w, serve_lines);
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.opens, 1);
    assert_int_equal(w.lines, 4);
    assert_string_equal(w.body, "one|two||three|");
    assert_int_equal(w.status, 200);
    teardown(&w);
}

static void a_stream_that_ends_within_a_line_is_broken(void **state)
{
    fake_fn *const servers[] = {serve_half_line, serve_broken_stream};

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct world w;

        setup(&w, servers[i]);
        start_stream(&w, options(&w));
        run(&w);
        assert_string_equal(w.body, "one|");
        assert_int_equal(w.status, 0);
        assert_int_equal(w.ends, 1);
        teardown(&w);
    }
}

static void a_line_over_the_limit_ends_the_stream(void **state)
{
    struct world w;

    setup(&w, serve_endless_line);
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.lines, 0);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.why, "a line is longer than 1000 bytes");
    teardown(&w);
}

static void a_stream_without_headers_times_out(void **state)
{
    struct world w;

    setup(&w, serve_nothing);
    struct http_call_opts o = options(&w);
    o.timeout_ms = 50;
    start_stream(&w, o);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_int_equal(w.opens, 0);
    teardown(&w);
}

static void a_stream_that_falls_silent_is_ended(void **state)
{
    struct world w;

    setup(&w, serve_one_line_then_silence);
    struct http_call_opts o = options(&w);
    o.silence_ms = 50;
    start_stream(&w, o);
    run(&w);
    assert_int_equal(w.lines, 1);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.why, "no byte arrived for 50 ms");
    teardown(&w);
}

static void cancel_here(struct world *w)
{
    http_cancel(w->call);
    w->call = NULL;
    loop_stop(w->loop);
}

static void a_stream_cancelled_in_its_own_callback_calls_no_other(void **state)
{
    struct world w;

    setup(&w, serve_lines);
    w.on_line_do = cancel_here;
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.lines, 1);
    assert_int_equal(w.ends, 0);
    teardown(&w);
}

static void destroy_here(struct world *w)
{
    http_destroy(w->http);
    w->http = NULL;
    w->call = NULL;
    loop_stop(w->loop);
}

static void the_client_may_be_destroyed_in_any_callback(void **state)
{
    struct world w;

    setup(&w, serve_lines);
    w.on_line_do = destroy_here;
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.lines, 1);
    assert_int_equal(w.ends, 0);
    teardown(&w);

    setup(&w, serve_ok);
    w.on_end_do = destroy_here;
    struct http_call_opts o = options(&w);
    start(&w, &o);
    start(&w, &o);
    run(&w);
    assert_int_equal(w.ends, 1);
    teardown(&w);

    setup(&w, serve_nothing);
    w.on_end_do = destroy_here;
    o = options(&w);
    o.timeout_ms = 20;
    start(&w, &o);
    run(&w);
    assert_int_equal(w.ends, 1);
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

static void destroying_the_client_ends_calls_without_callbacks(void **state)
{
    struct world w;

    setup(&w, serve_nothing);
    struct http_call_opts o = options(&w);
    start(&w, &o);
    start_stream(&w, options(&w));
    teardown(&w);
    assert_int_equal(w.ends, 0);
}

/* A resolver that takes as long as the test wants. */
static pthread_mutex_t resolver_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t resolver_go = PTHREAD_COND_INITIALIZER;
static bool resolver_held, resolver_inside, resolver_left;

int getaddrinfo(const char *__name, const char *__service, const struct addrinfo *__req,
                struct addrinfo **__pai)
{
    pthread_mutex_lock(&resolver_lock);
    resolver_inside = true;
    pthread_cond_broadcast(&resolver_go);
    while (resolver_held)
        pthread_cond_wait(&resolver_go, &resolver_lock);
    resolver_left = true;
    pthread_cond_broadcast(&resolver_go);
    pthread_mutex_unlock(&resolver_lock);
    return EAI_NONAME;
}

static void a_slow_name_resolution_delays_no_other_call(void **state)
{
    struct world w;

    setup(&w, serve_ok);
    resolver_held = true;
    snprintf(w.url, sizeof(w.url), "http://slow.invalid/");
    struct http_call_opts o = options(&w);
    o.timeout_ms = 100;
    start(&w, &o);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.why, "no answer within 100 ms");
    pthread_mutex_lock(&resolver_lock);
    while (!resolver_inside) /* the resolver's thread may not have run yet */
        pthread_cond_wait(&resolver_go, &resolver_lock);
    assert_false(resolver_left);
    resolver_held = false;
    pthread_cond_broadcast(&resolver_go);
    while (!resolver_left)
        pthread_cond_wait(&resolver_go, &resolver_lock);
    pthread_mutex_unlock(&resolver_lock);
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
        cmocka_unit_test(a_stream_that_is_refused_has_an_answer_like_any_other),
        cmocka_unit_test(a_stream_is_reported_line_by_line),
        cmocka_unit_test(a_stream_that_ends_within_a_line_is_broken),
        cmocka_unit_test(a_line_over_the_limit_ends_the_stream),
        cmocka_unit_test(a_stream_without_headers_times_out),
        cmocka_unit_test(a_stream_that_falls_silent_is_ended),
        cmocka_unit_test(a_stream_cancelled_in_its_own_callback_calls_no_other),
        cmocka_unit_test(the_client_may_be_destroyed_in_any_callback),
        cmocka_unit_test(destroying_the_client_ends_calls_without_callbacks),
        cmocka_unit_test(a_new_call_may_be_started_in_a_callback),
        cmocka_unit_test(reserved_characters_are_escaped),
        cmocka_unit_test(a_slow_name_resolution_delays_no_other_call),
        cmocka_unit_test(a_gate_that_closes_while_a_call_connects_lets_no_byte_out),
    };

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
