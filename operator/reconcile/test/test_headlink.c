/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the readings of a head's view, against a head made of base/httpd. The clock moves by a
 * millisecond a turn of the loop. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "api/dvm.h"
#include "base/buf/buf.h"
#include "base/httpd/httpd.h"
#include "base/loop/test/clock.h"
#include "operator/reconcile/headlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST "x-head.ns.svc"
#define READINGS_MAX 32
/* Turns that a request and its answer take. */
#define SLACK_MS 60
#define GUARD_MS 120000

struct world {
    struct loop *loop;
    struct httpd *head;
    struct tls_ctx *tls;
    struct headlink *link;
    char *pem[3]; /* borrowed by the link */
    struct loop_timer *guard;
    uint64_t at_ms[READINGS_MAX]; /* when the head was asked for its view */
    int nreadings, wanted;
    int warnings, changes;
    const char *first;  /* the first line of each stream */
    const char *reason; /* of each warning */
    bool broken;        /* the head refuses to show its view */
    bool stopped, changed;
};

static void on_guard(void *arg)
{
    const struct world *w = arg;

    fail_msg("%d readings in %d ms, not %d", w->nreadings, GUARD_MS, w->wanted);
}

static void run_until_read(struct world *w, int times)
{
    w->wanted = w->nreadings + times;
    w->stopped = false;
    clock_run_until(w->loop, &w->stopped);
}

static void on_closed(void *arg)
{
}

static void get_events(struct httpd_req *req, void *arg)
{
    struct world *w = arg;
    struct httpd_stream *s = httpd_stream_begin(req, "application/x-ndjson", on_closed, arg);

    assert_int_equal(httpd_stream_send(s, w->first, strlen(w->first)), 0);
}

static void get_dvm(struct httpd_req *req, void *arg)
{
    struct world *w = arg;
    const struct api_dvm d = {
        .incarnation = "0000000000000001", .cluster = (char *)"ns/x", .version = 1, .radix = 64};

    assert_true(w->nreadings < READINGS_MAX);
    w->at_ms[w->nreadings++] = loop_now_ms(w->loop);
    if (w->nreadings == w->wanted) {
        w->stopped = true;
        loop_stop(w->loop);
    }
    if (w->broken)
        httpd_refuse(req, 500, "Internal", "broken");
    else
        httpd_reply_json(req, 200, api_dvm_encode(&d));
}

static void on_change(void *arg)
{
    struct world *w = arg;

    w->changes++;
    w->changed = true;
}

static void on_warning(const char *what, const char *why, void *arg)
{
    struct world *w = arg;

    assert_string_equal(what, "the head's view is not read");
    assert_non_null(strstr(why, w->reason));
    w->warnings++;
}

static char *write_file(const char *dir, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* The head's TLS, and the operator's link to it. */
static void start_head_and_link(struct world *w)
{
    struct err err = {0};
    const char *const names[] = {HOST, NULL};
    FREE_AUTO char *head_cert = NULL, *head_key = NULL, *cert = NULL, *key = NULL;
    struct tls_ca *ca = tls_ca_create("ns/x", 30, &err);
    FREE_AUTO char *ca_pem = tls_ca_cert_pem(ca);
    char dir[] = "/tmp/test-headlink-XXXXXX";

    assert_int_equal(tls_ca_issue(ca, "head", "x-head-0", names, 30, &head_cert, &head_key, &err),
                     0);
    assert_int_equal(tls_ca_issue(ca, "operator", "operator", NULL, 30, &cert, &key, &err), 0);
    tls_ca_destroy(ca);
    assert_non_null(mkdtemp(dir));
    FREE_AUTO char *ca_file = write_file(dir, "ca", ca_pem);
    FREE_AUTO char *cert_file = write_file(dir, "cert", head_cert);
    FREE_AUTO char *key_file = write_file(dir, "key", head_key);
    struct tls_files files = {.ca = ca_file, .cert = cert_file, .key = key_file};
    w->tls = tls_ctx_create(&files, &err);
    assert_non_null(w->tls);
    unlink(ca_file);
    unlink(cert_file);
    unlink(key_file);
    rmdir(dir);
    struct httpd_opts o = {.addr = "127.0.0.1",
                           .tls = w->tls,
                           .max_body = 1024,
                           .max_conns = 8,
                           .idle_timeout_ms = 600000};
    w->head = httpd_create(w->loop, &o, &err);
    assert_non_null(w->head);
    httpd_route(w->head, "GET", "/v1/events", get_events, w);
    httpd_route(w->head, "GET", "/v1/dvm", get_dvm, w);
    FREE_AUTO char *address = xasprintf("127.0.0.1:%d", httpd_port(w->head));
    struct headlink_opts l = {.host = HOST,
                              .connect = address,
                              .ca_pem = w->pem[0] = xstrdup(ca_pem),
                              .cert_pem = w->pem[1] = xstrdup(cert),
                              .key_pem = w->pem[2] = xstrdup(key),
                              .on_change = on_change,
                              .on_warning = on_warning,
                              .arg = w};
    w->link = headlink_create(w->loop, &l, &err);
    assert_non_null(w->link);
}

static void setup_with(struct world *w, const char *first, bool broken)
{
    struct err err = {0};

    *w = (struct world){.first = first, .reason = "broken", .broken = broken};
    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    loop_timer_arm(w->guard, GUARD_MS);
    start_head_and_link(w);
}

/* An older head, which does not send its view by the stream, and refuses to show it. */
static void setup(struct world *w)
{
    setup_with(w, "\n", true);
}

static void teardown(struct world *w)
{
    headlink_destroy(w->link);
    for (int i = 0; i < 3; i++)
        free(w->pem[i]);
    httpd_destroy(w->head);
    tls_ctx_destroy(w->tls);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
}

/* The pause before a reading is half to all of `ms`. */
static void check_pause(const struct world *w, int reading, uint64_t ms)
{
    assert_in_range(w->at_ms[reading] - w->at_ms[reading - 1], ms / 2, ms + SLACK_MS);
}

static void a_view_that_cannot_be_read_is_asked_for_ever_more_rarely(void **state)
{
    struct world w;

    setup(&w);
    run_until_read(&w, 9);
    for (int i = 1; i < 9; i++)
        check_pause(&w, i, i < 7 ? 100ull << i : 10000);
    assert_int_equal(w.warnings, 8);
    teardown(&w);
}

static void a_view_that_was_read_ends_the_back_off(void **state)
{
    struct world w;

    setup(&w);
    run_until_read(&w, 5);
    w.broken = false;
    run_until_read(&w, 1);
    w.broken = true;
    clock_run_for(w.loop, SLACK_MS); /* the answer arrives */
    headlink_reread(w.link);
    run_until_read(&w, 2);
    check_pause(&w, 7, 200);
    teardown(&w);
}

#define VIEW                                                                                       \
    "{\"type\": \"View\", \"dvm\": {\"incarnation\": \"0000000000000001\", \"cluster\": "          \
    "\"ns/x\", "                                                                                   \
    "\"version\": 1, \"radix\": 64, \"size\": {\"sequence\": 0, \"members\": 0}, \"events\": "     \
    "{\"next\": 1}, \"members\": [], \"campaigns\": [], \"jobs\": []}}\n"

static void a_head_that_sends_its_view_by_the_stream_is_not_asked_for_it(void **state)
{
    struct world w;
    struct plan_head head;
    struct view *view;

    setup_with(&w, VIEW, false);
    clock_run_until(w.loop, &w.changed);
    clock_run_for(w.loop, 10 * HEADLINK_VIEW_MS);
    headlink_look(w.link, &head, &view);
    assert_int_equal(head.link, PLAN_LINK_UP);
    assert_string_equal(view->dvm.incarnation, "0000000000000001");
    headlink_view_release(view);
    assert_int_equal(w.nreadings, 0);
    assert_int_equal(w.changes, 1);
    teardown(&w);
}

static void a_head_that_sends_no_view_or_a_malformed_one_is_asked_for_it(void **state)
{
    static const struct {
        const char *first, *reason;
    } heads[] = {{"\n", NULL},
                 {"{\"type\": \"View\", \"dvm\": {}}\n", "incarnation"},
                 {"{\"type\": \"View\"}\n", "no JSON value"}};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct world w;

        setup_with(&w, heads[i].first, false);
        w.reason = heads[i].reason;
        run_until_read(&w, 1);
        assert_int_equal(w.warnings, i > 0);
        teardown(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_that_cannot_be_read_is_asked_for_ever_more_rarely),
        cmocka_unit_test(a_view_that_was_read_ends_the_back_off),
        cmocka_unit_test(a_head_that_sends_its_view_by_the_stream_is_not_asked_for_it),
        cmocka_unit_test(a_head_that_sends_no_view_or_a_malformed_one_is_asked_for_it),
    };

    return cmocka_run_group_tests_name("headlink", tests, NULL, NULL);
}
