/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of streams of the HTTP client against a server that misbehaves on purpose. */
#include "operator/http/test/world.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_that_is_refused_has_an_answer_like_any_other),
        cmocka_unit_test(a_stream_is_reported_line_by_line),
        cmocka_unit_test(a_stream_that_ends_within_a_line_is_broken),
        cmocka_unit_test(a_line_over_the_limit_ends_the_stream),
        cmocka_unit_test(a_stream_without_headers_times_out),
        cmocka_unit_test(a_stream_that_falls_silent_is_ended),
        cmocka_unit_test(a_stream_cancelled_in_its_own_callback_calls_no_other),
        cmocka_unit_test(the_client_may_be_destroyed_in_any_callback),
        cmocka_unit_test(destroying_the_client_ends_calls_without_callbacks),
    };

    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
