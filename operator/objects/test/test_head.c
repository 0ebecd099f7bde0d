/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of spec.head.template: what it changes in the head's pod, and what stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "base/buf/buf.h"
#include "operator/objects/objects.h"

#include <string.h>

static struct cluster sample_cluster(void)
{
    return (struct cluster){.ns = (char *)"n",
                            .name = (char *)"x",
                            .uid = (char *)"u1",
                            .drain = {.mode = API_DRAIN_WAIT, .deadline_s = -1},
                            .faults = API_FAULTS_DEFAULTS};
}

static void set_templates(struct cluster *c, const char *common, const char *resources,
                          const char *head)
{
    c->template = json_loads(common, 0, NULL);
    c->head_resources = resources ? json_loads(resources, 0, NULL) : NULL;
    c->head_template = json_loads(head, 0, NULL);
    assert_true(c->template && c->head_template);
}

static void drop_templates(struct cluster *c)
{
    json_decref(c->template);
    json_decref(c->head_resources);
    json_decref(c->head_template);
}

/* Metadata and spec of the pods of a set. New references. */
static void take_pod(const struct cluster *c, enum cluster_child child, json_t **meta,
                     json_t **spec)
{
    json_t *o = objects_build(c, child, 1, "img");

    assert_int_equal(
        json_unpack(o, "{s:{s:{s:O, s:O}}}", "spec", "template", "metadata", meta, "spec", spec),
        0);
    json_decref(o);
}

static void maps_are_merged_by_key_and_null_removes_one(void **state)
{
    struct cluster c = sample_cluster();
    json_t *meta, *spec, *tolerations;
    const char *disk, *stable;

    set_templates(
        &c, "{\"spec\": {\"nodeSelector\": {\"disk\": \"ssd\"}, \"schedulerName\": \"s\"}}", NULL,
        "{\"spec\": {\"nodeSelector\": {\"stable\": \"yes\"}, \"schedulerName\": null, "
        "\"priorityClassName\": \"p\", \"tolerations\": [{\"key\": \"t\"}]}}");
    take_pod(&c, CLUSTER_HEAD_SET, &meta, &spec);
    assert_int_equal(json_unpack(spec, "{s:{s:s, s:s}, s:o}", "nodeSelector", "disk", &disk,
                                 "stable", &stable, "tolerations", &tolerations),
                     0);
    assert_string_equal(disk, "ssd");
    assert_string_equal(stable, "yes");
    assert_int_equal(json_array_size(tolerations), 1);
    assert_null(json_object_get(spec, "schedulerName"));
    assert_non_null(json_object_get(spec, "priorityClassName"));
    json_decref(meta);
    json_decref(spec);
    drop_templates(&c);
}

static void resources_of_the_template_are_merged_over_those_of_the_head(void **state)
{
    struct cluster c = sample_cluster();
    json_t *meta, *spec;
    int cpu, memory;
    const char *limit;

    set_templates(
        &c,
        "{\"spec\": {\"containers\": [{\"name\": \"prted\", \"resources\": {\"requests\": "
        "{\"cpu\": 64}}}]}}",
        "{\"requests\": {\"cpu\": 1, \"memory\": 2}}",
        "{\"spec\": {\"containers\": [{\"name\": \"prted\", \"resources\": {\"requests\": "
        "{\"cpu\": 3}, \"limits\": {\"memory\": \"4Gi\"}}}]}}");
    take_pod(&c, CLUSTER_HEAD_SET, &meta, &spec);
    assert_int_equal(json_unpack(spec, "{s:[{s:{s:{s:i, s:i}, s:{s:s}}}]}", "containers",
                                 "resources", "requests", "cpu", &cpu, "memory", &memory, "limits",
                                 "memory", &limit),
                     0);
    assert_int_equal(cpu, 3);
    assert_int_equal(memory, 2);
    assert_string_equal(limit, "4Gi");
    assert_int_equal(json_unpack(c.head_resources, "{s:{s:i}}", "requests", "cpu", &cpu), 0);
    assert_int_equal(cpu, 1); /* the spec is not changed */
    json_decref(meta);
    json_decref(spec);
    drop_templates(&c);
}

static void labels_and_annotations_are_merged_and_those_of_the_operator_stay(void **state)
{
    struct cluster c = sample_cluster();
    json_t *meta, *spec;
    const char *team, *role, *common, *own;

    set_templates(
        &c, "{\"metadata\": {\"labels\": {\"team\": \"a\"}, \"annotations\": {\"k\": \"v\"}}}",
        NULL,
        "{\"metadata\": {\"labels\": {\"team\": \"b\", \"dvm.openpmix.io/role\": \"evil\"}, "
        "\"annotations\": {\"h\": \"w\"}}}");
    take_pod(&c, CLUSTER_HEAD_SET, &meta, &spec);
    assert_int_equal(json_unpack(meta, "{s:{s:s, s:s}, s:{s:s, s:s}}", "labels", "team", &team,
                                 CLUSTER_LABEL_ROLE, &role, "annotations", "k", &common, "h", &own),
                     0);
    assert_string_equal(team, "b");
    assert_string_equal(role, "head");
    assert_string_equal(common, "v");
    assert_string_equal(own, "w");
    json_decref(meta);
    json_decref(spec);
    drop_templates(&c);
}

/* Not even the annotation that says what of the spec they were made from. */
static void the_members_stay_as_they_are(void **state)
{
    struct cluster c = sample_cluster();

    set_templates(&c, "{\"spec\": {\"nodeSelector\": {\"disk\": \"ssd\"}}}", NULL,
                  "{\"metadata\": {\"labels\": {\"a\": \"b\"}}, \"spec\": {\"hostname\": \"h\"}}");
    struct cluster without = c;
    without.head_template = NULL;
    json_t *a = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");
    json_t *b = objects_build(&without, CLUSTER_MEMBER_SET, 1, "img");
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    drop_templates(&c);
}

static void a_volume_shm_keeps_the_users_size(void **state)
{
    struct cluster c = sample_cluster();
    json_t *meta, *spec, *volume;
    size_t i, found = 0;

    set_templates(&c, "{}", "{\"limits\": {\"memory\": \"1Gi\"}}",
                  "{\"spec\": {\"volumes\": [{\"name\": \"shm\", \"emptyDir\": {}}]}}");
    take_pod(&c, CLUSTER_HEAD_SET, &meta, &spec);
    json_array_foreach(json_object_get(spec, "volumes"), i, volume)
    {
        if (strcmp(json_string_value(json_object_get(volume, "name")), "shm") == 0)
            found += json_object_size(json_object_get(volume, "emptyDir")) == 0;
    }
    assert_int_equal(found, 1);
    json_decref(meta);
    json_decref(spec);
    drop_templates(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_merged_by_key_and_null_removes_one),
        cmocka_unit_test(resources_of_the_template_are_merged_over_those_of_the_head),
        cmocka_unit_test(labels_and_annotations_are_merged_and_those_of_the_operator_stay),
        cmocka_unit_test(the_members_stay_as_they_are),
        cmocka_unit_test(a_volume_shm_keeps_the_users_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
