/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of the HTTP client: a client, a server that misbehaves on purpose, and what the
 * callbacks have reported. */
#ifndef OPERATOR_HTTP_TEST_WORLD_H
#define OPERATOR_HTTP_TEST_WORLD_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "operator/http/http.h"
#include "operator/http/test/fake_server.h"

#include <string.h>

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
    uint64_t retry_after_ms;
    bool quiet; /* streams are quiet ones */
};

static inline void on_guard(void *arg)
{
    fail_msg("nothing happened for %d ms", GUARD_MS);
}

static inline void run(struct world *w)
{
    struct err err = {0};

    loop_timer_arm(w->guard, GUARD_MS);
    assert_int_equal(loop_run(w->loop, &err), 0);
    loop_timer_disarm(w->guard);
}

static inline void on_open(void *arg)
{
    struct world *w = arg;

    w->opens++;
}

static inline void on_line(char *line, size_t len, void *arg)
{
    struct world *w = arg;

    assert_int_equal(strlen(line), len);
    w->lines++;
    size_t used = strlen(w->body);
    snprintf(w->body + used, sizeof(w->body) - used, "%s|", line);
    if (w->on_line_do)
        w->on_line_do(w);
}

static inline void on_end(const struct http_answer *a, void *arg)
{
    struct world *w = arg;

    w->ends++;
    w->status = a->status;
    w->retry_after_ms = a->retry_after_ms;
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

static inline void setup(struct world *w, fake_fn *on_request)
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

static inline void teardown(struct world *w)
{
    http_destroy(w->http);
    fake_stop(&w->server);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
}

static inline struct http_call_opts options(struct world *w)
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

static inline void start(struct world *w, const struct http_call_opts *o)
{
    struct err err = {0};

    w->call = http_start(w->http, o, &err);
    assert_non_null(w->call);
    assert_int_equal(w->ends, 0);
}

static inline void start_stream(struct world *w, struct http_call_opts o)
{
    o.on_line = on_line;
    o.on_open = on_open;
    o.quiet = w->quiet;
    start(w, &o);
}

/* --- servers */

static inline void serve_ok(struct fake_conn *c, const char *method, const char *target,
                            const char *head, const char *body, void *arg)
{
    struct world *w = arg;

    snprintf(w->method, sizeof(w->method), "%s", method);
    snprintf(w->head, sizeof(w->head), "%s", head);
    snprintf(w->request_body, sizeof(w->request_body), "%s", body);
    fake_reply(c, 200, "{\"a\": 1}");
}

static inline void serve_nothing(struct fake_conn *c, const char *method, const char *target,
                                 const char *head, const char *body, void *arg)
{
}

static inline void serve_410(struct fake_conn *c, const char *method, const char *target,
                             const char *head, const char *body, void *arg)
{
    fake_reply(c, 410, "{\"gone\": true}");
}

#endif
