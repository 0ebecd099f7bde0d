/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the head's client against a head made of base/httpd, over a relay that can be cut.
 * The clock moves by a millisecond a turn of the loop. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "base/httpd/httpd.h"
#include "base/loop/test/clock.h"
#include "operator/dvm/dvm.h"
#include "operator/dvm/test/relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUARD_MS 20000
#define HOST "x-head.ns.svc"

/* --- a head, a relay and a client */

struct world {
    struct loop *loop;
    struct httpd *head;
    struct relay relay;
    struct dvm_client *client;
    struct loop_timer *guard;
    struct tls_ctx *tls;
    char dir[64];
    char *ca, *head_cert, *head_key, *cert, *key;
    char *renewed_cert, *renewed_key; /* of "operator-2" */
    /* the head */
    struct httpd_stream *stream;
    int streams;
    int refuse_stream; /* status of the refusal of the next stream */
    char query[256];   /* of the last stream */
    char peer[64];     /* the name in its client's certificate */
    char last[512];    /* the last request, and its body */
    /* the client */
    char order[4096];
    char stop_when[64];
    bool stopped;
    int status;
    char message[512];
    int answers;
};

static void on_guard(void *arg)
{
    struct world *w = arg;

    fail_msg("nothing happened for %d ms, so far: %s", GUARD_MS, w->order);
}

static void run(struct world *w)
{
    w->stopped = false;
    loop_timer_arm(w->guard, GUARD_MS);
    clock_run_until(w->loop, &w->stopped);
    loop_timer_disarm(w->guard);
}

static void stop(struct world *w)
{
    w->stopped = true;
    loop_stop(w->loop);
}

static void note(struct world *w, const char *word)
{
    strncat(w->order, word, sizeof(w->order) - strlen(w->order) - 1);
    strncat(w->order, " ", sizeof(w->order) - strlen(w->order) - 1);
    if (w->stop_when[0] && strstr(w->order, w->stop_when))
        stop(w);
}

/* Runs until the client has reported all of this in this order. */
static void run_until(struct world *w, const char *order)
{
    snprintf(w->stop_when, sizeof(w->stop_when), "%s", order);
    if (!strstr(w->order, order))
        run(w);
}

static void on_event(const struct api_event *e, void *arg)
{
    char word[32];

    snprintf(word, sizeof(word), "%d", (int)e->number);
    note(arg, word);
}

static void on_beat(uint32_t bound_jobs, void *arg)
{
    char word[32];

    snprintf(word, sizeof(word), "jobs:%u", bound_jobs);
    note(arg, word);
}

static void on_view(const json_t *dvm, void *arg)
{
    char word[32];

    snprintf(word, sizeof(word), "view:%d",
             (int)json_integer_value(json_object_get(dvm, "version")));
    note(arg, word);
}

static void on_link(bool up, const char *why, void *arg)
{
    struct world *w = arg;

    assert_int_equal(up, !*why);
    snprintf(w->message, sizeof(w->message), "%s", why);
    note(w, up ? "up" : "down");
}

static void on_done(int status, const json_t *body, const struct err *err, void *arg)
{
    struct world *w = arg;

    w->answers++;
    w->status = status;
    snprintf(w->message, sizeof(w->message), "%s", err->msg);
    note(w, "answer");
}

static void on_closed(void *arg)
{
    struct world *w = arg;

    w->stream = NULL;
}

static void get_events(struct httpd_req *req, void *arg)
{
    struct world *w = arg;
    const char *incarnation = httpd_query(req, "incarnation"), *from = httpd_query(req, "from");

    assert_string_equal(httpd_peer(req)->role, "operator");
    assert_string_equal(httpd_query(req, "view"), "1");
    snprintf(w->peer, sizeof(w->peer), "%.63s", httpd_peer(req)->name);
    snprintf(w->query, sizeof(w->query), "%s/%s", incarnation ? incarnation : "", from ? from : "");
    if (w->refuse_stream) {
        httpd_refuse(req, w->refuse_stream, "Gone", "no such number");
        w->refuse_stream = 0;
        return;
    }
    w->streams++;
    w->stream = httpd_stream_begin(req, "application/json", on_closed, w);
}

static void echo(struct httpd_req *req, void *arg)
{
    struct world *w = arg;
    size_t len;
    const char *body = httpd_body(req, &len), *id = httpd_param(req, "id");

    snprintf(w->last, sizeof(w->last), "%s %.*s", id ? id : "-", (int)len, body ? body : "");
    httpd_reply_json(req, 200, json_object());
}

static void refuse(struct httpd_req *req, void *arg)
{
    httpd_refuse(req, 409, "SequenceTooOld", "7 is lower than 8");
}

static void never(struct httpd_req *req, void *arg)
{
    struct world *w = arg;

    relay_cut(&w->relay);
    httpd_reply_json(req, 200, json_object());
}

static void garbage(struct httpd_req *req, void *arg)
{
    httpd_reply_text(req, 200, "application/json", "{");
}

static void say(struct world *w, const char *line)
{
    assert_non_null(w->stream);
    assert_int_equal(httpd_stream_send(w->stream, line, strlen(line)), 0);
}

static void say_event(struct world *w, const char *incarnation, int number)
{
    FREE_AUTO char *line = xasprintf(
        "{\"incarnation\": \"%s\", \"number\": %d, \"type\": \"Size\"}\n", incarnation, number);

    say(w, line);
}

static void write_file(struct world *w, const char *name, const char *text)
{
    FREE_AUTO char *path = xasprintf("%s/%s", w->dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void make_certificates(struct world *w)
{
    struct err err = {0};
    const char *const names[] = {HOST, NULL};
    struct tls_ca *ca = tls_ca_create("ns/x", 30, &err);

    assert_non_null(ca);
    w->ca = tls_ca_cert_pem(ca);
    assert_int_equal(
        tls_ca_issue(ca, "head", "x-head-0", names, 30, &w->head_cert, &w->head_key, &err), 0);
    assert_int_equal(tls_ca_issue(ca, "operator", "operator", NULL, 30, &w->cert, &w->key, &err),
                     0);
    assert_int_equal(tls_ca_issue(ca, "operator", "operator-2", NULL, 30, &w->renewed_cert,
                                  &w->renewed_key, &err),
                     0);
    tls_ca_destroy(ca);
    snprintf(w->dir, sizeof(w->dir), "/tmp/test-dvm-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    write_file(w, "ca", w->ca);
    write_file(w, "cert", w->head_cert);
    write_file(w, "key", w->head_key);
    FREE_AUTO char *ca_file = xasprintf("%s/ca", w->dir);
    FREE_AUTO char *cert_file = xasprintf("%s/cert", w->dir);
    FREE_AUTO char *key_file = xasprintf("%s/key", w->dir);
    struct tls_files files = {.ca = ca_file, .cert = cert_file, .key = key_file};
    w->tls = tls_ctx_create(&files, &err);
    assert_non_null(w->tls);
    unlink(ca_file);
    unlink(cert_file);
    unlink(key_file);
    rmdir(w->dir);
}

static void start_client(struct world *w, const char *host, const char *ca)
{
    struct err err = {0};
    char connect[64];

    snprintf(connect, sizeof(connect), "127.0.0.1:%d", w->relay.port);
    struct dvm_client_opts o = {.host = host,
                                .connect = connect,
                                .port = 7443,
                                .ca_pem = ca,
                                .cert_pem = w->cert,
                                .key_pem = w->key,
                                .on_event = on_event,
                                .on_beat = on_beat,
                                .on_view = on_view,
                                .on_link = on_link,
                                .arg = w};
    w->client = dvm_client_create(w->loop, &o, &err);
    assert_non_null(w->client);
}

static void setup_head(struct world *w)
{
    struct err err = {0};

    *w = (struct world){.status = -1};
    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    make_certificates(w);
    struct httpd_opts o = {.addr = "127.0.0.1",
                           .tls = w->tls,
                           .max_body = 1 << 20,
                           .max_conns = 64,
                           .idle_timeout_ms = 60000};
    w->head = httpd_create(w->loop, &o, &err);
    assert_non_null(w->head);
    httpd_route(w->head, "GET", "/v1/events", get_events, w);
    httpd_route(w->head, "PUT", "/v1/campaigns/{id}", echo, w);
    httpd_route(w->head, "PUT", "/v1/campaigns/{id}/cancel", echo, w);
    httpd_route(w->head, "GET", "/v1/campaigns/{id}", never, w);
    httpd_route(w->head, "PUT", "/v1/size", refuse, w);
    httpd_route(w->head, "PUT", "/v1/shutdown", echo, w);
    httpd_route(w->head, "GET", "/v1/dvm", garbage, w);
    relay_start(&w->relay, w->loop, httpd_port(w->head));
}

static void setup(struct world *w)
{
    setup_head(w);
    start_client(w, HOST, w->ca);
    run_until(w, "up");
}

static void teardown(struct world *w)
{
    dvm_client_destroy(w->client);
    relay_stop(&w->relay);
    httpd_destroy(w->head);
    tls_ctx_destroy(w->tls);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
    free(w->ca);
    free(w->cert);
    free(w->key);
    free(w->head_cert);
    free(w->head_key);
    free(w->renewed_cert);
    free(w->renewed_key);
}

/* --- tests */

static void a_client_without_its_keys_is_refused(void **state)
{
    struct err err = {0};
    struct dvm_client_opts o = {.host = HOST, .ca_pem = "ca", .cert_pem = "cert"};

    assert_null(dvm_client_create(NULL, &o, &err));
    assert_non_null(strstr(err.msg, "authority, certificate and key are needed"));
}

static void a_head_with_another_name_is_refused(void **state)
{
    struct world w;

    setup_head(&w);
    start_client(&w, "y-head.ns.svc", w.ca);
    run_until(&w, "down");
    assert_int_equal(w.streams, 0);
    assert_non_null(strstr(w.message, "hostname mismatch"));
    teardown(&w);
}

static void a_head_of_another_authority_is_refused(void **state)
{
    struct world w;
    struct err err = {0};

    setup_head(&w);
    struct tls_ca *other = tls_ca_create("ns/y", 30, &err);
    FREE_AUTO char *pem = tls_ca_cert_pem(other);
    tls_ca_destroy(other);
    start_client(&w, HOST, pem);
    run_until(&w, "down");
    assert_int_equal(w.streams, 0);
    teardown(&w);
}

static void events_come_once_and_in_order(void **state)
{
    struct world w;

    setup(&w);
    assert_string_equal(w.query, "/");
    say_event(&w, "abc", 5);
    say(&w, "\n");
    say_event(&w, "abc", 5);
    say_event(&w, "abc", 6);
    run_until(&w, "6");
    assert_string_equal(w.order, "up 5 6 ");
    teardown(&w);
}

static void a_broken_stream_resumes_after_the_last_event(void **state)
{
    struct world w;

    setup(&w);
    say_event(&w, "abc", 5);
    run_until(&w, "5");
    relay_cut(&w.relay);
    run_until(&w, "down up");
    assert_string_equal(w.query, "abc/6");
    say_event(&w, "abc", 6);
    run_until(&w, "6");
    assert_string_equal(w.order, "up 5 down up 6 ");
    teardown(&w);
}

static void an_unknown_incarnation_starts_a_stream_without_a_position(void **state)
{
    struct world w;

    setup(&w);
    say_event(&w, "abc", 5);
    run_until(&w, "5");
    w.refuse_stream = 410;
    httpd_stream_end(w.stream);
    w.stream = NULL;
    run_until(&w, "down up");
    assert_string_equal(w.query, "/");
    say_event(&w, "def", 1);
    run_until(&w, "1");
    assert_string_equal(w.order, "up 5 down up 1 ");
    teardown(&w);
}

static void a_stream_with_a_gap_or_a_malformed_event_starts_over(void **state)
{
    static const char *const bad[] = {
        "{\"incarnation\": \"abc\", \"number\": 7, \"type\": \"Size\"}\n",
        "{\"incarnation\": \"def\", \"number\": 6, \"type\": \"Size\"}\n",
        "{\"incarnation\": \"abc\", \"number\": 6, \"type\": \"DaemonWired\"}\n",
        "{\"incarnation\": \"abc\", \"number\": 6}\n",
        "{\"incarnation\": \"abc\"}\n",
        "{\"incarnation\"\n",
        "[]\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct world w;

        setup(&w);
        say_event(&w, "abc", 5);
        run_until(&w, "5");
        say(&w, bad[i]);
        run_until(&w, "down up");
        assert_string_equal(w.query, "/");
        assert_string_equal(w.order, "up 5 down up ");
        teardown(&w);
    }
}

static void an_event_of_an_unknown_type_is_ignored(void **state)
{
    struct world w;

    setup(&w);
    say_event(&w, "abc", 5);
    say(&w, "{\"incarnation\": \"abc\", \"number\": 6, \"type\": \"Party\"}\n");
    say_event(&w, "abc", 7);
    run_until(&w, "7");
    assert_string_equal(w.order, "up 5 7 ");
    teardown(&w);
}

static void a_lost_head_is_reported_once_and_a_poke_reconnects(void **state)
{
    struct world w;

    setup(&w);
    w.refuse_stream = 503;
    relay_cut(&w.relay);
    run_until(&w, "down");
    dvm_client_poke(w.client);
    run_until(&w, "down up");
    assert_string_equal(w.order, "up down up ");
    teardown(&w);
}

/* Moves the clock a millisecond a turn, so that every byte is delivered in its time. */
static void pass_time(struct world *w, int ms)
{
    for (int i = 0; i < ms; i++)
        clock_run_for(w->loop, 1);
}

/* An empty line, which arrives before any more time passes. */
static void say_beat(struct world *w)
{
    pass_time(w, 1);
    say(w, "\n");
    while (dvm_client_silent_ms(w->client) > 0)
        clock_turn(w->loop);
}

/* The client knows a time since which the head is silent. */
static void setup_heard(struct world *w)
{
    setup(w);
    say_event(w, "abc", 5);
    run_until(w, "5");
}

static void a_head_that_falls_silent_after_quick_lines_is_down_within_eleven_seconds(void **state)
{
    struct world w;

    setup_heard(&w);
    for (int i = 0; i < 3; i++) {
        say_beat(&w);
        pass_time(&w, 4000);
    }
    assert_int_equal(dvm_client_silent_ms(w.client), 4000);
    pass_time(&w, 5000);
    assert_string_equal(w.order, "up 5 ");
    pass_time(&w, 2000);
    assert_memory_equal(w.order, "up 5 down ", strlen("up 5 down "));
    teardown(&w);
}

static void beats_report_the_bound_jobs_and_are_a_sign_of_life(void **state)
{
    struct world w;

    setup_heard(&w);
    pass_time(&w, 3000);
    say(&w, "{\"type\": \"Beat\", \"boundJobs\": 2}\n");
    run_until(&w, "up 5 jobs:2");
    assert_true(dvm_client_silent_ms(w.client) < 3000);
    say(&w, "{\"type\": \"Beat\"}\n"); /* it is no event, so it needs no number */
    say_event(&w, "abc", 6);
    run_until(&w, "up 5 jobs:2 6");
    teardown(&w);
}

static void a_view_is_no_event_and_a_sign_of_life(void **state)
{
    struct world w;

    setup_heard(&w);
    pass_time(&w, 3000);
    say(&w, "{\"type\": \"View\", \"dvm\": {\"version\": 7}}\n");
    run_until(&w, "up 5 view:7");
    assert_true(dvm_client_silent_ms(w.client) < 3000);
    say_event(&w, "abc", 6);
    run_until(&w, "up 5 view:7 6");
    teardown(&w);
}

static void a_head_with_slow_lines_is_not_down_after_eleven_seconds(void **state)
{
    struct world w;

    setup_heard(&w);
    say_beat(&w); /* with the first line, which comes at once, only one time is short */
    pass_time(&w, 3000);
    say_beat(&w);
    pass_time(&w, 15000);
    say_beat(&w);
    pass_time(&w, 15000);
    assert_string_equal(w.order, "up 5 ");
    teardown(&w);
}

static void lines_keep_a_stream_open_and_forty_seconds_of_silence_end_it(void **state)
{
    struct world w;

    setup_heard(&w);
    for (int i = 0; i < 2; i++) {
        pass_time(&w, 30000);
        say_beat(&w);
    }
    assert_string_equal(w.order, "up 5 ");
    pass_time(&w, 41000);
    assert_memory_equal(w.order, "up 5 down ", strlen("up 5 down "));
    teardown(&w);
}

static void a_request_carries_its_body_and_id(void **state)
{
    struct world w;
    struct err err = {0};
    uint32_t targets[] = {5, 6};
    struct api_campaign_request r = {
        .sequence = 7, .deadline_s = -1, .ntargets = 2, .targets = targets};

    setup(&w);
    assert_int_equal(dvm_client_put_campaign(w.client, "a/b", &r, on_done, &w, &err), 0);
    run_until(&w, "answer");
    assert_int_equal(w.status, 200);
    assert_string_equal(w.last, "a/b {\"sequence\":7,\"kind\":\"shrink\",\"targets\":[5,6],"
                                "\"drain\":{\"mode\":\"Wait\"}}");
    assert_int_equal(dvm_client_cancel_campaign(w.client, "c", on_done, &w, &err), 0);
    run_until(&w, "answer answer");
    assert_string_equal(w.last, "c ");
    struct api_shutdown s = {.deadline_s = 3};
    assert_int_equal(dvm_client_put_shutdown(w.client, &s, on_done, &w, &err), 0);
    run_until(&w, "answer answer answer");
    assert_string_equal(w.last, "- {\"deadlineSeconds\":3}");
    teardown(&w);
}

static void a_refusal_carries_the_heads_message(void **state)
{
    struct world w;
    struct err err = {0};
    struct api_size s = {.sequence = 7, .members = 1};

    setup(&w);
    assert_int_equal(dvm_client_put_size(w.client, &s, on_done, &w, &err), 0);
    run_until(&w, "answer");
    assert_int_equal(w.status, 409);
    assert_string_equal(w.message, "PUT /v1/size: 7 is lower than 8 (409 SequenceTooOld)");
    teardown(&w);
}

static void a_broken_or_malformed_answer_has_no_status(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w);
    assert_int_equal(dvm_client_get_dvm(w.client, on_done, &w, &err), 0);
    run_until(&w, "answer");
    assert_int_equal(w.status, 0);
    assert_string_equal(w.message, "GET /v1/dvm: the answer is not a JSON object");
    assert_int_equal(dvm_client_get_dvm(w.client, on_done, &w, &err), 0);
    while (w.answers < 2) {
        snprintf(w.stop_when, sizeof(w.stop_when), " ");
        run(&w);
    }
    assert_int_equal(w.status, 0);
    teardown(&w);
}

static void too_many_requests_are_refused_and_the_client_drops_its_own(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w);
    for (int i = 0; i < 64; i++)
        assert_int_equal(dvm_client_get_dvm(w.client, on_done, &w, &err), 0);
    assert_int_equal(dvm_client_get_dvm(w.client, on_done, &w, &err), -1);
    assert_string_equal(err.msg, "GET /v1/dvm: 64 requests are not answered yet");
    teardown(&w);
    assert_int_equal(w.answers, 0);
}

static void on_link_destroy(bool up, const char *why, void *arg)
{
    struct world *w = arg;

    dvm_client_destroy(w->client);
    w->client = NULL;
    stop(w);
}

static void the_client_may_be_destroyed_in_its_callbacks(void **state)
{
    struct world w;

    setup_head(&w);
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        char connect[64];

        snprintf(connect, sizeof(connect), "127.0.0.1:%d", i ? w.relay.port : 1);
        struct dvm_client_opts o = {.host = HOST,
                                    .connect = connect,
                                    .port = 7443,
                                    .ca_pem = w.ca,
                                    .cert_pem = w.cert,
                                    .key_pem = w.key,
                                    .on_link = on_link_destroy,
                                    .arg = &w};
        w.client = dvm_client_create(w.loop, &o, &err);
        run(&w);
        assert_null(w.client);
    }
    teardown(&w);
}

/* Options of a client that shares `http`. */
static struct dvm_client_opts shared_options(struct world *w, struct http *http,
                                             const char *connect)
{
    return (struct dvm_client_opts){.host = HOST,
                                    .connect = connect,
                                    .port = 7443,
                                    .http = http,
                                    .ca_pem = w->ca,
                                    .cert_pem = w->cert,
                                    .key_pem = w->key,
                                    .on_event = on_event,
                                    .on_link = on_link,
                                    .arg = w};
}

static struct http *setup_shared(struct world *w, char connect[64])
{
    struct err err = {0};

    setup_head(w);
    snprintf(connect, 64, "127.0.0.1:%d", w->relay.port);
    struct http *http = http_create(w->loop, &err);
    assert_non_null(http);
    return http;
}

static void teardown_shared(struct world *w, struct http *http)
{
    dvm_client_destroy(w->client);
    w->client = NULL;
    http_destroy(http);
    teardown(w);
}

static void clients_that_share_an_http_client_are_destroyed_alone(void **state)
{
    struct world w;
    struct err err = {0};
    char connect[64];
    struct http *http = setup_shared(&w, connect);
    struct dvm_client_opts o = shared_options(&w, http, connect);
    struct dvm_client *other = dvm_client_create(w.loop, &o, &err);

    run_until(&w, "up");
    w.client = dvm_client_create(w.loop, &o, &err);
    run_until(&w, "up up");
    dvm_client_destroy(other);
    say_event(&w, "abc", 1);
    run_until(&w, "up up 1");
    teardown_shared(&w, http);
}

static void clients_that_share_an_http_client_trust_their_own_authority_only(void **state)
{
    struct world w;
    struct err err = {0};
    char connect[64];
    struct http *http = setup_shared(&w, connect);
    struct dvm_client_opts o = shared_options(&w, http, connect);
    struct dvm_client *trusting = dvm_client_create(w.loop, &o, &err);
    struct tls_ca *stranger = tls_ca_create("ns/y", 30, &err);
    FREE_AUTO char *pem = tls_ca_cert_pem(stranger);

    tls_ca_destroy(stranger);
    run_until(&w, "up");
    o.ca_pem = pem;
    w.client = dvm_client_create(w.loop, &o, &err);
    run_until(&w, "up down");
    assert_int_equal(w.streams, 1);
    assert_non_null(strstr(w.message, "unable to get local issuer certificate"));
    dvm_client_destroy(trusting);
    teardown_shared(&w, http);
}

static void a_stream_shows_the_certificate_of_its_client(void **state)
{
    struct world w;
    struct err err = {0};
    char connect[64];
    struct http *http = setup_shared(&w, connect);
    struct dvm_client_opts o = shared_options(&w, http, connect);
    struct dvm_client *before = dvm_client_create(w.loop, &o, &err);

    run_until(&w, "up");
    assert_string_equal(w.peer, "operator");
    dvm_client_destroy(before);
    o.cert_pem = w.renewed_cert;
    o.key_pem = w.renewed_key;
    w.client = dvm_client_create(w.loop, &o, &err);
    run_until(&w, "up up");
    assert_string_equal(w.peer, "operator-2");
    teardown_shared(&w, http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_without_its_keys_is_refused),
        cmocka_unit_test(a_head_with_another_name_is_refused),
        cmocka_unit_test(a_head_of_another_authority_is_refused),
        cmocka_unit_test(events_come_once_and_in_order),
        cmocka_unit_test(a_broken_stream_resumes_after_the_last_event),
        cmocka_unit_test(an_unknown_incarnation_starts_a_stream_without_a_position),
        cmocka_unit_test(a_stream_with_a_gap_or_a_malformed_event_starts_over),
        cmocka_unit_test(an_event_of_an_unknown_type_is_ignored),
        cmocka_unit_test(a_lost_head_is_reported_once_and_a_poke_reconnects),
        cmocka_unit_test(a_head_that_falls_silent_after_quick_lines_is_down_within_eleven_seconds),
        cmocka_unit_test(beats_report_the_bound_jobs_and_are_a_sign_of_life),
        cmocka_unit_test(a_view_is_no_event_and_a_sign_of_life),
        cmocka_unit_test(a_head_with_slow_lines_is_not_down_after_eleven_seconds),
        cmocka_unit_test(lines_keep_a_stream_open_and_forty_seconds_of_silence_end_it),
        cmocka_unit_test(a_request_carries_its_body_and_id),
        cmocka_unit_test(a_refusal_carries_the_heads_message),
        cmocka_unit_test(a_broken_or_malformed_answer_has_no_status),
        cmocka_unit_test(too_many_requests_are_refused_and_the_client_drops_its_own),
        cmocka_unit_test(the_client_may_be_destroyed_in_its_callbacks),
        cmocka_unit_test(clients_that_share_an_http_client_are_destroyed_alone),
        cmocka_unit_test(clients_that_share_an_http_client_trust_their_own_authority_only),
        cmocka_unit_test(a_stream_shows_the_certificate_of_its_client),
    };

    return cmocka_run_group_tests_name("dvm", tests, NULL, NULL);
}
