/* SPDX-License-Identifier: BSD-3-Clause */
/* The HTTP server on a plain port: routing, limits, bodies, answers, streams. */
#include "base/httpd/test/client.h"

#include <errno.h>
#include <event2/event.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX_BODY 1000

struct fixture {
    struct loop *loop;
    struct httpd *h;
    struct httpd_req *held; /* a request that is not answered yet */
    struct httpd_stream *stream;
    int closed;
    struct loop_timer *timer;
    struct client client;
};

static void on_echo(struct httpd_req *req, void *arg)
{
    const char *query = httpd_query(req, "q");
    size_t len;
    const char *body = httpd_body(req, &len);

    httpd_reply_json(req, 200,
                     json_pack("{s:s?,s:s?,s:s?,s:s?,s:s%}", "id", httpd_param(req, "id"), "sub",
                               httpd_param(req, "sub"), "query", query, "bearer", httpd_bearer(req),
                               "body", body, len));
}

static void on_object(struct httpd_req *req, void *arg)
{
    struct err err = {0};
    json_t *body = httpd_body_json(req, &err);

    if (body)
        httpd_reply_json(req, 201, body);
    else
        httpd_refuse(req, 400, "BadBody", "%s", err.msg);
}

static void on_broken_text(struct httpd_req *req, void *arg)
{
    httpd_refuse(req, 409, "Odd", "not text: \xff\xfe");
}

static void on_stream_closed(void *arg)
{
    struct fixture *f = arg;

    f->closed++;
    f->stream = NULL;
    loop_timer_disarm(f->timer);
    loop_stop(f->loop);
}

static void on_stream(struct httpd_req *req, void *arg)
{
    struct fixture *f = arg;

    f->stream = httpd_stream_begin(req, "application/x-ndjson", on_stream_closed, f);
    assert_int_equal(httpd_stream_send(f->stream, "first\n", 6), 0);
}

static void on_short_stream(struct httpd_req *req, void *arg)
{
    struct fixture *f = arg;

    on_stream(req, arg);
    assert_int_equal(httpd_stream_send(f->stream, "", 0), 0);
    assert_int_equal(httpd_stream_send(f->stream, "second\n", 7), 0);
    httpd_stream_end(f->stream);
    f->stream = NULL;
}

static void pump(void *arg);

static int setup_with(void **state, int max_conns, int idle_timeout_ms)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct httpd_opts opts = {.addr = "127.0.0.1",
                              .max_body = MAX_BODY,
                              .max_conns = max_conns,
                              .idle_timeout_ms = idle_timeout_ms};

    f->loop = loop_create(NULL);
    f->h = httpd_create(f->loop, &opts, NULL);
    f->timer = loop_timer_create(f->loop, pump, f);
    httpd_route(f->h, "GET", "/echo/{id}", on_echo, f);
    httpd_route(f->h, "POST", "/echo/{id}", on_echo, f);
    httpd_route(f->h, "GET", "/echo/{id}/deep/{sub}", on_echo, f);
    httpd_route(f->h, "POST", "/object", on_object, f);
    httpd_route(f->h, "GET", "/broken-text", on_broken_text, f);
    httpd_route(f->h, "GET", "/stream", on_stream, f);
    httpd_route(f->h, "GET", "/short-stream", on_short_stream, f);
    f->client = (struct client){.loop = f->loop, .port = httpd_port(f->h)};
    *state = f;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, 8, 60000);
}

static int setup_two_conns(void **state)
{
    return setup_with(state, 2, 60000);
}

static int setup_for_crowd(void **state)
{
    return setup_with(state, 64, 60000);
}

static int setup_impatient(void **state)
{
    return setup_with(state, 8, 50);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    httpd_destroy(f->h);
    loop_timer_destroy(f->timer);
    loop_destroy(f->loop);
    buf_free(&f->client.answer);
    free(f);
    return 0;
}

static const char *ask(struct fixture *f, const char *request)
{
    f->client.request = request;
    client_run(&f->client);
    return (const char *)f->client.answer.data;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

#define END "Connection: close\r\n\r\n"

static void an_unknown_path_gives_404(void **state)
{
    const char *answer = ask(*state, "GET /nothing HTTP/1.1\r\n" END);

    assert_has(answer, "HTTP/1.1 404 ");
    assert_has(answer, "{\"error\":{\"status\":404,\"reason\":\"NotFound\",\"message\":");
}

static void a_longer_path_than_the_pattern_gives_404(void **state)
{
    assert_has(ask(*state, "GET /echo/1/2 HTTP/1.1\r\n" END), "HTTP/1.1 404 ");
}

static void a_shorter_path_than_the_pattern_gives_404(void **state)
{
    assert_has(ask(*state, "GET /echo HTTP/1.1\r\n" END), "HTTP/1.1 404 ");
}

static void an_empty_parameter_gives_404(void **state)
{
    assert_has(ask(*state, "GET /echo/ HTTP/1.1\r\n" END), "HTTP/1.1 404 ");
}

static void a_parameter_with_a_nul_gives_404(void **state)
{
    assert_has(ask(*state, "GET /echo/a%00b HTTP/1.1\r\n" END), "HTTP/1.1 404 ");
}

static void another_method_gives_405_and_the_allowed_ones(void **state)
{
    const char *answer = ask(*state, "DELETE /echo/1 HTTP/1.1\r\n" END);

    assert_has(answer, "HTTP/1.1 405 ");
    assert_has(answer, "Allow: GET, POST\r\n");
}

static void a_head_request_gets_no_body(void **state)
{
    const char *answer = ask(*state, "HEAD /echo/1 HTTP/1.1\r\n" END);

    assert_has(answer, "HTTP/1.1 405 ");
    assert_null(strstr(answer, "{"));
}

static void an_unknown_method_gives_501(void **state)
{
    assert_has(ask(*state, "BREW /echo/1 HTTP/1.1\r\n" END), "HTTP/1.1 501 ");
}

static void a_request_that_is_no_http_gives_400(void **state)
{
    assert_has(ask(*state, "\x16\x03\x01 hello\r\n\r\n"), " 400 ");
}

static void a_body_over_the_limit_gives_413(void **state)
{
    FREE_AUTO char *body = xcalloc(MAX_BODY + 2, 1);
    FREE_AUTO char *request = NULL;

    memset(body, 'x', MAX_BODY + 1);
    request =
        xasprintf("POST /echo/1 HTTP/1.1\r\nContent-Length: %d\r\n" END "%s", MAX_BODY + 1, body);
    assert_has(ask(*state, request), "HTTP/1.1 413 ");
}

static void a_chunked_body_over_the_limit_gives_413(void **state)
{
    assert_has(ask(*state,
                   "POST /echo/1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "7fffffff\r\nabc"),
               "HTTP/1.1 413 ");
}

static void headers_over_the_limit_give_400(void **state)
{
    FREE_AUTO char *value = xcalloc(20001, 1);
    FREE_AUTO char *request = NULL;

    memset(value, 'x', 20000);
    request = xasprintf("GET /echo/1 HTTP/1.1\r\nX-Test: %s\r\n" END, value);
    assert_has(ask(*state, request), "HTTP/1.1 400 ");
}

static void a_body_of_exactly_the_limit_is_accepted(void **state)
{
    FREE_AUTO char *body = xcalloc(MAX_BODY + 1, 1);
    FREE_AUTO char *request = NULL;

    memset(body, 'x', MAX_BODY);
    request = xasprintf("POST /echo/1 HTTP/1.1\r\nContent-Length: %d\r\n" END "%s", MAX_BODY, body);
    assert_has(ask(*state, request), "HTTP/1.1 200 ");
}

static void a_body_that_is_no_json_is_explained(void **state)
{
    const char *answer =
        ask(*state, "POST /object HTTP/1.1\r\nContent-Length: 5\r\n" END "{\"a\":");

    assert_has(answer, "HTTP/1.1 400 ");
    assert_has(answer, "the body is not JSON: line 1");
}

static void a_body_that_is_no_object_is_refused(void **state)
{
    assert_has(ask(*state, "POST /object HTTP/1.1\r\nContent-Length: 2\r\n" END "[]"),
               "not an object");
}

static void a_body_with_a_duplicate_key_is_refused(void **state)
{
    assert_has(
        ask(*state, "POST /object HTTP/1.1\r\nContent-Length: 13\r\n" END "{\"a\":1,\"a\":2}"),
        "HTTP/1.1 400 ");
}

static void a_refusal_that_is_no_utf8_is_still_json(void **state)
{
    assert_has(ask(*state, "GET /broken-text HTTP/1.1\r\n" END), "\"message\":\"not text: ??\"");
}

static void an_object_is_returned(void **state)
{
    const char *answer =
        ask(*state, "POST /object HTTP/1.1\r\nContent-Length: 7\r\n" END "{\"a\":1}");

    assert_has(answer, "HTTP/1.1 201 ");
    assert_has(answer, "Content-Type: application/json\r\n");
    assert_has(answer, "\r\n\r\n{\"a\":1}");
}

static void parameters_query_token_and_body_reach_the_handler(void **state)
{
    const char *answer = ask(*state, "POST /echo/a%2Fb?q=x%20y HTTP/1.1\r\nContent-Length: 2\r\n"
                                     "Authorization: bearer  abc\r\n" END "ok");

    assert_has(answer, "\"id\":\"a/b\"");
    assert_has(answer, "\"query\":\"x y\"");
    assert_has(answer, "\"bearer\":\"abc\"");
    assert_has(answer, "\"body\":\"ok\"");
}

static void absent_parts_are_null(void **state)
{
    const char *answer = ask(*state, "GET /echo/1 HTTP/1.1\r\nAuthorization: Basic abc\r\n" END);

    assert_has(answer, "\"sub\":null");
    assert_has(answer, "\"query\":null");
    assert_has(answer, "\"bearer\":null");
    assert_has(answer, "\"body\":\"\"");
}

static void two_parameters_are_distinguished(void **state)
{
    const char *answer = ask(*state, "GET /echo/1/deep/2 HTTP/1.1\r\n" END);

    assert_has(answer, "\"id\":\"1\"");
    assert_has(answer, "\"sub\":\"2\"");
}

static void talk_twice(struct client *c, struct link *l)
{
    link_send(l, "GET /echo/one HTTP/1.1\r\n\r\n");
    link_read_until(l, &c->answer, "\"one\"");
    link_send(l, "GET /echo/two HTTP/1.1\r\n" END);
    link_read_until(l, &c->answer, NULL);
}

static void a_connection_serves_more_than_one_request(void **state)
{
    struct fixture *f = *state;

    f->client.talk = talk_twice;
    assert_has(ask(f, NULL), "\"two\"");
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    const char *answer = ask(*state, "GET /echo/one HTTP/1.1\r\n\r\n"
                                     "GET /echo/two HTTP/1.1\r\n" END);
    const char *one = strstr(answer, "\"one\"");

    assert_non_null(one);
    assert_non_null(strstr(one, "\"two\""));
}

static void answer_held(void *arg)
{
    struct fixture *f = arg;

    httpd_reply_text(f->held, 200, "text/plain", "late\n");
    f->held = NULL;
}

static void on_hold_then_answer(struct httpd_req *req, void *arg)
{
    struct fixture *f = arg;

    f->held = req;
    loop_post(f->loop, answer_held, f);
}

static void a_handler_may_answer_later(void **state)
{
    struct fixture *f = *state;

    httpd_route(f->h, "GET", "/later", on_hold_then_answer, f);
    assert_has(ask(f, "GET /later HTTP/1.1\r\n" END), "\r\n\r\nlate\n");
}

static void on_hold_then_stop(struct httpd_req *req, void *arg)
{
    struct fixture *f = arg;

    f->held = req;
    loop_stop(f->loop);
}

/* The server is destroyed while the request is held. */
static void outlive_server(struct fixture *f, const char *request)
{
    f->client.request = request;
    client_start(&f->client);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_non_null(f->held);
    httpd_destroy(f->h);
    f->h = NULL;
    client_join(&f->client);
}

static void run_until_closed(struct fixture *f)
{
    while (!f->closed)
        assert_int_equal(loop_run(f->loop, NULL), 0);
}

static void an_answer_after_the_server_is_destroyed_is_discarded(void **state)
{
    struct fixture *f = *state;
    size_t len;

    httpd_route(f->h, "GET", "/stop/{id}", on_hold_then_stop, f);
    outlive_server(f, "GET /stop/me HTTP/1.1\r\nX-Test: 1\r\n" END);
    assert_string_equal(httpd_param(f->held, "id"), "me");
    assert_string_equal(httpd_body(f->held, &len), "");
    httpd_reply_json(f->held, 200, json_object());
}

static void talk_and_leave(struct client *c, struct link *l)
{
    link_send(l, c->request);
    shutdown(l->fd, SHUT_RDWR);
}

static void an_answer_to_a_closed_connection_is_discarded(void **state)
{
    struct fixture *f = *state;

    httpd_route(f->h, "GET", "/later", on_hold_then_answer, f);
    f->client.talk = talk_and_leave;
    ask(f, "GET /later HTTP/1.1\r\n\r\n");
}

static void a_stream_sends_chunks_and_ends(void **state)
{
    const char *answer = ask(*state, "GET /short-stream HTTP/1.1\r\n" END);

    assert_has(answer, "Transfer-Encoding: chunked\r\n");
    assert_has(answer, "6\r\nfirst\n\r\n7\r\nsecond\n\r\n0\r\n\r\n");
    assert_int_equal(((struct fixture *)*state)->closed, 0);
}

static void a_stream_to_an_http_1_0_peer_ends_with_the_connection(void **state)
{
    assert_has(ask(*state, "GET /short-stream HTTP/1.0\r\n\r\n"), "\r\n\r\nfirst\nsecond\n");
}

static void talk_until_first(struct client *c, struct link *l)
{
    link_send(l, "GET /stream HTTP/1.1\r\n\r\n");
    link_read_until(l, &c->answer, "first\n");
}

static void the_owner_is_notified_when_a_streams_peer_closes(void **state)
{
    struct fixture *f = *state;

    f->client.talk = talk_until_first;
    ask(f, NULL);
    run_until_closed(f);
    assert_int_equal(f->closed, 1);
}

static void a_stream_is_closed_when_the_server_is_destroyed(void **state)
{
    struct fixture *f = *state;

    f->client.talk = talk_until_first;
    ask(f, NULL);
    httpd_destroy(f->h);
    f->h = NULL;
    assert_int_equal(f->closed, 1);
}

static void a_stream_begun_after_its_peer_has_closed_is_closed_later(void **state)
{
    struct fixture *f = *state;

    httpd_route(f->h, "GET", "/stop", on_hold_then_stop, f);
    outlive_server(f, "GET /stop HTTP/1.1\r\n" END);
    f->stream = httpd_stream_begin(f->held, "text/plain", on_stream_closed, f);
    assert_int_equal(httpd_stream_send(f->stream, "x", 1), 0);
    assert_int_equal(f->closed, 0);
    run_until_closed(f);
    assert_int_equal(f->closed, 1);
}

static void a_stream_begun_after_its_peer_has_closed_may_be_ended(void **state)
{
    struct fixture *f = *state;

    httpd_route(f->h, "GET", "/stop", on_hold_then_stop, f);
    outlive_server(f, "GET /stop HTTP/1.1\r\n" END);
    f->stream = httpd_stream_begin(f->held, "text/plain", on_stream_closed, f);
    httpd_stream_end(f->stream);
    assert_int_equal(f->closed, 0);
}

/* Fills the stream until it refuses; the peer reads nothing meanwhile, so the kernel's buffers end.
 */
static void on_flood(struct httpd_req *req, void *arg)
{
    static const char block[65536];
    struct fixture *f = arg;
    size_t sent = 0;

    f->stream = httpd_stream_begin(req, "text/plain", on_stream_closed, f);
    while (httpd_stream_send(f->stream, block, sizeof(block)) == 0)
        sent += sizeof(block);
    assert_true(sent <= 1u << 20);
    assert_true(sent > (1u << 20) - 2 * sizeof(block));
    httpd_stream_end(f->stream);
    f->stream = NULL;
}

static void sending_to_a_slow_reader_fails(void **state)
{
    struct fixture *f = *state;

    httpd_route(f->h, "GET", "/flood", on_flood, f);
    assert_has(ask(f, "GET /flood HTTP/1.1\r\n" END), "HTTP/1.1 200 ");
    /* Accepted data has arrived. */
    assert_true(f->client.answer.len > (1u << 20) - 2 * 65536);
}

static void on_huge(struct httpd_req *req, void *arg)
{
    struct fixture *f = arg;
    FREE_AUTO char *huge = xcalloc(1, (1u << 20) + 1);

    f->stream = httpd_stream_begin(req, "text/plain", on_stream_closed, f);
    assert_int_equal(httpd_stream_send(f->stream, huge, (1u << 20) + 1), -1);
    httpd_stream_end(f->stream);
}

static void a_message_over_the_bound_is_refused_at_once(void **state)
{
    struct fixture *f = *state;

    httpd_route(f->h, "GET", "/huge", on_huge, f);
    assert_has(ask(f, "GET /huge HTTP/1.1\r\n" END), "\r\n\r\n0\r\n\r\n");
}

static void talk_on_three(struct client *c, struct link *l)
{
    struct link second = link_open(c->port, NULL);
    struct link third;

    /* Served ones first, so that the server has seen both. */
    link_send(l, "GET /echo/one HTTP/1.1\r\n\r\n");
    link_read_until(l, &c->answer, "\"one\"");
    link_send(&second, "GET /echo/two HTTP/1.1\r\n\r\n");
    link_read_until(&second, &c->answer, "\"two\"");
    buf_reset(&c->answer);
    third = link_open(c->port, NULL);
    link_send(&third, "GET /echo/three HTTP/1.1\r\n" END);
    link_read_until(&third, &c->answer, NULL);
    link_read_until(l, &c->answer, NULL);
    link_send(&second, "GET /echo/four HTTP/1.1\r\n" END);
    link_read_until(&second, &c->answer, NULL);
    link_close(&second);
    link_close(&third);
}

static void the_connection_that_has_waited_longest_makes_room(void **state)
{
    struct fixture *f = *state;
    const char *answer;

    f->client.talk = talk_on_three;
    answer = ask(f, NULL);
    assert_has(answer, "\"three\"");
    assert_has(answer, "\"four\"");
}

static void on_ignored_close(void *arg)
{
}

static void on_busy(struct httpd_req *req, void *arg)
{
    struct httpd_stream *s = httpd_stream_begin(req, "text/plain", on_ignored_close, arg);

    assert_int_equal(httpd_stream_send(s, "busy\n", 5), 0);
}

static void talk_beside_two_busy_ones(struct client *c, struct link *l)
{
    struct link second = link_open(c->port, NULL);
    struct link third;

    link_send(l, "GET /busy HTTP/1.1\r\n\r\n");
    link_read_until(l, &c->answer, "busy");
    buf_reset(&c->answer);
    link_send(&second, "GET /busy HTTP/1.1\r\n\r\n");
    link_read_until(&second, &c->answer, "busy");
    buf_reset(&c->answer);
    third = link_open(c->port, NULL);
    link_read_until(&third, &c->answer, NULL);
    link_close(&second);
    link_close(&third);
}

static void a_newcomer_is_closed_while_all_requests_are_handled(void **state)
{
    struct fixture *f = *state;

    httpd_route(f->h, "GET", "/busy", on_busy, f);
    f->client.talk = talk_beside_two_busy_ones;
    assert_string_equal(ask(f, NULL), "");
}

#define CROWD 200

static void talk_on_prepared_link(struct client *c, struct link *l)
{
    link_read_until(c->arg, &c->answer, NULL);
}

/* All are in the kernel's queue when the server first accepts one: the request is in the middle. */
static void a_request_is_answered_in_a_crowd_that_comes_at_once(void **state)
{
    struct fixture *f = *state;
    struct link crowd[CROWD];

    for (size_t i = 0; i < CROWD; i++)
        crowd[i] = link_open(f->client.port, NULL);
    link_send(&crowd[CROWD / 2], "GET /echo/one HTTP/1.1\r\n" END);
    f->client.talk = talk_on_prepared_link;
    f->client.arg = &crowd[CROWD / 2];
    assert_has(ask(f, NULL), "\"one\"");
    for (size_t i = 0; i < CROWD; i++)
        link_close(&crowd[i]);
}

static void talk_one_after_the_other(struct client *c, struct link *l)
{
    for (int i = 0; i < 5; i++) {
        struct link next = link_open(c->port, NULL);

        link_send(&next, "GET /echo/one HTTP/1.1\r\n" END);
        link_read_until(&next, &c->answer, NULL);
        link_close(&next);
    }
}

static void closed_connections_do_not_count(void **state)
{
    struct fixture *f = *state;
    const char *at;
    int n = 0;

    f->client.talk = talk_one_after_the_other;
    for (at = ask(f, NULL); (at = strstr(at, "\"one\"")); at++)
        n++;
    assert_int_equal(n, 5);
}

static int count_timer(const struct event_base *base, const struct event *ev, void *n)
{
    *(int *)n += event_pending(ev, EV_TIMEOUT, NULL) != 0;
    return 0;
}

static int timers(const struct fixture *f)
{
    int n = 0;

    event_base_foreach_event(loop_base(f->loop), count_timer, &n);
    return n;
}

static void a_server_without_connections_has_no_timer(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(timers(f), 0);
    assert_has(ask(f, "GET /echo/1 HTTP/1.1\r\n" END), "200 OK");
    while (timers(f) > 0)
        event_base_loop(loop_base(f->loop), EVLOOP_ONCE);
}

static void a_connection_whose_request_is_late_is_closed(void **state)
{
    assert_string_equal(ask(*state, "GET /echo/1 HTTP/1.1\r\nX-Te"), "");
}

static void a_post_without_a_length_has_an_empty_body(void **state)
{
    assert_has(ask(*state, "POST /echo/1 HTTP/1.1\r\n" END), "\"body\":\"\"");
}

static void talk_without_reading(struct client *c, struct link *l)
{
    link_send(l, "GET /endless HTTP/1.1\r\n\r\n");
    while (sem_wait(c->arg) < 0)
        continue;
}

/* More than any kernel buffer takes; writing continues when there is room. */
static void pump(void *arg)
{
    static const char block[65536];
    struct fixture *f = arg;

    while (httpd_stream_send(f->stream, block, sizeof(block)) == 0)
        continue;
    loop_timer_arm(f->timer, 1);
}

static void on_endless(struct httpd_req *req, void *arg)
{
    struct fixture *f = arg;

    f->stream = httpd_stream_begin(req, "text/plain", on_stream_closed, f);
    pump(f);
}

static void a_connection_whose_reader_takes_nothing_is_closed(void **state)
{
    struct fixture *f = *state;
    sem_t enough;

    sem_init(&enough, 0, 0);
    httpd_route(f->h, "GET", "/endless", on_endless, f);
    f->client.talk = talk_without_reading;
    f->client.arg = &enough;
    client_start(&f->client);
    run_until_closed(f);
    sem_post(&enough);
    client_join(&f->client);
    sem_destroy(&enough);
}

static void an_address_that_is_a_name_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct httpd_opts opts = {.addr = "localhost", .max_body = 1, .max_conns = 1};

    assert_null(httpd_create(f->loop, &opts, &err));
    assert_string_equal(err.msg, "starting the HTTP server: \"localhost\" is no numeric address");
}

static void a_port_in_use_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct httpd_opts opts = {
        .addr = "127.0.0.1", .port = httpd_port(f->h), .max_body = 1, .max_conns = 1};

    assert_null(httpd_create(f->loop, &opts, &err));
    assert_int_equal(err.code, EADDRINUSE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_path_gives_404),
        TEST(a_longer_path_than_the_pattern_gives_404),
        TEST(a_shorter_path_than_the_pattern_gives_404),
        TEST(an_empty_parameter_gives_404),
        TEST(a_parameter_with_a_nul_gives_404),
        TEST(another_method_gives_405_and_the_allowed_ones),
        TEST(a_head_request_gets_no_body),
        TEST(an_unknown_method_gives_501),
        TEST(a_request_that_is_no_http_gives_400),
        TEST(a_body_over_the_limit_gives_413),
        TEST(a_chunked_body_over_the_limit_gives_413),
        TEST(headers_over_the_limit_give_400),
        TEST(a_body_of_exactly_the_limit_is_accepted),
        TEST(a_body_that_is_no_json_is_explained),
        TEST(a_body_that_is_no_object_is_refused),
        TEST(a_body_with_a_duplicate_key_is_refused),
        TEST(a_refusal_that_is_no_utf8_is_still_json),
        TEST(an_object_is_returned),
        TEST(parameters_query_token_and_body_reach_the_handler),
        TEST(absent_parts_are_null),
        TEST(two_parameters_are_distinguished),
        TEST(a_connection_serves_more_than_one_request),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(a_handler_may_answer_later),
        TEST(an_answer_after_the_server_is_destroyed_is_discarded),
        TEST(an_answer_to_a_closed_connection_is_discarded),
        TEST(a_stream_sends_chunks_and_ends),
        TEST(a_stream_to_an_http_1_0_peer_ends_with_the_connection),
        TEST(the_owner_is_notified_when_a_streams_peer_closes),
        TEST(a_stream_is_closed_when_the_server_is_destroyed),
        TEST(a_stream_begun_after_its_peer_has_closed_is_closed_later),
        TEST(a_stream_begun_after_its_peer_has_closed_may_be_ended),
        TEST(sending_to_a_slow_reader_fails),
        TEST(a_message_over_the_bound_is_refused_at_once),
        cmocka_unit_test_setup_teardown(the_connection_that_has_waited_longest_makes_room,
                                        setup_two_conns, teardown),
        cmocka_unit_test_setup_teardown(a_newcomer_is_closed_while_all_requests_are_handled,
                                        setup_two_conns, teardown),
        cmocka_unit_test_setup_teardown(a_request_is_answered_in_a_crowd_that_comes_at_once,
                                        setup_for_crowd, teardown),
        cmocka_unit_test_setup_teardown(closed_connections_do_not_count, setup_two_conns, teardown),
        cmocka_unit_test_setup_teardown(a_connection_whose_request_is_late_is_closed,
                                        setup_impatient, teardown),
        TEST(a_server_without_connections_has_no_timer),
        TEST(a_post_without_a_length_has_an_empty_body),
        cmocka_unit_test_setup_teardown(a_connection_whose_reader_takes_nothing_is_closed,
                                        setup_impatient, teardown),
        TEST(an_address_that_is_a_name_is_refused),
        TEST(a_port_in_use_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
