/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of requests and watches against a server that misbehaves on purpose. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "operator/http/test/fake_server.h"
#include "operator/kube/kube_private.h"

#define GUARD_MS 20000

struct world {
    struct loop *loop;
    struct kube *kube;
    struct fake server;
    struct loop_timer *guard;
    int stop_after; /* ends */
    int ends, requests, events;
    int status, code;
    char message[512];
    char last[64]; /* a text of the last answer or event */
    char order[512];
    char head[4096];
    struct fake_conn *held[64]; /* requests that are not answered yet */
    int nheld;
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

static void on_turn(void *arg)
{
    struct world *w = arg;

    loop_stop(w->loop);
}

/* One turn of the loop. */
static void turn(struct world *w)
{
    loop_post(w->loop, on_turn, w);
    run(w);
}

static struct kube_config *config_of(struct world *w)
{
    struct kube_config *c = xcalloc(1, sizeof(*c));

    c->server = xasprintf("http://127.0.0.1:%d", w->server.port);
    c->base = xstrdup(c->server);
    c->ns = xstrdup("hpc");
    c->token.text = xstrdup("secret");
    return c;
}

static void setup(struct world *w, fake_fn *on_request)
{
    struct err err = {0};

    *w = (struct world){.stop_after = 1, .status = -1};
    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    fake_start(&w->server, w->loop, 0, on_request, w);
    w->kube = kube_create(w->loop, config_of(w), &err);
    assert_non_null(w->kube);
}

static void teardown(struct world *w)
{
    kube_destroy(w->kube);
    fake_stop(&w->server);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
}

static const struct kube_time *time_of(const struct world *w, enum kube_method m, const char *code)
{
    for (unsigned i = 0; i < KUBE_CODES; i++) {
        if (strcmp(kube_code_name(i), code) == 0)
            return &kube_times(w->kube)->of[m][i];
    }
    fail_msg("no code %s", code);
    return NULL;
}

static void on_done(int status, const json_t *body, const struct err *err, void *arg)
{
    struct world *w = arg;
    const char *word = json_string_value(json_object_get(body, "word"));

    w->ends++;
    w->status = status;
    w->code = err->code;
    snprintf(w->message, sizeof(w->message), "%s", err->msg);
    snprintf(w->last, sizeof(w->last), "%s", word ? word : "");
    if (w->ends == w->stop_after)
        loop_stop(w->loop);
}

static void on_event(const char *type, const json_t *object, void *arg)
{
    struct world *w = arg;
    const char *word = json_string_value(json_object_get(object, "word"));

    w->events++;
    size_t used = strlen(w->order);
    snprintf(w->order + used, sizeof(w->order) - used, "%s%s|", type, word ? word : "");
}

static unsigned long get(struct world *w, const char *path)
{
    struct err err = {0};
    struct kube_verb v = {.method = "GET", .path = path, .once = true};
    unsigned long id = kube_request(w->kube, &v, on_done, w, &err);

    assert_true(id > 0);
    return id;
}

static unsigned long watch(struct world *w)
{
    struct err err = {0};
    unsigned long id = kube_watch(w->kube, &(struct kube_stream){.path = "/api/v1/pods?watch=1"},
                                  on_event, on_done, w, &err);

    assert_true(id > 0);
    return id;
}

/* --- servers */

#define SERVER(name)                                                                               \
    static void name(struct fake_conn *c, const char *method, const char *target,                  \
                     const char *head, const char *body, void *arg)

SERVER(serve_echo)
{
    struct world *w = arg;
    FREE_AUTO char *answer = xasprintf("{\"word\": \"%s\"}", target + strlen(target) - 1);

    snprintf(w->head, sizeof(w->head), "%s\n\n%s", head, body);
    w->requests++;
    fake_reply(c, 200, answer);
}

SERVER(serve_garbage)
{
    fake_reply(c, 200, "{\"word\": ");
}

SERVER(serve_list)
{
    fake_reply(c, 200, "[1, 2]");
}

SERVER(serve_409)
{
    fake_reply(c, 409, "{\"kind\": \"Status\", \"code\": 409, \"message\": \"modified\"}");
}

SERVER(serve_429)
{
    fake_reply(c, 429, "too many requests");
}

SERVER(serve_500)
{
    fake_reply(c, 500, "");
}

SERVER(serve_close)
{
    fake_close(c);
}

SERVER(serve_later)
{
    struct world *w = arg;

    w->requests++;
    w->held[w->nheld++] = c;
    if (w->nheld == 32)
        loop_stop(w->loop);
}

SERVER(serve_watch)
{
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"ADDED\", \"object\": {\"word\": \"a\"}}\n{\"type\": \"MODI");
    fake_chunk(c, "FIED\", \"object\": {\"word\": \"b\"}}\n\n");
    fake_stream_end(c);
}

SERVER(serve_watch_410)
{
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"BOOKMARK\", \"object\": {\"word\": \"a\"}}\n"
                  "{\"type\": \"ERROR\", \"object\": {\"kind\": \"Status\", \"code\": 410, "
                  "\"message\": \"too old\"}}\n{\"type\": \"ADDED\", \"object\": {}}\n");
}

SERVER(serve_watch_garbage)
{
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"ADDED\", \"object\": {\"word\": \"a\"}}\n<html>\n");
}

SERVER(serve_watch_no_object)
{
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"ADDED\"}\n");
}

SERVER(serve_watch_broken)
{
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"ADDED\", \"object\": {\"word\": \"a\"}}\n");
    fake_close(c);
}

SERVER(serve_watch_huge)
{
    FREE_AUTO char *line = xmalloc((17u << 20) + 1);

    memset(line, 'x', 17u << 20);
    line[17u << 20] = '\0';
    fake_stream(c);
    fake_chunk(c, line);
}

SERVER(serve_watch_open)
{
    if (!strstr(target, "watch=1")) {
        fake_reply(c, 200, "{}");
        return;
    }
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"ADDED\", \"object\": {\"word\": \"a\"}}\n");
}

/* --- tests */

static void a_malformed_request_is_refused_at_once(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w, serve_echo);
    struct kube_verb trace = {.method = "TRACE", .path = "/"};
    assert_int_equal(kube_request(w.kube, &trace, on_done, &w, &err), 0);
    struct kube_verb relative = {.method = "GET", .path = "api"};
    assert_int_equal(kube_request(w.kube, &relative, on_done, &w, &err), 0);
    assert_string_equal(err.msg, "GET api is not a request");
    assert_int_equal(
        kube_watch(w.kube, &(struct kube_stream){.path = "api"}, on_event, on_done, &w, &err), 0);
    teardown(&w);
    assert_int_equal(w.ends, 0);
}

static void an_answer_that_is_not_a_json_object_has_no_status(void **state)
{
    fake_fn *const servers[] = {serve_garbage, serve_list};

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct world w;

        setup(&w, servers[i]);
        get(&w, "/api/x");
        run(&w);
        assert_int_equal(w.status, 0);
        assert_non_null(strstr(w.message, "GET /api/x: the answer is not "));
        assert_int_equal(kube_stats(w.kube).failed, 1);
        teardown(&w);
    }
}

static void a_server_that_hangs_up_gives_no_status(void **state)
{
    struct world w;

    setup(&w, serve_close);
    get(&w, "/api/x");
    run(&w);
    assert_int_equal(w.status, 0);
    assert_int_equal(strncmp(w.message, "GET /api/x: ", 12), 0);
    assert_int_equal(kube_stats(w.kube).by_class[KUBE_GET][0], 1);
    const struct kube_time *t = time_of(&w, KUBE_GET, "none");
    unsigned long sum = 0;
    for (unsigned i = 0; i < KUBE_BOUNDS; i++)
        sum += t->within[i];
    assert_int_equal(t->n, 1);
    assert_int_equal(sum, t->sum_ms <= kube_bound_ms(KUBE_BOUNDS - 1));
    teardown(&w);
}

static void a_slow_server_times_out(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w, serve_later);
    struct kube_verb v = {.method = "GET", .path = "/api/x", .timeout_ms = 50, .once = true};
    assert_true(kube_request(w.kube, &v, on_done, &w, &err) > 0);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.message, "GET /api/x: no answer within 50 ms");
    teardown(&w);
}

static void a_refusal_carries_the_servers_message(void **state)
{
    static const struct {
        fake_fn *server;
        int status;
        const char *message;
    } cases[] = {
        {serve_409, 409, "GET /api/x: modified (409)"},
        {serve_429, 429, "GET /api/x: HTTP status 429: too many requests"},
        {serve_500, 500, "GET /api/x: HTTP status 500: "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;

        setup(&w, cases[i].server);
        get(&w, "/api/x");
        run(&w);
        assert_int_equal(w.status, cases[i].status);
        assert_int_equal(w.code, cases[i].status);
        assert_string_equal(w.message, cases[i].message);
        teardown(&w);
    }
}

static void a_request_carries_its_token_and_content_type(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w, serve_echo);
    json_t *body = json_pack("{s:i}", "a", 1);
    struct kube_verb v = {.method = "PATCH",
                          .path = "/api/x?fieldManager=y",
                          .content_type = "application/apply-patch+yaml",
                          .body = body};
    assert_true(kube_request(w.kube, &v, on_done, &w, &err) > 0);
    json_decref(body);
    assert_int_equal(w.ends, 0);
    run(&w);
    assert_int_equal(w.status, 200);
    assert_non_null(strstr(w.head, "PATCH /api/x?fieldManager=y HTTP/1.1\r\n"));
    assert_non_null(strstr(w.head, "Authorization: Bearer secret\r\n"));
    assert_non_null(strstr(w.head, "Content-Type: application/apply-patch+yaml\r\n"));
    assert_non_null(strstr(w.head, "\n\n{\"a\":1}"));
    assert_int_equal(kube_stats(w.kube).by_class[KUBE_PATCH][2], 1);
    assert_int_equal(time_of(&w, KUBE_PATCH, "200")->n, 1);
    assert_int_equal(time_of(&w, KUBE_PATCH, "none")->n, 0);
    teardown(&w);
}

static void the_thirty_third_request_waits_for_an_answer(void **state)
{
    struct world w;

    setup(&w, serve_later);
    for (int i = 0; i < 40; i++)
        get(&w, "/api/x");
    run(&w);
    assert_int_equal(w.requests, 32);
    assert_int_equal(kube_stats(w.kube).running, 32);
    assert_int_equal(kube_stats(w.kube).waiting, 8);
    fake_reply(w.held[0], 200, "{}");
    run(&w);
    while (w.requests < 33)
        turn(&w);
    assert_int_equal(kube_stats(w.kube).waiting, 7);
    teardown(&w);
    assert_int_equal(w.ends, 1);
}

static void a_queue_that_is_full_refuses_with_a_reason(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w, serve_later);
    struct kube_verb v = {.method = "GET", .path = "/api/x"};
    for (int i = 0; i < 4096; i++)
        get(&w, "/api/x");
    assert_int_equal(kube_request(w.kube, &v, on_done, &w, &err), 0);
    assert_string_equal(err.msg, "GET /api/x: 4096 requests are waiting already");
    teardown(&w);
    assert_int_equal(w.ends, 0);
}

static void a_cancelled_request_has_no_callback(void **state)
{
    struct world w;

    setup(&w, serve_echo);
    unsigned long id = get(&w, "/api/1");
    get(&w, "/api/2");
    kube_cancel(w.kube, id);
    kube_cancel(w.kube, id);
    kube_cancel(w.kube, 999);
    run(&w);
    assert_string_equal(w.last, "2");
    assert_int_equal(w.ends, 1);
    teardown(&w);
}

static void destroy_kube(int status, const json_t *body, const struct err *err, void *arg)
{
    struct world *w = arg;

    kube_destroy(w->kube);
    w->kube = NULL;
    on_done(status, body, err, arg);
}

static void the_kube_may_be_destroyed_by_an_answer(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w, serve_echo);
    struct kube_verb v = {.method = "GET", .path = "/api/x"};
    assert_true(kube_request(w.kube, &v, destroy_kube, &w, &err) > 0);
    get(&w, "/api/2");
    run(&w);
    assert_int_equal(w.ends, 1);
    teardown(&w);
}

static void a_watch_reports_its_events_in_order_and_its_end(void **state)
{
    struct world w;

    setup(&w, serve_watch);
    watch(&w);
    assert_int_equal(kube_stats(w.kube).watches_open, 1);
    run(&w);
    assert_string_equal(w.order, "OPENED|ADDEDa|MODIFIEDb|");
    assert_int_equal(w.status, 200);
    assert_int_equal(kube_stats(w.kube).watches_open, 0);
    teardown(&w);
}

static void an_error_event_ends_the_watch_with_its_code(void **state)
{
    struct world w;

    setup(&w, serve_watch_410);
    watch(&w);
    run(&w);
    assert_string_equal(w.order, "OPENED|BOOKMARKa|");
    assert_int_equal(w.status, 410);
    assert_int_equal(w.code, 410);
    assert_string_equal(w.message, "WATCH /api/v1/pods?watch=1: too old (410)");
    teardown(&w);
}

static void a_watch_that_is_refused_ends_with_the_status(void **state)
{
    struct world w;

    setup(&w, serve_409);
    watch(&w);
    run(&w);
    assert_string_equal(w.order, "");
    assert_int_equal(w.status, 409);
    assert_string_equal(w.message, "WATCH /api/v1/pods?watch=1: modified (409)");
    teardown(&w);
}

static void a_broken_watch_ends_without_a_status(void **state)
{
    fake_fn *const servers[] = {serve_watch_garbage, serve_watch_broken};

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct world w;

        setup(&w, servers[i]);
        watch(&w);
        run(&w);
        assert_string_equal(w.order, "OPENED|ADDEDa|");
        assert_int_equal(w.status, 0);
        assert_int_equal(w.ends, 1);
        teardown(&w);
    }
}

static void an_event_without_an_object_ends_the_watch(void **state)
{
    struct world w;

    setup(&w, serve_watch_no_object);
    watch(&w);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.message,
                        "WATCH /api/v1/pods?watch=1: an event lacks its type or its object");
    teardown(&w);
}

static void a_huge_line_ends_the_watch(void **state)
{
    struct world w;

    setup(&w, serve_watch_huge);
    watch(&w);
    run(&w);
    assert_int_equal(w.status, 0);
    assert_string_equal(w.message,
                        "WATCH /api/v1/pods?watch=1: a line is longer than 16777216 bytes");
    teardown(&w);
}

static void on_event_cancel(const char *type, const json_t *object, void *arg)
{
    struct world *w = arg;

    w->events++;
    if (object) {
        kube_cancel(w->kube, 1);
        loop_stop(w->loop);
    }
}

static void a_watch_may_be_cancelled_by_its_own_event(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w, serve_watch);
    assert_int_equal(kube_watch(w.kube, &(struct kube_stream){.path = "/x?watch=1"},
                                on_event_cancel, on_done, &w, &err),
                     1);
    run(&w);
    assert_int_equal(w.events, 2);
    assert_int_equal(w.ends, 0);
    teardown(&w);
}

static void open_watches_do_not_delay_requests(void **state)
{
    struct world w;

    setup(&w, serve_watch_open);
    for (int i = 0; i < 40; i++)
        watch(&w);
    get(&w, "/api/x");
    run(&w);
    assert_int_equal(w.ends, 1);
    assert_int_equal(w.status, 200);
    assert_int_equal(kube_stats(w.kube).watches_open, 40);
    teardown(&w);
}

static bool closed_gate(void *arg)
{
    int *left = arg;

    return (*left)-- > 0;
}

static void put_ungated(struct world *w, bool ungated)
{
    struct err err = {0};
    struct kube_verb v = {.method = "PUT", .path = "/api/x", .ungated = ungated};

    assert_true(kube_request(w->kube, &v, on_done, w, &err) > 0);
    run(w);
    w->stop_after++;
}

static void a_write_does_not_pass_a_closed_gate_and_a_read_does(void **state)
{
    struct world w;
    int left = 0;
    struct http_gate gate = {.is_open = closed_gate, .arg = &left};

    setup(&w, serve_echo);
    kube_set_gate(w.kube, &gate);
    put_ungated(&w, false);
    assert_int_equal(w.status, 0);
    assert_non_null(strstr(w.message, "does not lead"));
    assert_int_equal(w.requests, 0);
    put_ungated(&w, true);
    assert_int_equal(w.status, 200);
    get(&w, "/api/x");
    run(&w);
    assert_int_equal(w.status, 200);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_malformed_request_is_refused_at_once),
        cmocka_unit_test(an_answer_that_is_not_a_json_object_has_no_status),
        cmocka_unit_test(a_server_that_hangs_up_gives_no_status),
        cmocka_unit_test(a_slow_server_times_out),
        cmocka_unit_test(a_refusal_carries_the_servers_message),
        cmocka_unit_test(a_request_carries_its_token_and_content_type),
        cmocka_unit_test(the_thirty_third_request_waits_for_an_answer),
        cmocka_unit_test(a_queue_that_is_full_refuses_with_a_reason),
        cmocka_unit_test(a_cancelled_request_has_no_callback),
        cmocka_unit_test(the_kube_may_be_destroyed_by_an_answer),
        cmocka_unit_test(a_watch_reports_its_events_in_order_and_its_end),
        cmocka_unit_test(an_error_event_ends_the_watch_with_its_code),
        cmocka_unit_test(a_watch_that_is_refused_ends_with_the_status),
        cmocka_unit_test(a_broken_watch_ends_without_a_status),
        cmocka_unit_test(an_event_without_an_object_ends_the_watch),
        cmocka_unit_test(a_huge_line_ends_the_watch),
        cmocka_unit_test(a_watch_may_be_cancelled_by_its_own_event),
        cmocka_unit_test(open_watches_do_not_delay_requests),
        cmocka_unit_test(a_write_does_not_pass_a_closed_gate_and_a_read_does),
    };

    return cmocka_run_group_tests_name("kube", tests, NULL, NULL);
}
