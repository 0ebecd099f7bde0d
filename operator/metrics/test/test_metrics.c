/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the plain port: counters, text format, health and readiness. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/http/http.h"
#include "operator/metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_MS 20000

struct world {
    struct loop *loop;
    struct metrics *metrics;
    struct http *http;
    struct loop_timer *guard;
    const char *why;
    struct metrics_sample sample;
    int status;
    char *body;
};

static void on_guard(void *arg)
{
    fail_msg("nothing happened for %d ms", GUARD_MS);
}

static void on_scrape(struct metrics_sample *out, void *arg)
{
    struct world *w = arg;

    *out = w->sample;
}

static const char *not_ready(void *arg)
{
    struct world *w = arg;

    return w->why;
}

static void on_end(const struct http_answer *a, void *arg)
{
    struct world *w = arg;

    w->status = a->status;
    free(w->body);
    w->body = strndup(a->body, a->len);
    loop_stop(w->loop);
}

static void setup(struct world *w)
{
    struct err err = {0};

    *w = (struct world){0};
    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    struct metrics_opts o = {
        .addr = "127.0.0.1", .on_scrape = on_scrape, .not_ready = not_ready, .arg = w};
    w->metrics = metrics_create(w->loop, &o, &err);
    assert_non_null(w->metrics);
    w->http = http_create(w->loop, &err);
    assert_non_null(w->http);
}

static void teardown(struct world *w)
{
    http_destroy(w->http);
    metrics_destroy(w->metrics);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
    free(w->body);
}

static void get(struct world *w, const char *path)
{
    struct err err = {0};
    struct http_peer peer = {0};
    FREE_AUTO char *url = xasprintf("http://127.0.0.1:%d%s", metrics_port(w->metrics), path);
    struct http_call_opts o = {.method = "GET",
                               .url = url,
                               .peer = &peer,
                               .max_body = 1 << 20,
                               .timeout_ms = GUARD_MS,
                               .on_end = on_end,
                               .arg = w};

    assert_non_null(http_start(w->http, &o, &err));
    loop_timer_arm(w->guard, GUARD_MS);
    assert_int_equal(loop_run(w->loop, &err), 0);
    loop_timer_disarm(w->guard);
}

static void assert_line(const char *text, const char *line)
{
    FREE_AUTO char *whole = xasprintf("\n%s\n", line);

    if (!strstr(text, whole))
        fail_msg("no line \"%s\" in:\n%s", line, text);
}

static void a_port_that_is_taken_is_an_error_with_a_reason(void **state)
{
    struct world w;
    struct err err = {0};

    setup(&w);
    struct metrics_opts o = {.addr = "127.0.0.1", .port = metrics_port(w.metrics)};
    assert_null(metrics_create(w.loop, &o, &err));
    assert_int_equal(strncmp(err.msg, "metrics port: ", 14), 0);
    teardown(&w);
}

static void an_unknown_path_is_not_found(void **state)
{
    struct world w;

    setup(&w);
    get(&w, "/other");
    assert_int_equal(w.status, 404);
    teardown(&w);
}

static void readiness_names_the_missing_part(void **state)
{
    struct world w;

    setup(&w);
    w.why = "the list of clusters has not come yet";
    get(&w, "/readyz");
    assert_int_equal(w.status, 503);
    assert_string_equal(w.body, "the list of clusters has not come yet\n");
    get(&w, "/healthz");
    assert_int_equal(w.status, 200);
    w.why = NULL;
    get(&w, "/readyz");
    assert_int_equal(w.status, 200);
    teardown(&w);
}

static void counters_are_exported(void **state)
{
    struct world w;

    setup(&w);
    metrics_reconcile(w.metrics, true, 1500);
    metrics_reconcile(w.metrics, true, 7);
    metrics_reconcile(w.metrics, false, 1);
    metrics_campaign(w.metrics, METRICS_CAMPAIGN_STARTED);
    metrics_campaign(w.metrics, METRICS_CAMPAIGN_REFUSED);
    w.sample.queue_depth = 4;
    w.sample.passes_held = 7;
    w.sample.kube.by_class[KUBE_PATCH][4] = 2;
    w.sample.kube.by_class[KUBE_WATCH][0] = 1;
    w.sample.kube.watches_open = 6;
    get(&w, "/metrics");
    assert_int_equal(w.status, 200);
    assert_line(w.body, "dvm_operator_reconciles_total{result=\"ok\"} 2");
    assert_line(w.body, "dvm_operator_reconciles_total{result=\"error\"} 1");
    assert_line(w.body, "dvm_operator_reconcile_seconds_sum 1.508");
    assert_line(w.body, "dvm_operator_reconcile_seconds_count 3");
    assert_line(w.body, "dvm_operator_campaigns_total{outcome=\"started\"} 1");
    assert_line(w.body, "dvm_operator_campaigns_total{outcome=\"complete\"} 0");
    assert_line(w.body, "dvm_operator_campaigns_total{outcome=\"refused\"} 1");
    assert_line(w.body, "dvm_operator_queue_depth 4");
    assert_line(w.body, "dvm_operator_passes_held_total 7");
    assert_line(w.body, "dvm_operator_kube_requests_total{method=\"PATCH\",status=\"4xx\"} 2");
    assert_line(w.body, "dvm_operator_kube_requests_total{method=\"WATCH\",status=\"none\"} 1");
    assert_line(w.body, "dvm_operator_kube_watches 6");
    teardown(&w);
}

static void durations_of_requests_are_a_histogram_by_method_and_code(void **state)
{
    static struct kube_times times;
    struct world w;

    setup(&w);
    times.of[KUBE_PATCH][1] =
        (struct kube_time){.n = 4, .sum_ms = 40019, .within = {[0] = 1, [1] = 2}};
    w.sample.times = &times;
    get(&w, "/metrics");
#define PATCHES(bound) "dvm_operator_kube_request_seconds_bucket{" PATCH ",le=\"" bound "\"} "
#define PATCH "method=\"PATCH\",code=\"200\""
    assert_line(w.body, "# TYPE dvm_operator_kube_request_seconds histogram");
    assert_line(w.body, PATCHES("0.005") "1");
    assert_line(w.body, PATCHES("0.010") "3");
    assert_line(w.body, PATCHES("30.000") "3");
    assert_line(w.body, PATCHES("+Inf") "4");
    assert_line(w.body, "dvm_operator_kube_request_seconds_sum{" PATCH "} 40.019");
    assert_line(w.body, "dvm_operator_kube_request_seconds_count{" PATCH "} 4");
    assert_null(strstr(w.body, "kube_request_seconds_count{method=\"GET\""));
    teardown(&w);
}

static void the_sizes_of_a_cluster_are_exported_until_it_is_deleted(void **state)
{
    struct world w;
    struct metrics_cluster sizes = {.spec = 8, .desired = 7, .current = 6, .ready = 5};

    setup(&w);
    metrics_cluster_set(w.metrics, "hpc", "x", &sizes);
    sizes.ready = 6;
    sizes.head_up = true;
    sizes.certificate_end_s = 1790000000;
    metrics_cluster_set(w.metrics, "hpc", "x", &sizes);
    metrics_cluster_set(w.metrics, "hpc", "y", &sizes);
    metrics_cluster_remove(w.metrics, "hpc", "y");
    metrics_cluster_remove(w.metrics, "hpc", "z");
    FREE_AUTO char *text = metrics_text(w.metrics);
#define X "namespace=\"hpc\",cluster=\"x\""
    assert_line(text, "dvm_operator_cluster_members{" X ",kind=\"spec\"} 8");
    assert_line(text, "dvm_operator_cluster_members{" X ",kind=\"desired\"} 7");
    assert_line(text, "dvm_operator_cluster_members{" X ",kind=\"current\"} 6");
    assert_line(text, "dvm_operator_cluster_members{" X ",kind=\"ready\"} 6");
    assert_line(text, "dvm_operator_cluster_head_up{" X "} 1");
    assert_line(text, "dvm_operator_cluster_certificate_end_seconds{" X "} 1790000000");
    assert_line(text, "dvm_operator_clusters 1");
    assert_null(strstr(text, "cluster=\"y\""));
    teardown(&w);
}

static void every_family_is_described_once_before_its_samples(void **state)
{
    struct world w;
    char seen[64][128];
    int n = 0;

    setup(&w);
    FREE_AUTO char *text = metrics_text(w.metrics);
    char *save = NULL, family[128] = "";
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (sscanf(line, "# TYPE %127s", family) == 1) {
            for (int i = 0; i < n; i++)
                assert_string_not_equal(seen[i], family);
            assert_true(n < 64);
            snprintf(seen[n++], sizeof(seen[0]), "%s", family);
        } else if (line[0] != '#') {
            assert_int_equal(strncmp(line, family, strlen(family)), 0);
        }
    }
    assert_true(n > 10);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_is_taken_is_an_error_with_a_reason),
        cmocka_unit_test(an_unknown_path_is_not_found),
        cmocka_unit_test(readiness_names_the_missing_part),
        cmocka_unit_test(counters_are_exported),
        cmocka_unit_test(durations_of_requests_are_a_histogram_by_method_and_code),
        cmocka_unit_test(the_sizes_of_a_cluster_are_exported_until_it_is_deleted),
        cmocka_unit_test(every_family_is_described_once_before_its_samples),
    };

    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
