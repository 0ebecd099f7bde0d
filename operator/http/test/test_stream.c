/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of streams of the HTTP client, by libcurl and quiet ones by libevent, against a server that
 * misbehaves on purpose. */
#include "operator/http/test/world.h"

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>

#define LINES 3000 /* more bytes in all than may wait */

/* Tests of streams run twice, since quiet streams have a client of their own. */
static bool quiet_streams;

static int use_quiet_streams(void **state)
{
    quiet_streams = true;
    return 0;
}

static int use_loud_streams(void **state)
{
    quiet_streams = false;
    return 0;
}

static void setup_stream(struct world *w, fake_fn *on_request)
{
    setup(w, on_request);
    w->quiet = quiet_streams;
}

/* --- servers */

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

static void serve_endless_chunks(struct fake_conn *c, const char *method, const char *target,
                                 const char *head, const char *body, void *arg)
{
    fake_stream(c);
    for (int i = 0; i < 101; i++)
        fake_chunk(c, "1234567890");
}

static void serve_one_line_then_silence(struct fake_conn *c, const char *method, const char *target,
                                        const char *head, const char *body, void *arg)
{
    fake_stream(c);
    fake_chunk(c, "one\n");
}

/* --- tests */

static void a_stream_that_is_refused_has_an_answer_like_any_other(void **state)
{
    struct world w;

    setup_stream(&w, serve_410);
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

    setup_stream(&w, serve_lines);
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.opens, 1);
    assert_int_equal(w.lines, 4);
    assert_string_equal(w.body, "one|two||three|");
    assert_int_equal(w.status, 200);
    teardown(&w);
}

#define FDS_MAX 64

/* The connection to this port of 127.0.0.1; -1: there is none. */
static int connected_socket(int port)
{
    for (int fd = 0; fd < FDS_MAX; fd++) {
        struct sockaddr_in peer;
        socklen_t len = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.sin_family == AF_INET &&
            ntohs(peer.sin_port) == port)
            return fd;
    }
    return -1;
}

static void assert_option(int fd, int level, int name)
{
    int value = 0;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    assert_int_not_equal(value, 0);
}

static void assert_socket_options(struct world *w)
{
    int fd = connected_socket(w->server.port);

    assert_option(fd, IPPROTO_TCP, TCP_NODELAY);
    assert_option(fd, SOL_SOCKET, SO_KEEPALIVE);
    w->on_line_do = NULL;
}

static void a_stream_sends_without_delay_and_notices_a_peer_that_vanishes(void **state)
{
    struct world w;

    setup_stream(&w, serve_lines);
    w.on_line_do = assert_socket_options;
    start_stream(&w, options(&w));
    run(&w);
    assert_null(w.on_line_do);
    teardown(&w);
}

static void a_stream_that_ends_within_a_line_is_broken(void **state)
{
    fake_fn *const servers[] = {serve_half_line, serve_broken_stream};

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct world w;

        setup_stream(&w, servers[i]);
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

    setup_stream(&w, serve_endless_line);
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.lines, 0);
    assert_int_equal(w.status, 0);
    assert_non_null(strstr(w.why, w.quiet ? "too long body" : "a line is longer than 1000 bytes"));
    teardown(&w);
}

static void a_line_in_many_chunks_over_the_limit_ends_the_stream(void **state)
{
    struct world w;

    setup_stream(&w, serve_endless_chunks);
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

    setup_stream(&w, serve_nothing);
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

    setup_stream(&w, serve_one_line_then_silence);
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

    setup_stream(&w, serve_lines);
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

    setup_stream(&w, serve_lines);
    w.on_line_do = destroy_here;
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.lines, 1);
    assert_int_equal(w.ends, 0);
    teardown(&w);

    setup_stream(&w, serve_ok);
    w.on_end_do = destroy_here;
    struct http_call_opts o = options(&w);
    start(&w, &o);
    start(&w, &o);
    run(&w);
    assert_int_equal(w.ends, 1);
    teardown(&w);

    setup_stream(&w, serve_nothing);
    w.on_end_do = destroy_here;
    o = options(&w);
    o.timeout_ms = 20;
    start(&w, &o);
    run(&w);
    assert_int_equal(w.ends, 1);
    teardown(&w);
}

static void destroying_the_client_ends_calls_without_callbacks(void **state)
{
    struct world w;

    setup_stream(&w, serve_nothing);
    struct http_call_opts o = options(&w);
    start(&w, &o);
    start_stream(&w, options(&w));
    teardown(&w);
    assert_int_equal(w.ends, 0);
}

/* --- quiet streams: what libevent's client does not bound, and the addresses of a name */

static void start_quiet_stream(struct world *w, struct http_call_opts o)
{
    w->quiet = true;
    start_stream(w, o);
}

static void serve_endless_chunk_size(struct fake_conn *c, const char *method, const char *target,
                                     const char *head, const char *body, void *arg)
{
    char zeroes[65537];

    memset(zeroes, '0', sizeof(zeroes) - 1);
    zeroes[sizeof(zeroes) - 1] = '\0';
    fake_stream(c);
    fake_text(c, zeroes);
}

static void serve_long_chunk_size(struct fake_conn *c, const char *method, const char *target,
                                  const char *head, const char *body, void *arg)
{
    fake_stream(c);
    fake_text(c, "7fffffff\r\nthe rest never comes");
}

static void serve_endless_headers(struct fake_conn *c, const char *method, const char *target,
                                  const char *head, const char *body, void *arg)
{
    fake_text(c, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 3000; i++)
        fake_text(c, "X: abc\r\n");
}

static void a_quiet_stream_bounds_what_waits(void **state)
{
    fake_fn *const servers[] = {serve_endless_chunk_size, serve_long_chunk_size,
                                serve_endless_headers};

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct world w;

        setup_stream(&w, servers[i]);
        start_quiet_stream(&w, options(&w));
        run(&w);
        assert_int_equal(w.status, 0);
        assert_int_equal(w.lines, 0);
        assert_non_null(strstr(w.why, "malformed"));
        teardown(&w);
    }
}

static void serve_many_lines(struct fake_conn *c, const char *method, const char *target,
                             const char *head, const char *body, void *arg)
{
    fake_stream(c);
    for (int i = 0; i < LINES; i++)
        fake_chunk(c, "12345678\n");
    fake_stream_end(c);
}

static void a_quiet_stream_may_be_longer_than_the_limit_of_a_line(void **state)
{
    struct world w;

    setup_stream(&w, serve_many_lines);
    start_quiet_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.lines, LINES);
    assert_int_equal(w.status, 200);
    teardown(&w);
}

static void serve_busy(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    fake_text(c, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}");
}

static void a_refusal_of_a_stream_tells_when_to_try_again(void **state)
{
    struct world w;

    setup_stream(&w, serve_busy);
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.status, 503);
    assert_string_equal(w.body, "{}");
    assert_int_equal(w.retry_after_ms, 7000);
    teardown(&w);
}

static void serve_redirect(struct fake_conn *c, const char *method, const char *target,
                           const char *head, const char *body, void *arg)
{
    const struct world *w = arg;
    FREE_AUTO char *text = xasprintf("HTTP/1.1 307 Elsewhere\r\nLocation: %s\r\n"
                                     "Content-Length: 0\r\n\r\n",
                                     w->url);

    fake_text(c, text);
}

static void a_stream_follows_no_redirect_and_uses_no_proxy(void **state)
{
    struct world w;

    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setup_stream(&w, serve_redirect);
    start_stream(&w, options(&w));
    run(&w);
    unsetenv("http_proxy");
    assert_int_equal(w.status, 307);
    assert_int_equal(w.server.accepted, 1);
    teardown(&w);
}

/* A resolver: "slow.invalid" takes as long as the test wants, "two.invalid" has the addresses
 * 127.0.0.2 and 127.0.0.1. */
static pthread_mutex_t resolver_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t resolver_go = PTHREAD_COND_INITIALIZER;
static bool resolver_held, resolver_inside, resolver_left;

typedef int resolver_fn(const char *host, const char *service, const struct addrinfo *hints,
                        struct addrinfo **list);

static int resolve_slowly(void)
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

int getaddrinfo(const char *__name, const char *__service, const struct addrinfo *__req,
                struct addrinfo **__pai)
{
    resolver_fn *const real = (resolver_fn *)dlsym(RTLD_NEXT, "getaddrinfo");
    bool numeric = __req && __req->ai_flags & AI_NUMERICHOST;

    if (!numeric && __name && strcmp(__name, "slow.invalid") == 0)
        return resolve_slowly();
    if (numeric || !__name || strcmp(__name, "two.invalid") != 0)
        return real(__name, __service, __req, __pai);
    if (real("127.0.0.2", __service, __req, __pai) != 0)
        return EAI_FAIL;
    return real("127.0.0.1", __service, __req, &(*__pai)->ai_next);
}

static void await_resolver(const bool *what)
{
    pthread_mutex_lock(&resolver_lock);
    while (!*what)
        pthread_cond_wait(&resolver_go, &resolver_lock);
    pthread_mutex_unlock(&resolver_lock);
}

static void hold_resolver(void)
{
    resolver_held = true;
    resolver_inside = resolver_left = false;
}

static void release_resolver(void)
{
    pthread_mutex_lock(&resolver_lock);
    resolver_held = false;
    pthread_cond_broadcast(&resolver_go);
    pthread_mutex_unlock(&resolver_lock);
    await_resolver(&resolver_left);
}

static void a_slow_name_resolution_delays_no_other_call(void **state)
{
    struct world w;

    setup_stream(&w, serve_ok);
    hold_resolver();
    snprintf(w.url, sizeof(w.url), "http://slow.invalid/");
    struct http_call_opts o = options(&w);
    o.timeout_ms = 100;
    start_stream(&w, o);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.why, "no answer within 100 ms");
    await_resolver(&resolver_inside); /* its thread may not have run yet */
    assert_false(resolver_left);
    release_resolver();
    teardown(&w);
}

static void the_client_may_be_destroyed_while_a_name_is_resolved(void **state)
{
    struct world w;

    setup_stream(&w, serve_ok);
    hold_resolver();
    snprintf(w.url, sizeof(w.url), "http://slow.invalid/");
    start_quiet_stream(&w, options(&w));
    await_resolver(&resolver_inside);
    teardown(&w);
    release_resolver();
    assert_int_equal(w.ends, 0);
}

static void start_stream_to_two_addresses(struct world *w, uint64_t timeout_ms)
{
    snprintf(w->url, sizeof(w->url), "http://two.invalid:%d/", w->server.port);
    struct http_call_opts o = options(w);

    o.timeout_ms = timeout_ms;
    start_stream(w, o);
}

static void the_next_address_is_tried_after_one_that_refuses(void **state)
{
    struct world w;

    setup_stream(&w, serve_many_lines);
    start_stream_to_two_addresses(&w, 10000);
    run(&w);
    assert_int_equal(w.lines, LINES);
    teardown(&w);
}

static void an_address_that_does_not_answer_leaves_time_for_the_next_one(void **state)
{
    struct world w;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setup_stream(&w, serve_many_lines);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(w.server.port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 1), 0);
    w.quiet = true; /* libcurl takes the first address that connects */
    start_stream_to_two_addresses(&w, 1000);
    run(&w);
    assert_int_equal(w.lines, LINES);
    close(fd);
    teardown(&w);
}

static void a_name_without_an_address_is_an_end_without_status(void **state)
{
    struct world w;

    setup_stream(&w, serve_ok);
    snprintf(w.url, sizeof(w.url), "http://slow.invalid/");
    start_stream(&w, options(&w));
    run(&w);
    assert_int_equal(w.status, 0);
    assert_non_null(strstr(w.why, "slow.invalid"));
    teardown(&w);
}

#define TWICE(test)                                                                                \
    cmocka_unit_test_setup(test, use_loud_streams),                                                \
        cmocka_unit_test_setup_teardown(test, use_quiet_streams, use_loud_streams)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE(a_stream_that_is_refused_has_an_answer_like_any_other),
        TWICE(a_stream_is_reported_line_by_line),
        TWICE(a_stream_that_ends_within_a_line_is_broken),
        TWICE(a_stream_sends_without_delay_and_notices_a_peer_that_vanishes),
        TWICE(a_line_over_the_limit_ends_the_stream),
        TWICE(a_line_in_many_chunks_over_the_limit_ends_the_stream),
        TWICE(a_stream_without_headers_times_out),
        TWICE(a_stream_that_falls_silent_is_ended),
        TWICE(a_stream_cancelled_in_its_own_callback_calls_no_other),
        TWICE(the_client_may_be_destroyed_in_any_callback),
        TWICE(destroying_the_client_ends_calls_without_callbacks),
        TWICE(a_slow_name_resolution_delays_no_other_call),
        cmocka_unit_test(the_client_may_be_destroyed_while_a_name_is_resolved),
        TWICE(a_name_without_an_address_is_an_end_without_status),
        TWICE(the_next_address_is_tried_after_one_that_refuses),
        cmocka_unit_test(an_address_that_does_not_answer_leaves_time_for_the_next_one),
        cmocka_unit_test(a_quiet_stream_bounds_what_waits),
        cmocka_unit_test(a_quiet_stream_may_be_longer_than_the_limit_of_a_line),
        TWICE(a_refusal_of_a_stream_tells_when_to_try_again),
        TWICE(a_stream_follows_no_redirect_and_uses_no_proxy),
    };

    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
