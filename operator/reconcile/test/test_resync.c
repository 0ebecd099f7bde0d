/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the slow resync: each cluster is planned for again although no watch has reported a
 * change. The clock stands until the test moves it; the API server is a fake one. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/loop/test/clock.h"
#include "operator/http/test/fake_server.h"
#include "operator/kube/test/local_config.h"
#include "operator/reconcile/reconcile_private.h"

#define MINUTE_MS 60000
#define TURNS 200 /* of the loop, in which both ends of a request have had theirs */
#define BOOKMARK                                                                                   \
    "{\"type\": \"BOOKMARK\", \"object\": {\"metadata\": {\"resourceVersion\": \"9\"}}}\n"
/* Its pass ends with a status: a negative size cannot be brought about. */
#define CLUSTERS                                                                                   \
    "{\"metadata\": {\"resourceVersion\": \"9\"}, \"items\": [{\"metadata\": {\"namespace\": "     \
    "\"hpc\", \"name\": \"x\", \"uid\": \"u\", \"resourceVersion\": \"7\", \"generation\": 1}, "   \
    "\"spec\": {\"replicas\": -1}}]}"
#define NOTHING "{\"metadata\": {\"resourceVersion\": \"9\"}, \"items\": []}"

static struct fix {
    struct loop *loop;
    struct kube *kube;
    struct reconciler *r;
    struct metrics *metrics;
    struct fake server;
    struct fake_conn *watches[CACHES];
    struct fake_conn *watch; /* that of the clusters */
    size_t nwatches;
    bool synced;
} fix;

/* As from a real server, the watch reports it too. */
static void keep_status(struct fake_conn *c, const char *body)
{
    json_t *o = json_loads(body, 0, NULL);

    assert_non_null(o);
    json_object_set_new(json_object_get(o, "metadata"), "resourceVersion", json_string("8"));
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);
    FREE_AUTO char *event = xasprintf("{\"type\": \"MODIFIED\", \"object\": %s}\n", text);
    fake_reply(c, 200, text);
    fake_chunk(fix.watch, event);
    json_decref(o);
}

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    bool clusters = strstr(target, "/dvmclusters") != NULL;

    if (strcmp(method, "PUT") == 0 && clusters) {
        keep_status(c, body);
    } else if (strcmp(method, "GET") != 0) {
        fake_reply(c, 201, "{}");
    } else if (strstr(target, "watch=1")) {
        fake_stream(c);
        assert_true(fix.nwatches < CACHES);
        fix.watches[fix.nwatches++] = c;
        fix.watch = clusters ? c : fix.watch;
    } else {
        fake_reply(c, 200, clusters ? CLUSTERS : NOTHING);
    }
}

static void on_synced(void *arg)
{
    fix.synced = true;
}

static void setup(void)
{
    static struct reconciler_opts o = {.default_image = "image:1", .on_synced = on_synced};
    const struct metrics_opts m = {.addr = "127.0.0.1"};
    struct err err = {0};

    fix = (struct fix){.loop = loop_create(&err)};
    fake_start(&fix.server, fix.loop, 0, on_request, NULL);
    fix.kube = kube_create(fix.loop, local_config_load(fix.server.port, &err), &err);
    assert_non_null(fix.kube);
    o.loop = fix.loop;
    o.kube = fix.kube;
    fix.r = reconciler_create(&o, &err);
    fix.metrics = metrics_create(fix.loop, &m, &err);
    assert_true(fix.r && fix.metrics);
    reconciler_measure(fix.r, fix.metrics);
    clock_run_until(fix.loop, &fix.synced);
}

static void teardown(void)
{
    reconciler_destroy(fix.r);
    kube_destroy(fix.kube);
    metrics_destroy(fix.metrics);
    fake_stop(&fix.server);
    loop_destroy(fix.loop);
}

/* The watches have a sign of life each minute, as from a real server. */
static void run_minutes(int n)
{
    for (int i = 0; i < n; i++) {
        clock_run_for(fix.loop, MINUTE_MS);
        for (size_t k = 0; k < fix.nwatches; k++)
            fake_chunk(fix.watches[k], BOOKMARK);
        for (int turn = 0; turn < TURNS; turn++)
            clock_turn(fix.loop);
    }
}

static unsigned count_passes(void)
{
    static const char *const names[] = {"\ndvm_operator_reconciles_total{result=\"ok\"} ",
                                        "\ndvm_operator_reconciles_total{result=\"error\"} "};
    FREE_AUTO char *text = metrics_text(fix.metrics);
    unsigned long n = 0;

    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(text, names[i]);

        assert_non_null(at);
        n += strtoul(at + strlen(names[i]), NULL, 10);
    }
    return (unsigned)n;
}

static void each_cluster_is_planned_for_again_some_ten_minutes_later(void **state)
{
    unsigned first;

    setup();
    run_minutes(1);
    first = count_passes();
    assert_true(first > 0);
    run_minutes(8);
    assert_int_equal(count_passes(), first);
    run_minutes(3);
    assert_int_equal(count_passes(), first + 1);
    run_minutes(12);
    assert_int_equal(count_passes(), first + 2);
    teardown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cluster_is_planned_for_again_some_ten_minutes_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
