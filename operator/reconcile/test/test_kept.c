/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what the operator keeps of pods and children: their size, and that no field is lost. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/reconcile/reconcile_private.h"
#include "operator/reconcile/texts.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define UID "01234567-89ab-cdef-0123-456789abcdef"

static struct loop *loop;
static struct reconciler r;

static int open_loop(void **state)
{
    struct err err = {0};

    loop = loop_create(&err);
    r.o.loop = loop;
    return loop ? 0 : -1;
}

static int close_loop(void **state)
{
    loop_destroy(loop);
    return 0;
}

static json_t *pod_object(const char *container_state)
{
    FREE_AUTO char *text = xasprintf(
        "{\"metadata\": {\"name\": \"solver-12\", \"namespace\": \"hpc\", \"uid\": \"" UID "\", "
        "\"labels\": {\"dvm.openpmix.io/cluster\": \"solver\", \"dvm.openpmix.io/role\": "
        "\"member\", \"controller-revision-hash\": \"solver-5c9f7b8d9\"}, "
        "\"annotations\": {\"dvm.openpmix.io/spec\": \"0123456789abcdef\"}, "
        "\"ownerReferences\": [{\"kind\": \"StatefulSet\", \"name\": \"solver\", \"uid\": \"" UID
        "\", \"controller\": true}]}, \"spec\": {\"nodeName\": \"node-17.rack-3\", \"containers\": "
        "[{\"name\": \"prted\", \"image\": \"example.test/daemon:1\"}]}, \"status\": "
        "{\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}], \"containerStatuses\": "
        "[{\"name\": \"prted\", \"state\": %s}]}}",
        container_state);
    json_t *o = json_loads(text, 0, NULL);

    assert_non_null(o);
    return o;
}

static struct pod *keep_pod(const char *container_state, const struct pod *before)
{
    json_t *o = pod_object(container_state);
    struct pod *p = pod_keep(o, before, &r);

    json_decref(o);
    return p;
}

static void a_pod_that_runs_takes_at_most_300_bytes(void **state)
{
    struct pod *p = keep_pod("{\"running\": {\"startedAt\": \"2024-01-01T00:00:00Z\"}}", NULL);
    struct plan_pod seen;

    assert_in_range(malloc_usable_size(p), 1, 300);
    pod_read(p, &seen);
    assert_string_equal(seen.name, "solver-12");
    assert_string_equal(seen.uid, UID);
    assert_string_equal(seen.node, "node-17.rack-3");
    assert_true(seen.ready);
    assert_true(seen.running_since_ms == 1704067200000);
    assert_null(seen.waiting);
    assert_string_equal(pod_text(p, POD_SET), "solver");
    pod_unref(p);
}

static bool waits_for_volumes(const char *container_state)
{
    struct pod *p = keep_pod(container_state, NULL);
    struct plan_pod seen;

    pod_read(p, &seen);
    bool waits = pod_waits_for_volumes(&seen);
    pod_unref(p);
    return waits;
}

static void a_pod_waits_for_volumes_only_when_a_kubelet_has_it(void **state)
{
    assert_false(waits_for_volumes("{}"));
    assert_false(waits_for_volumes("{\"waiting\": {\"reason\": \"ErrImagePull\"}}"));
    assert_false(waits_for_volumes("{\"running\": {\"startedAt\": \"2024-01-01T00:00:00Z\"}}"));
    assert_true(waits_for_volumes("{\"waiting\": {\"reason\": \"ContainerCreating\"}}"));
}

static void the_words_about_an_image_stay_while_only_digits_differ(void **state)
{
    static const char *const states[] = {
        "{\"waiting\": {\"reason\": \"ErrImagePull\", \"message\": \"port 4711: refused\"}}",
        "{\"waiting\": {\"reason\": \"ErrImagePull\", \"message\": \"port 4712: refused\"}}",
        "{\"waiting\": {\"reason\": \"ImagePullBackOff\", \"message\": \"Back-off pulling image "
        "x\"}}"};
    struct pod *p = NULL;

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct pod *next = keep_pod(states[i], p);

        if (p)
            pod_unref(p);
        p = next;
        assert_string_equal(pod_text(p, POD_MESSAGE), "port 4711: refused");
        assert_string_equal(pod_text(p, POD_IMAGE), "example.test/daemon:1");
    }
    pod_unref(p);
}

static bool starves(const char *reason, const char *message)
{
    FREE_AUTO char *state = xasprintf("{\"waiting\": {\"reason\": \"CrashLoopBackOff\"}}, "
                                      "\"lastState\": {\"terminated\": {\"reason\": \"%s\", "
                                      "\"exitCode\": 128, \"message\": \"%s\"}}",
                                      reason, message);
    struct pod *p = keep_pod(state, NULL);
    bool starved = p->starved;

    pod_unref(p);
    return starved;
}

static void a_container_cannot_claim_by_its_own_message_that_memory_is_full(void **state)
{
    assert_false(starves("Error", "container init was OOM-killed (memory limit too low?)"));
    assert_false(starves("Completed", "memory limit"));
}

static void a_container_starves_by_the_words_of_the_kernel_or_the_runtime(void **state)
{
    assert_true(starves("OOMKilled", ""));
    assert_true(starves("StartError", "failed to create containerd task: runc create failed: "
                                      "container init was OOM-killed (memory limit too low?)"));
    assert_true(starves("ContainerCannotRun", "unable to set memory limit to 1048576"));
    assert_false(starves("StartError", "exec: no such file or directory"));
}

static void a_pod_stays_while_a_pass_has_it(void **state)
{
    struct pod *p = keep_pod("{}", NULL);
    struct pod *seen = pod_ref(p);

    pod_unref(p);
    assert_string_equal(pod_text(seen, POD_NAME), "solver-12");
    pod_unref(seen);
}

static void a_child_takes_at_most_300_bytes(void **state)
{
    struct cluster c = {.ns = (char *)"hpc", .name = (char *)"solver", .uid = (char *)UID};
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 5, "example.test/daemon:1");
    json_t *meta = json_object_get(o, "metadata");

    json_object_set_new(meta, "uid", json_string(UID));
    json_object_set_new(meta, "resourceVersion", json_string("123456789"));
    json_object_set_new(meta, "generation", json_integer(7));
    json_object_set_new(
        o, "status",
        json_pack("{s:s, s:i}", "updateRevision", "solver-5c9f7b8d9", "observedGeneration", 7));
    struct child *s = child_keep(o, NULL, NULL);
    assert_in_range(malloc_usable_size(s), 1, 300);
    assert_true(child_controlled(s, &c));
    assert_int_equal(s->replicas, 5);
    assert_true(s->observed);
    assert_string_equal(child_text(s, CHILD_PRINT), objects_applied(o));
    assert_string_equal(child_cluster(s), "solver");
    assert_true(s->drift == objects_drift_print(o));
    child_drop(s, NULL);

    json_object_del(meta, "ownerReferences");
    s = child_keep(o, NULL, NULL);
    assert_true(child_orphaned(s, &c));
    assert_false(child_controlled(s, &c));
    child_drop(s, NULL);
    json_decref(o);
}

static void a_long_text_is_cut_and_the_others_stay(void **state)
{
    FREE_AUTO char *text = xcalloc(1, 70000);
    struct block {
        uint16_t at[3];
    } * b;

    memset(text, 'a', 69999);
    const char *const texts[] = {text, NULL, "end"};
    b = texts_pack(sizeof(*b), 0, texts, 3);
    assert_int_equal(strlen(texts_get(b, b->at[0])), TEXT_BYTES_MAX);
    assert_null(texts_get(b, b->at[1]));
    assert_string_equal(texts_get(b, b->at[2]), "end");
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_that_runs_takes_at_most_300_bytes),
        cmocka_unit_test(a_pod_waits_for_volumes_only_when_a_kubelet_has_it),
        cmocka_unit_test(the_words_about_an_image_stay_while_only_digits_differ),
        cmocka_unit_test(a_container_cannot_claim_by_its_own_message_that_memory_is_full),
        cmocka_unit_test(a_container_starves_by_the_words_of_the_kernel_or_the_runtime),
        cmocka_unit_test(a_pod_stays_while_a_pass_has_it),
        cmocka_unit_test(a_child_takes_at_most_300_bytes),
        cmocka_unit_test(a_long_text_is_cut_and_the_others_stay),
    };

    return cmocka_run_group_tests_name("kept", tests, open_loop, close_loop);
}
