/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the cache: pages, resumption, a new list, and servers that fail at each step. The
 * clock moves by a millisecond a turn of the loop. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/loop/test/clock.h"
#include "operator/cache/cache.h"
#include "operator/http/test/fake_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GUARD_MS 20000
#define SCRIPT_MAX 16

struct world;
typedef void answer_fn(struct fake_conn *c, const char *target);

struct world {
    struct loop *loop;
    struct kube *kube;
    struct cache *cache;
    struct fake server;
    struct loop_timer *guard;
    answer_fn *const *script; /* one for each request; the last one is repeated */
    int requests;
    char targets[SCRIPT_MAX][512];
    bool stopped;
    int stop_requests;  /* stops before the answer to the request of this number */
    char order[4096];   /* reports of on_change: "+name=version" or "-name" */
    char stop_when[64]; /* stops when `order` contains this */
    int synced;
    struct fake_conn *last;
};

static void on_guard(void *arg)
{
    fail_msg("nothing happened for %d ms", GUARD_MS);
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

static void run_until_told(struct world *w, const char *what)
{
    snprintf(w->stop_when, sizeof(w->stop_when), "%s", what);
    if (!strstr(w->order, what))
        run(w);
    w->stop_when[0] = '\0';
}

static void run_until_asked(struct world *w, int requests)
{
    w->stop_requests = requests;
    if (w->requests < requests)
        run(w);
}

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    struct world *w = arg;
    int n = 0;

    assert_string_equal(method, "GET");
    while (n < w->requests && w->script[n + 1])
        n++;
    if (w->requests < SCRIPT_MAX)
        snprintf(w->targets[w->requests], sizeof(w->targets[0]), "%s", target);
    w->requests++;
    w->last = c;
    if (w->requests == w->stop_requests)
        stop(w);
    w->script[n](c, target);
}

static void on_change(const char *key, const void *object, bool deleted, void *arg)
{
    struct world *w = arg;
    const json_t *meta = json_object_get(object, "metadata");
    FREE_AUTO char *word =
        deleted ? xasprintf("-%s ", json_string_value(json_object_get(meta, "name")))
                : xasprintf("+%s=%s ", json_string_value(json_object_get(meta, "name")),
                            json_string_value(json_object_get(meta, "resourceVersion")));

    assert_null(json_object_get(meta, "managedFields"));
    strncat(w->order, word, sizeof(w->order) - strlen(w->order) - 1);
    if (w->stop_when[0] && strstr(w->order, w->stop_when))
        stop(w);
}

static void on_synced(void *arg)
{
    struct world *w = arg;

    w->synced++;
    strncat(w->order, "synced ", sizeof(w->order) - strlen(w->order) - 1);
    if (strcmp(w->stop_when, "synced") == 0)
        stop(w);
}

static struct kube_config *config_for(int port)
{
    char path[] = "/tmp/test_cache.XXXXXX";
    int fd = mkstemp(path);
    struct err err = {0};
    struct kube_config *config;

    assert_true(fd >= 0);
    dprintf(fd,
            "clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:%d'}\n"
            "contexts:\n- name: x\n  context: {cluster: c, namespace: hpc, user: u}\n"
            "users:\n- name: u\n  user: {}\ncurrent-context: x\n",
            port);
    close(fd);
    config = kube_config_load(path, NULL, &err);
    unlink(path);
    if (!config)
        fail_msg("%s", err.msg);
    return config;
}

static void setup(struct world *w, answer_fn *const *script)
{
    struct err err = {0};

    *w = (struct world){.script = script};
    w->loop = loop_create(&err);
    assert_non_null(w->loop);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    fake_start(&w->server, w->loop, 0, on_request, w);
    w->kube = kube_create(w->loop, config_for(w->server.port), &err);
    struct cache_opts o = {.path = "/api/v1/pods",
                           .label_selector = "a=b,c",
                           .on_change = on_change,
                           .on_synced = on_synced,
                           .arg = w};
    w->cache = cache_create(w->loop, w->kube, &o, &err);
    assert_non_null(w->cache);
}

static void teardown(struct world *w)
{
    cache_destroy(w->cache);
    kube_destroy(w->kube);
    fake_stop(&w->server);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
}

/* --- answers */

#define OBJECT(name, version)                                                                      \
    "{\"metadata\": {\"namespace\": \"ns\", \"name\": \"" name "\", \"resourceVersion\": "         \
    "\"" version "\", \"managedFields\": [1]}}"
#define LIST(version, token, items)                                                                \
    "{\"kind\": \"PodList\", \"apiVersion\": \"v1\", \"metadata\": {\"resourceVersion\": "         \
    "\"" version "\", \"continue\": \"" token "\"}, \"items\": [" items "]}"
#define EVENT(type, object) "{\"type\": \"" type "\", \"object\": " object "}\n"

static void list_a_b(struct fake_conn *c, const char *target)
{
    fake_reply(c, 200, LIST("10", "", OBJECT("a", "1") "," OBJECT("b", "2")));
}

static void list_null(struct fake_conn *c, const char *target)
{
    fake_reply(c, 200, "{\"metadata\": {\"resourceVersion\": \"10\"}, \"items\": null}");
}

static void list_b_newer(struct fake_conn *c, const char *target)
{
    fake_reply(c, 200, LIST("20", "", OBJECT("b", "15")));
}

static void list_gone_back(struct fake_conn *c, const char *target)
{
    fake_reply(c, 200, LIST("5", "", OBJECT("b", "1")));
}

static void page_one(struct fake_conn *c, const char *target)
{
    fake_reply(c, 200, LIST("10", "more&=", OBJECT("a", "1")));
}

static void page_two(struct fake_conn *c, const char *target)
{
    fake_reply(c, 200, LIST("10", "", OBJECT("b", "2")));
}

static void refuse_410(struct fake_conn *c, const char *target)
{
    fake_reply(c, 410, "{\"kind\": \"Status\", \"code\": 410, \"message\": \"gone\"}");
}

static void refuse_500(struct fake_conn *c, const char *target)
{
    fake_reply(c, 500, "{\"kind\": \"Status\", \"code\": 500, \"message\": \"broken\"}");
}

static void no_list(struct fake_conn *c, const char *target)
{
    fake_reply(c, 200, "{\"items\": 7}");
}

static void hang_up(struct fake_conn *c, const char *target)
{
    fake_close(c);
}

static void watch_silent(struct fake_conn *c, const char *target)
{
    fake_stream(c);
}

static void watch_events(struct fake_conn *c, const char *target)
{
    fake_stream(c);
    fake_chunk(c, EVENT("ADDED", OBJECT("c", "11")) EVENT("MODIFIED", OBJECT("a", "12"))
                      EVENT("DELETED", OBJECT("b", "13")) EVENT("BOOKMARK", OBJECT("", "19")));
}

static void watch_events_then_close(struct fake_conn *c, const char *target)
{
    watch_events(c, target);
    fake_close(c);
}

static void watch_garbage(struct fake_conn *c, const char *target)
{
    fake_stream(c);
    fake_chunk(c, EVENT("ADDED", OBJECT("c", "11")) "what is this\n");
}

static void watch_410(struct fake_conn *c, const char *target)
{
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"ERROR\", \"object\": {\"code\": 410, \"message\": \"old\"}}\n");
}

static void watch_504(struct fake_conn *c, const char *target)
{
    fake_stream(c);
    fake_chunk(c, "{\"type\": \"ERROR\", \"object\": {\"code\": 504, \"message\": \"far\"}}\n");
}

/* --- tests */

static void a_path_with_a_query_is_refused(void **state)
{
    struct err err = {0};
    struct cache_opts o = {.path = "/api/v1/pods?limit=1"};

    assert_null(cache_create(NULL, NULL, &o, &err));
    assert_string_equal(err.msg, "/api/v1/pods?limit=1 is not the path of a collection");
}

static void a_failed_list_is_repeated_until_it_succeeds(void **state)
{
    static answer_fn *const script[] = {refuse_500, hang_up, no_list, list_a_b, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 3);
    assert_false(cache_synced(w.cache));
    assert_false(cache_connected(w.cache));
    run_until_told(&w, "synced");
    assert_string_equal(w.order, "+a=1 +b=2 synced ");
    assert_true(cache_connected(w.cache));
    teardown(&w);
}

static void a_list_without_objects_may_have_null_in_place_of_them(void **state)
{
    static answer_fn *const script[] = {list_null, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 2);
    assert_string_equal(w.order, "synced ");
    assert_non_null(strstr(w.targets[1], "resourceVersion=10"));
    teardown(&w);
}

static void pages_are_followed_to_the_last(void **state)
{
    static answer_fn *const script[] = {page_one, page_two, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 3);
    assert_string_equal(w.order, "+a=1 +b=2 synced ");
    assert_string_equal(w.targets[0], "/api/v1/pods?limit=100&labelSelector=a%3Db%2Cc");
    assert_string_equal(w.targets[1],
                        "/api/v1/pods?limit=100&labelSelector=a%3Db%2Cc&continue=more%26%3D");
    static const char before[] = "/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=";
    char *rest = NULL;
    assert_memory_equal(w.targets[2], before, sizeof(before) - 1);
    unsigned long length_s = strtoul(w.targets[2] + sizeof(before) - 1, &rest, 10);
    assert_string_equal(rest, "&resourceVersion=10&labelSelector=a%3Db%2Cc");
    assert_in_range(length_s, 300, 600);
    teardown(&w);
}

static void an_expired_page_token_restarts_the_list(void **state)
{
    static answer_fn *const script[] = {page_one, refuse_410, list_b_newer, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 4);
    assert_null(strstr(w.targets[2], "continue"));
    assert_string_equal(w.order, "+a=1 +b=15 -a synced ");
    assert_non_null(strstr(w.targets[3], "resourceVersion=20"));
    teardown(&w);
}

static void events_change_the_store_in_order(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_events, NULL};
    struct world w;

    setup(&w, script);
    run_until_told(&w, "-b");
    assert_string_equal(w.order, "+a=1 +b=2 synced +c=11 +a=12 -b ");
    assert_int_equal(cache_count(w.cache), 2);
    assert_null(cache_get(w.cache, "ns", "b"));
    const json_t *a = cache_get(w.cache, "ns", "a");
    assert_non_null(a);
    teardown(&w);
}

static void objects_of_a_list_have_their_kind(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_told(&w, "synced");
    const json_t *a = cache_get(w.cache, "ns", "a");
    assert_string_equal(json_string_value(json_object_get(a, "kind")), "Pod");
    assert_string_equal(json_string_value(json_object_get(a, "apiVersion")), "v1");
    teardown(&w);
}

static void a_broken_watch_resumes_where_it_stopped(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_events_then_close, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 3);
    assert_non_null(strstr(w.targets[2], "resourceVersion=19"));
    assert_non_null(strstr(w.targets[2], "watch=1"));
    assert_int_equal(kube_stats(w.kube).relists, 0);
    teardown(&w);
}

static void a_malformed_event_makes_the_watch_resume(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_garbage, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 3);
    assert_non_null(strstr(w.targets[2], "resourceVersion=11"));
    teardown(&w);
}

static void an_expired_version_leads_to_a_list_and_its_differences_are_reported(void **state)
{
    static answer_fn *const scripts[][5] = {
        {list_a_b, watch_410, list_b_newer, watch_silent, NULL},
        {list_a_b, refuse_410, list_b_newer, watch_silent, NULL}};

    for (size_t i = 0; i < 2; i++) {
        struct world w;

        setup(&w, scripts[i]);
        run_until_told(&w, "-a");
        assert_string_equal(w.order, "+a=1 +b=2 synced +b=15 -a ");
        assert_int_equal(kube_stats(w.kube).relists, 1);
        run_until_asked(&w, 4);
        assert_non_null(strstr(w.targets[3], "resourceVersion=20"));
        teardown(&w);
    }
}

static void a_version_that_is_refused_repeatedly_is_dropped(void **state)
{
    static answer_fn *const script[] = {list_a_b,       watch_504,    watch_504, watch_504,
                                        list_gone_back, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 6);
    /* The server was restored from a backup: its list counts. */
    assert_string_equal(w.order, "+a=1 +b=2 synced +b=1 -a ");
    assert_non_null(strstr(w.targets[5], "resourceVersion=5"));
    teardown(&w);
}

static void a_watch_continues_when_the_server_is_back(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 2);
    unsigned short port = w.server.port;
    fake_stop(&w.server);
    while (cache_connected(w.cache))
        clock_turn(w.loop);
    fake_start(&w.server, w.loop, port, on_request, &w);
    run_until_asked(&w, 3);
    while (!cache_connected(w.cache))
        clock_turn(w.loop);
    assert_non_null(strstr(w.targets[2], "watch=1"));
    assert_int_equal(w.synced, 1);
    teardown(&w);
}

static void hang(struct fake_conn *c, const char *target)
{
}

/* Runs the connections until the server has been asked so often; the clock stays. */
static void turn_until_asked(struct world *w, int requests)
{
    while (w->requests < requests)
        clock_turn(w->loop);
}

static void turn_until_heard(struct world *w)
{
    while (cache_age_ms(w->cache) > 0)
        clock_turn(w->loop);
}

static void a_silent_watch_is_opened_anew(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_events, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_told(&w, "-b");
    clock_run_for(w.loop, CACHE_SILENCE_MS - 1000);
    assert_int_equal(w.requests, 2);
    assert_in_range(cache_age_ms(w.cache), CACHE_SILENCE_MS - 1000, CACHE_SILENCE_MS);
    run_until_asked(&w, 3);
    assert_non_null(strstr(w.targets[2], "watch=1"));
    assert_non_null(strstr(w.targets[2], "resourceVersion=19"));
    turn_until_heard(&w);
    assert_true(cache_connected(w.cache));
    assert_int_equal(kube_stats(w.kube).relists, 0);
    teardown(&w);
}

static void a_bookmark_in_time_keeps_the_watch(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_events, NULL};
    struct world w;

    setup(&w, script);
    run_until_told(&w, "-b");
    for (int i = 0; i < 5; i++) {
        clock_run_for(w.loop, CACHE_SILENCE_MS / 2);
        fake_chunk(w.last, EVENT("BOOKMARK", OBJECT("", "20")));
        turn_until_heard(&w);
    }
    assert_int_equal(w.requests, 2);
    teardown(&w);
}

static void a_watch_that_is_not_accepted_is_tried_again_after_seconds(void **state)
{
    static answer_fn *const script[] = {list_a_b, hang, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 2);
    clock_run_for(w.loop, 4000);
    turn_until_asked(&w, 3);
    assert_non_null(strstr(w.targets[2], "watch=1"));
    teardown(&w);
}

static void the_collection_is_listed_again_after_an_hour(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_events, list_b_newer, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_told(&w, "-b");
    for (int i = 0; i < 76; i++) { /* a bookmark each minute */
        clock_run_for(w.loop, 60000);
        fake_chunk(w.last, EVENT("BOOKMARK", OBJECT("", "19")));
        turn_until_heard(&w);
    }
    fake_stream_end(w.last);
    run_until_told(&w, "-a");
    assert_non_null(strstr(w.targets[2], "limit=100"));
    assert_int_equal(kube_stats(w.kube).relists, 0); /* it was the regular one */
    teardown(&w);
}

static void our_own_write_is_seen_at_once_and_reported_once(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_silent, NULL};
    struct world w;

    setup(&w, script);
    run_until_asked(&w, 2);
    json_t *newer = json_loads(OBJECT("a", "12"), 0, NULL),
           *older = json_loads(OBJECT("a", "3"), 0, NULL);
    cache_put(w.cache, newer);
    cache_put(w.cache, older);
    const json_t *meta = json_object_get(cache_get(w.cache, "ns", "a"), "metadata");
    assert_string_equal(json_string_value(json_object_get(meta, "resourceVersion")), "12");
    fake_chunk(w.last, EVENT("MODIFIED", OBJECT("a", "12")) EVENT("ADDED", OBJECT("z", "14")));
    run_until_told(&w, "+z");
    assert_string_equal(w.order, "+a=1 +b=2 synced +z=14 ");
    json_decref(newer);
    json_decref(older);
    teardown(&w);
}

static void an_object_deleted_after_our_write_does_not_come_back(void **state)
{
    static answer_fn *const script[] = {list_a_b, watch_events, NULL};
    struct world w;

    setup(&w, script);
    run_until_told(&w, "-b");
    json_t *ghost = json_loads(OBJECT("b", "12"), 0, NULL);
    json_t *fresh = json_loads(OBJECT("b", "30"), 0, NULL);
    cache_put(w.cache, ghost);
    assert_null(cache_get(w.cache, "ns", "b"));
    cache_put(w.cache, fresh);
    assert_non_null(cache_get(w.cache, "ns", "b"));
    json_decref(ghost);
    json_decref(fresh);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_with_a_query_is_refused),
        cmocka_unit_test(a_failed_list_is_repeated_until_it_succeeds),
        cmocka_unit_test(a_list_without_objects_may_have_null_in_place_of_them),
        cmocka_unit_test(pages_are_followed_to_the_last),
        cmocka_unit_test(an_expired_page_token_restarts_the_list),
        cmocka_unit_test(events_change_the_store_in_order),
        cmocka_unit_test(objects_of_a_list_have_their_kind),
        cmocka_unit_test(a_broken_watch_resumes_where_it_stopped),
        cmocka_unit_test(a_malformed_event_makes_the_watch_resume),
        cmocka_unit_test(an_expired_version_leads_to_a_list_and_its_differences_are_reported),
        cmocka_unit_test(a_version_that_is_refused_repeatedly_is_dropped),
        cmocka_unit_test(a_watch_continues_when_the_server_is_back),
        cmocka_unit_test(a_silent_watch_is_opened_anew),
        cmocka_unit_test(a_bookmark_in_time_keeps_the_watch),
        cmocka_unit_test(a_watch_that_is_not_accepted_is_tried_again_after_seconds),
        cmocka_unit_test(the_collection_is_listed_again_after_an_hour),
        cmocka_unit_test(our_own_write_is_seen_at_once_and_reported_once),
        cmocka_unit_test(an_object_deleted_after_our_write_does_not_come_back),
    };

    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
