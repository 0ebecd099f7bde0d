/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what the operator asks of each collection, and that budgets are kept the same from their
 * metadata as from whole objects. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "operator/http/test/fake_server.h"
#include "operator/kube/test/local_config.h"
#include "operator/reconcile/reconcile_private.h"

#define GUARD_MS 20000
#define METADATA_AS(kind) "application/json;as=" kind ";g=meta.k8s.io;v=v1,application/json"

static const struct cluster CLUSTER = {
    .ns = (char *)"hpc", .name = (char *)"solver", .uid = (char *)"uid-1"};
static const char *const PLURALS[CACHES] = {"/dvmclusters?", "/pods?", "/statefulsets?",
                                            "/services?", "/poddisruptionbudgets?"};

static struct world {
    struct loop *loop;
    struct kube *kube;
    struct reconciler *r;
    struct fake server;
    struct loop_timer *guard;
    struct fake_conn *watches[CACHES];
    bool whole; /* the server gives whole objects, whatever is accepted */
} world;

/* A budget of the cluster as the server gives it. */
static json_t *make_budget(const char *version)
{
    json_t *o = objects_build(&CLUSTER, CLUSTER_PDB, 0, "");
    json_t *meta = json_object_get(o, "metadata");

    json_object_set_new(meta, "uid", json_string("uid-2"));
    json_object_set_new(meta, "resourceVersion", json_string(version));
    json_object_set_new(meta, "generation", json_integer(7));
    json_object_set_new(o, "status",
                        json_pack("{s:i, s:i}", "observedGeneration", 7, "disruptionsAllowed", 1));
    if (world.whole)
        return o;
    json_object_del(o, "spec");
    json_object_del(o, "status");
    json_object_set_new(o, "kind", json_string("PartialObjectMetadata"));
    json_object_set_new(o, "apiVersion", json_string("meta.k8s.io/v1"));
    return o;
}

static void check_accept(const char *head, const char *wanted)
{
    static const char before[] = "\r\nAccept: ";
    const char *at = strstr(head, before);

    assert_non_null(at);
    FREE_AUTO char *accept = xstrdup(at + strlen(before));
    accept[strcspn(accept, "\r")] = '\0';
    assert_string_equal(accept, wanted);
}

/* A list without objects, but of budgets with one. */
static void send_list(struct fake_conn *c, int which)
{
    json_t *items = json_array();

    if (which == CACHE_BUDGETS)
        json_array_append_new(items, make_budget("8"));
    json_t *o = json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion", "9", "items", items);
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);
    fake_reply(c, 200, text);
    json_decref(o);
}

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    int which = 0;

    while (!strstr(target, PLURALS[which]))
        assert_true(++which < CACHES);
    bool budgets = which == CACHE_BUDGETS;
    if (strstr(target, "watch=1")) {
        check_accept(head, budgets ? METADATA_AS("PartialObjectMetadata") : "application/json");
        fake_stream(c);
        world.watches[which] = c;
    } else {
        check_accept(head, budgets ? METADATA_AS("PartialObjectMetadataList") : "application/json");
        send_list(c, which);
    }
}

static void on_guard(void *arg)
{
    fail_msg("nothing happened for %d ms", GUARD_MS);
}

static void on_turn(void *arg)
{
    loop_stop(world.loop);
}

static void turn_loop(void)
{
    struct err err = {0};

    loop_post(world.loop, on_turn, NULL);
    assert_int_equal(loop_run(world.loop, &err), 0);
}

static int setup(void **state)
{
    struct err err = {0};

    memset(&world, 0, sizeof(world));
    world.loop = loop_create(&err);
    world.guard = loop_timer_create(world.loop, on_guard, NULL);
    loop_timer_arm(world.guard, GUARD_MS);
    fake_start(&world.server, world.loop, 0, on_request, NULL);
    world.kube = kube_create(world.loop, local_config_load(world.server.port, &err), &err);
    const struct reconciler_opts o = {.loop = world.loop, .kube = world.kube, .ns = "hpc"};
    world.r = reconciler_create(&o, &err);
    return world.r ? 0 : -1;
}

static int teardown(void **state)
{
    reconciler_destroy(world.r);
    kube_destroy(world.kube);
    fake_stop(&world.server);
    loop_timer_destroy(world.guard);
    loop_destroy(world.loop);
    return 0;
}

static void open_watches(void)
{
    for (int i = 0; i < CACHES; i++) {
        while (!world.watches[i])
            turn_loop();
    }
}

static void send_budget(const char *version)
{
    json_t *o = json_pack("{s:s, s:o}", "type", "MODIFIED", "object", make_budget(version));
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);
    FREE_AUTO char *line = xasprintf("%s\n", text);

    fake_chunk(world.watches[CACHE_BUDGETS], line);
    json_decref(o);
}

static void check_budget(const char *version)
{
    struct cache *cache = world.r->cache[CACHE_BUDGETS];
    json_t *wanted = objects_build(&CLUSTER, CLUSTER_PDB, 0, "");
    const struct child *b;

    while (!(b = cache_get(cache, "hpc", "solver")) ||
           strcmp(child_text(b, CHILD_VERSION), version) != 0)
        turn_loop();
    assert_string_equal(child_text(b, CHILD_UID), "uid-2");
    assert_string_equal(child_text(b, CHILD_PRINT), objects_applied(wanted));
    assert_true(child_controlled(b, &CLUSTER));
    assert_true(b->drift == objects_drift_print(wanted));
    assert_int_equal(b->generation, 7);
    json_decref(wanted);
}

static void budgets_are_asked_for_as_metadata_and_all_others_whole(void **state)
{
    open_watches();
}

static void a_budget_is_kept_from_its_metadata(void **state)
{
    check_budget("8");
    open_watches();
    send_budget("12");
    check_budget("12");
}

static void a_budget_is_kept_from_a_server_that_gives_whole_objects(void **state)
{
    world.whole = true;
    check_budget("8");
    open_watches();
    send_budget("12");
    check_budget("12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(budgets_are_asked_for_as_metadata_and_all_others_whole,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_budget_is_kept_from_its_metadata, setup, teardown),
        cmocka_unit_test_setup_teardown(a_budget_is_kept_from_a_server_that_gives_whole_objects,
                                        setup, teardown),
    };

    return cmocka_run_group_tests_name("collections", tests, NULL, NULL);
}
