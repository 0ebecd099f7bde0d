/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the fingerprints of the wanted objects: when they are made anew, and what they are. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/objects/objects.h"
#include "operator/reconcile/wanted.h"

#include <string.h>

#define IMAGE "example.test/daemon:1"

struct fix {
    json_t *object;
    struct cluster c;
    struct wanted w;
};

static void decode_cluster(struct fix *f)
{
    struct err err = {0};

    cluster_free(&f->c);
    assert_int_equal(cluster_decode(f->object, &f->c, &err), 0);
    assert_int_equal(cluster_decode_spec(f->object, &f->c, &err), 0);
}

static bool refresh(struct fix *f)
{
    decode_cluster(f);
    return wanted_refresh(&f->w, f->object, &f->c, IMAGE);
}

static json_t *spec_of(struct fix *f)
{
    return json_object_get(f->object, "spec");
}

static int begin(void **state)
{
    static struct fix f;

    f = (struct fix){0};
    f.object = json_pack("{s:{s:s, s:s, s:s, s:s, s:i, s:{}}, s:{s:i}}", "metadata", "namespace",
                         "hpc", "name", "solver", "uid", "u-1", "resourceVersion", "7",
                         "generation", 1, "labels", "spec", "replicas", 2);
    *state = &f;
    return f.object && refresh(&f) ? 0 : -1;
}

static int end(void **state)
{
    struct fix *f = *state;

    cluster_free(&f->c);
    json_decref(f->object);
    return 0;
}

static void a_change_of_the_size_builds_no_object(void **state)
{
    struct fix *f = *state;
    struct wanted before = f->w;

    assert_false(refresh(f));
    json_object_set_new(spec_of(f), "replicas", json_integer(5));
    json_object_set_new(spec_of(f), "applicationLimits",
                        json_pack("{s:i, s:i}", "min", 5, "max", 5));
    json_object_set_new(spec_of(f), "suspend", json_true());
    json_object_set_new(json_object_get(f->object, "metadata"), "generation", json_integer(2));
    json_object_set_new(f->object, "status", json_pack("{s:i}", "replicas", 2));
    assert_false(refresh(f));
    f->w.inputs = 0; /* what is built now is the same */
    assert_true(refresh(f));
    assert_memory_equal(&f->w, &before, sizeof(before));
}

/* Fields of all parts of the spec, and the label of a queue. */
static void each_other_change_builds_the_objects_anew(void **state)
{
    static const char *const parts[] = {
        "{\"image\": \"example.test/daemon:2\"}",
        "{\"slotsPerDaemon\": 4}",
        "{\"head\": {\"slots\": 2}}",
        "{\"template\": {\"spec\": {\"nodeSelector\": {\"a\": \"b\"}}}}",
        "{\"drain\": {\"mode\": \"Kill\"}}",
        "{\"faults\": {\"nodeLost\": \"Wait\"}}",
        "{\"disruption\": {\"maxUnavailable\": 3}}",
    };
    struct fix *f = *state;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct wanted before = f->w;
        json_t *part = json_loads(parts[i], 0, NULL);

        json_object_update(spec_of(f), part);
        json_decref(part);
        assert_true(refresh(f));
        assert_memory_not_equal(&f->w.child, &before.child, sizeof(before.child));
    }
    struct wanted before = f->w;
    json_object_set_new(json_object_get(json_object_get(f->object, "metadata"), "labels"),
                        CLUSTER_LABEL_QUEUE, json_string("teams"));
    assert_true(refresh(f));
    assert_memory_not_equal(&f->w.child, &before.child, sizeof(before.child));
}

static void the_fingerprints_are_those_of_the_built_objects(void **state)
{
    struct fix *f = *state;

    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        json_t *o = wanted_build(&f->c, (enum cluster_child)i, 9, IMAGE);

        assert_string_equal(f->w.child[i].applied, objects_applied(o));
        assert_true(f->w.child[i].drift == objects_drift_print(o));
        json_decref(o);
    }
    FREE_AUTO char *spec = objects_spec_print(&f->c);
    assert_string_equal(f->w.child[CLUSTER_MEMBER_SET].spec, spec);
    f->c.disruption.head_busy = true;
    json_t *busy = wanted_build(&f->c, CLUSTER_HEAD_PDB, 0, IMAGE);
    assert_string_equal(f->w.busy_budget.applied, objects_applied(busy));
    assert_string_not_equal(f->w.child[CLUSTER_HEAD_PDB].applied, objects_applied(busy));
    json_decref(busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_of_the_size_builds_no_object, begin, end),
        cmocka_unit_test_setup_teardown(each_other_change_builds_the_objects_anew, begin, end),
        cmocka_unit_test_setup_teardown(the_fingerprints_are_those_of_the_built_objects, begin,
                                        end),
    };

    return cmocka_run_group_tests_name("wanted", tests, NULL, NULL);
}
