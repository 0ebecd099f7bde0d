/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the objects: names, selectors, security level, and the merge of templates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "base/buf/buf.h"
#include "operator/objects/objects.h"

#include <string.h>

static struct cluster sample(void)
{
    return (struct cluster){.ns = (char *)"n",
                            .name = (char *)"x",
                            .uid = (char *)"u1",
                            .replicas = 4,
                            .slots = 2,
                            .drain = {.mode = API_DRAIN_WAIT, .deadline_s = -1},
                            .faults = API_FAULTS_DEFAULTS};
}

/* Looks up a path such as "spec.template.spec.containers.0.name". Borrowed. */
static json_t *at(json_t *o, const char *path)
{
    FREE_AUTO char *copy = xstrdup(path);
    char *save = NULL;

    for (char *k = strtok_r(copy, ".", &save); k && o; k = strtok_r(NULL, ".", &save))
        o = json_is_array(o) ? json_array_get(o, strtoul(k, NULL, 10)) : json_object_get(o, k);
    return o;
}

static const char *text(json_t *o, const char *path)
{
    const char *s = json_string_value(at(o, path));

    return s ? s : "(none)";
}

static json_t *by_name(json_t *list, const char *name)
{
    json_t *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        if (strcmp(text(o, "name"), name) == 0)
            return o;
    }
    return NULL;
}

static bool has_arg(json_t *set, const char *flag, const char *value)
{
    json_t *args = at(set, "spec.template.spec.containers.0.args");

    for (size_t i = 0; i + 1 < json_array_size(args); i++) {
        if (strcmp(json_string_value(json_array_get(args, i)), flag) == 0)
            return strcmp(json_string_value(json_array_get(args, i + 1)), value) == 0;
    }
    return false;
}

static bool names_arg(json_t *set, const char *flag)
{
    json_t *args = at(set, "spec.template.spec.containers.0.args");

    for (size_t i = 0; i < json_array_size(args); i++) {
        if (strcmp(json_string_value(json_array_get(args, i)), flag) == 0)
            return true;
    }
    return false;
}

static void a_pod_tolerates_a_lost_node_for_thirty_seconds_unless_it_waits(void **state)
{
    struct cluster c = sample();
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "i");
    json_t *list = at(o, "spec.template.spec.tolerations");

    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(text(list, "1.key"), "node.kubernetes.io/unreachable");
    assert_string_equal(text(list, "1.effect"), "NoExecute");
    assert_int_equal(json_integer_value(at(list, "1.tolerationSeconds")), 30);
    json_decref(o);
    c.node_lost_wait = true;
    o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "i");
    assert_null(at(o, "spec.template.spec.tolerations"));
    json_decref(o);
}

/* The size of /dev/shm of a daemon whose container, and whose pod, has this memory limit (NULL:
 * none). On the heap. */
static char *shm_with_limits(const char *limit, const char *pod, enum cluster_child child)
{
    struct cluster c = sample();

    c.template = json_pack("{s:{s:[{s:s, s:{s:{s:o*}}}], s:{s:{s:o*}}}}", "spec", "containers",
                           "name", "prted", "resources", "limits", "memory",
                           limit ? json_loads(limit, JSON_DECODE_ANY, NULL) : NULL, "resources",
                           "limits", "memory", pod ? json_string(pod) : NULL);
    json_t *o = objects_build(&c, child, 1, "i");
    json_t *shm = by_name(at(o, "spec.template.spec.volumes"), "shm");
    char *size = xstrdup(text(shm, "emptyDir.sizeLimit"));

    json_decref(o);
    json_decref(c.template);
    return size;
}

static void shared_memory_is_half_of_the_memory_limit(void **state)
{
    static const struct {
        const char *limit, *size;
    } cases[] = {{"\"512Mi\"", "262144Ki"}, {"\"8Gi\"", "4194304Ki"}, {"\"1.5Gi\"", "786432Ki"},
                 {"\"1G\"", "488281Ki"},    {"1048576", "512Ki"},     {"\"1e6\"", "488Ki"},
                 {"\"many\"", "1Gi"},       {"\"1Xi\"", "1Gi"},       {"-5", "1Gi"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        FREE_AUTO char *size = shm_with_limits(cases[i].limit, NULL, CLUSTER_MEMBER_SET);

        assert_string_equal(size, cases[i].size);
    }
}

static void
a_limit_of_the_pod_bounds_shared_memory_where_the_container_has_none_or_more(void **state)
{
    static const struct {
        const char *limit, *pod, *size;
    } cases[] = {{NULL, "512Mi", "262144Ki"},
                 {"\"1Gi\"", "512Mi", "262144Ki"},
                 {"\"256Mi\"", "512Mi", "131072Ki"},
                 {"\"256Mi\"", "many", "131072Ki"},
                 {NULL, NULL, "1Gi"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        FREE_AUTO char *size = shm_with_limits(cases[i].limit, cases[i].pod, CLUSTER_MEMBER_SET);

        assert_string_equal(size, cases[i].size);
    }
    /* The head's container has no limit of the template's; its pod has. */
    FREE_AUTO char *head = shm_with_limits("\"64Mi\"", "512Mi", CLUSTER_HEAD_SET);
    assert_string_equal(head, "262144Ki");
}

static void slots_without_a_value_are_left_to_the_daemon(void **state)
{
    struct cluster c = sample();

    c.slots = 0;
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 4, "img");
    assert_false(names_arg(o, "--slots"));
    json_decref(o);
    o = objects_build(&c, CLUSTER_HEAD_SET, 1, "img");
    assert_true(has_arg(o, "--slots", "0"));
    json_decref(o);
}

static void the_members_ordinals_are_their_vpids(void **state)
{
    struct cluster c = sample();
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 4, "img");

    assert_string_equal(text(o, "metadata.name"), "x");
    assert_int_equal(json_integer_value(at(o, "spec.ordinals.start")), 1);
    assert_int_equal(json_integer_value(at(o, "spec.replicas")), 4);
    assert_string_equal(text(o, "spec.podManagementPolicy"), "Parallel");
    assert_string_equal(text(o, "spec.updateStrategy.type"), "OnDelete");
    assert_string_equal(text(o, "spec.serviceName"), "x");
    assert_true(has_arg(o, "--role", "member"));
    assert_true(has_arg(o, "--cluster", "n/x"));
    assert_true(has_arg(o, "--head", "x-head.n.svc:7400"));
    assert_true(has_arg(o, "--slots", "2"));
    json_decref(o);
    o = objects_build(&c, CLUSTER_HEAD_SET, 1, "img");
    assert_string_equal(text(o, "metadata.name"), "x-head");
    assert_null(at(o, "spec.ordinals"));
    assert_true(has_arg(o, "--role", "head"));
    assert_true(has_arg(o, "--slots", "0"));
    json_decref(o);
}

static void everything_is_owned_by_the_cluster(void **state)
{
    struct cluster c = sample(), other = sample();

    other.uid = (char *)"u2";
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        json_t *o = objects_build(&c, (enum cluster_child)i, 1, "img");

        assert_true(objects_controlled(o, &c));
        assert_false(objects_controlled(o, &other));
        assert_string_equal(text(o, "metadata.ownerReferences.0.kind"), "DvmCluster");
        json_decref(o);
    }
}

static void the_controller_decides_and_not_the_labels(void **state)
{
    struct cluster c = sample();
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");
    json_t *meta = json_object_get(o, "metadata");
    const char *uid = NULL;

    assert_string_equal(objects_controller(o, "DvmCluster", &uid), "x");
    assert_string_equal(uid, c.uid);
    assert_null(objects_controller(o, "StatefulSet", NULL));
    assert_false(objects_orphaned(o, &c));
    json_object_del(meta, "ownerReferences");
    assert_null(objects_controller(o, "DvmCluster", NULL));
    assert_false(objects_controlled(o, &c));
    assert_true(objects_orphaned(o, &c));
    json_object_del(json_object_get(meta, "labels"), CLUSTER_LABEL_MANAGER);
    assert_false(objects_orphaned(o, &c));
    json_decref(o);
}

static void a_changed_label_and_a_changed_service_are_noticed(void **state)
{
    struct cluster c = sample();

    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        json_t *wanted = objects_build(&c, (enum cluster_child)i, 1, "img");
        json_t *o = json_deep_copy(wanted);
        json_t *labels = json_object_get(json_object_get(o, "metadata"), "labels");
        json_t *spec = json_object_get(o, "spec");
        bool service = i == CLUSTER_SERVICE || i == CLUSTER_HEAD_SERVICE;
        uint64_t before = objects_drift_print(wanted);

        json_object_set_new(labels, "more", json_string("of others"));
        json_object_set_new(spec, "clusterIPs", json_pack("[s]", "10.0.0.1"));
        assert_true(objects_drift_print(o) == before); /* defaults, and labels of others */
        json_object_set_new(spec, "selector", json_pack("{s:s}", "app", "theirs"));
        assert_int_equal(objects_drift_print(o) != before, service);
        json_object_set_new(labels, CLUSTER_LABEL_ROLE, json_string("theirs"));
        assert_true(objects_drift_print(o) != before);
        json_decref(o);
        json_decref(wanted);
    }
}

static void a_port_of_a_service_that_is_missing_or_changed_is_noticed(void **state)
{
    struct cluster c = sample();
    json_t *wanted = objects_build(&c, CLUSTER_HEAD_SERVICE, 1, "img");
    json_t *o = json_deep_copy(wanted);
    json_t *ports = json_object_get(json_object_get(o, "spec"), "ports");

    json_object_set_new(json_array_get(ports, 0), "nodePort", json_integer(30000));
    json_array_insert_new(ports, 0, json_pack("{s:i}", "port", 80));
    assert_true(objects_drift_print(wanted) == objects_drift_print(o));
    json_object_set_new(json_array_get(ports, 1), "port", json_integer(81));
    assert_true(objects_drift_print(wanted) != objects_drift_print(o));
    json_decref(o);
    json_decref(wanted);
}

static void selectors_use_only_what_never_changes(void **state)
{
    struct cluster c = sample();
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");
    json_t *match = at(o, "spec.selector.matchLabels");

    assert_int_equal(json_object_size(match), 2);
    assert_string_equal(text(at(o, "spec.template.metadata"), "labels.app"), "(none)");
    json_decref(o);
    FREE_AUTO char *selector = cluster_selector(&c);
    assert_string_equal(selector, "dvm.openpmix.io/cluster=x,dvm.openpmix.io/role=member");
}

static void budgets_never_overlap(void **state)
{
    struct cluster c = sample();
    json_t *a = objects_build(&c, CLUSTER_PDB, 0, "i"),
           *b = objects_build(&c, CLUSTER_HEAD_PDB, 0, "i");

    assert_false(json_equal(at(a, "spec.selector"), at(b, "spec.selector")));
    assert_string_equal(text(a, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow");
    json_decref(a);
    json_decref(b);
}

static void addresses_are_published_before_readiness(void **state)
{
    struct cluster c = sample();
    json_t *o = objects_build(&c, CLUSTER_SERVICE, 0, "i");

    assert_string_equal(text(o, "spec.clusterIP"), "None");
    assert_true(json_is_true(at(o, "spec.publishNotReadyAddresses")));
    json_decref(o);
    o = objects_build(&c, CLUSTER_HEAD_SERVICE, 0, "i");
    assert_string_equal(text(o, "metadata.name"), "x-head");
    assert_true(json_is_true(at(o, "spec.publishNotReadyAddresses")));
    assert_int_equal(json_integer_value(at(o, "spec.ports.0.port")), API_PORT_CONTROL);
    json_decref(o);
}

static void pods_are_of_the_restricted_level(void **state)
{
    struct cluster c = sample();
    static const enum cluster_child sets[] = {CLUSTER_HEAD_SET, CLUSTER_MEMBER_SET};

    for (int i = 0; i < 2; i++) {
        json_t *o = objects_build(&c, sets[i], 1, "img");
        json_t *pod = at(o, "spec.template.spec"), *k = at(pod, "containers.0");

        assert_true(json_is_true(at(pod, "securityContext.runAsNonRoot")));
        assert_true(json_integer_value(at(pod, "securityContext.runAsUser")) > 0);
        assert_string_equal(text(pod, "securityContext.seccompProfile.type"), "RuntimeDefault");
        assert_true(json_is_false(at(k, "securityContext.allowPrivilegeEscalation")));
        assert_true(json_is_true(at(k, "securityContext.readOnlyRootFilesystem")));
        assert_string_equal(text(k, "securityContext.capabilities.drop.0"), "ALL");
        assert_true(json_is_false(at(pod, "automountServiceAccountToken")));
        assert_string_equal(text(by_name(at(pod, "volumes"), "shm"), "emptyDir.medium"), "Memory");
        assert_string_equal(text(k, "livenessProbe.httpGet.path"), "/healthz");
        assert_string_equal(text(k, "readinessProbe.httpGet.path"), "/readyz");
        json_decref(o);
    }
}

static void limits_of_faults_are_written_unless_they_are_the_defaults(void **state)
{
    static const enum cluster_child sets[] = {CLUSTER_HEAD_SET, CLUSTER_MEMBER_SET};

    for (size_t i = 0; i < 2; i++) {
        struct cluster c = sample();
        json_t *o = objects_build(&c, sets[i], 1, "img");

        assert_false(names_arg(o, "--link-grace-ms") || names_arg(o, "--silence-ms") ||
                     names_arg(o, "--head-absence-ms"));
        json_decref(o);
        c.faults = (struct api_faults){2000, 20000, 60000};
        o = objects_build(&c, sets[i], 1, "img");
        assert_true(has_arg(o, "--link-grace-ms", "2000"));
        assert_true(has_arg(o, "--silence-ms", "20000"));
        assert_true(has_arg(o, "--head-absence-ms", "60000"));
        json_decref(o);
    }
}

static void the_head_alone_has_its_records_kept_by_members(void **state)
{
    struct cluster c = sample();
    json_t *head = objects_build(&c, CLUSTER_HEAD_SET, 1, "img");
    json_t *members = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");

    assert_true(names_arg(head, "--keepers"));
    assert_false(names_arg(members, "--keepers"));
    json_decref(head);
    json_decref(members);
}

static void the_head_alone_has_the_volume_of_its_records(void **state)
{
    static const enum cluster_child sets[] = {CLUSTER_HEAD_SET, CLUSTER_MEMBER_SET};

    for (size_t i = 0; i < 2; i++) {
        struct cluster c = sample();
        json_t *without = objects_build(&c, sets[i], 1, "img");

        c.head_claim = (char *)"claim";
        json_t *with = objects_build(&c, sets[i], 1, "img");
        json_t *volumes = at(with, "spec.template.spec.volumes");
        json_t *mounts = at(with, "spec.template.spec.containers.0.volumeMounts");

        assert_false(names_arg(without, "--keep-records") || names_arg(without, "--records-dir"));
        assert_null(by_name(at(without, "spec.template.spec.volumes"), "records"));
        if (sets[i] == CLUSTER_HEAD_SET) {
            assert_true(names_arg(with, "--keep-records") && names_arg(with, "--keepers"));
            assert_true(has_arg(with, "--records-dir", "/var/lib/dvm/u1"));
            assert_string_equal(
                text(by_name(volumes, "records"), "persistentVolumeClaim.claimName"), "claim");
            assert_string_equal(text(by_name(mounts, "records"), "mountPath"), "/var/lib/dvm");
            assert_string_not_equal(objects_applied(without), objects_applied(with));
        } else {
            assert_true(json_equal(without, with));
        }
        json_decref(without);
        json_decref(with);
    }
}

static int64_t grace(enum api_drain_mode mode, int64_t deadline_s)
{
    struct cluster c = sample();

    c.drain = (struct cluster_drain){.mode = mode, .deadline_s = deadline_s};
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");
    int64_t s = json_integer_value(at(o, "spec.template.spec.terminationGracePeriodSeconds"));
    json_decref(o);
    return s;
}

static void the_termination_grace_follows_from_the_drain(void **state)
{
    assert_int_equal(grace(API_DRAIN_KILL, -1), 30);
    assert_int_equal(grace(API_DRAIN_WAIT, 60), 90);
    assert_int_equal(grace(API_DRAIN_WAIT, -1), CLUSTER_GRACE_CAP_S);
    assert_int_equal(grace(API_DRAIN_WAIT, 86400), CLUSTER_GRACE_CAP_S);
}

static json_t *with_template(const char *template, enum cluster_child child)
{
    struct cluster c = sample();

    c.template = json_loads(template, 0, NULL);
    assert_non_null(c.template);
    json_t *o = objects_build(&c, child, 1, "img");
    json_decref(c.template);
    return o;
}

static void a_template_adds_and_replaces_by_name(void **state)
{
    json_t *o = with_template(
        "{\"metadata\": {\"labels\": {\"team\": \"a\", \"dvm.openpmix.io/role\": \"evil\"},"
        " \"annotations\": {\"k\": \"v\"}},"
        " \"spec\": {\"nodeSelector\": {\"disk\": \"ssd\"},"
        "  \"topologySpreadConstraints\": null,"
        "  \"securityContext\": {\"runAsUser\": 1000},"
        "  \"volumes\": [{\"name\": \"shm\", \"emptyDir\": {\"medium\": \"Memory\"}},"
        "                {\"name\": \"data\", \"emptyDir\": {}}],"
        "  \"containers\": [{\"name\": \"prted\", \"env\": [{\"name\": \"HOME\", \"value\": "
        "\"/d\"},"
        "     {\"name\": \"A\", \"value\": \"b\"}], \"volumeMounts\": [{\"name\": \"data\","
        "     \"mountPath\": \"/d\"}], \"resources\": {\"limits\": {\"cpu\": \"2\"}}},"
        "    {\"name\": \"side\", \"image\": \"s\"}]}}",
        CLUSTER_MEMBER_SET);
    json_t *t = at(o, "spec.template"), *pod = at(t, "spec"), *k = at(pod, "containers.0");

    assert_string_equal(text(at(t, "metadata.labels"), "team"), "a");
    assert_string_equal(
        json_string_value(json_object_get(at(t, "metadata.labels"), CLUSTER_LABEL_ROLE)), "member");
    assert_string_equal(text(t, "metadata.annotations.k"), "v");
    assert_string_equal(text(pod, "nodeSelector.disk"), "ssd");
    assert_null(at(pod, "topologySpreadConstraints"));
    assert_int_equal(json_integer_value(at(pod, "securityContext.runAsUser")), 1000);
    assert_true(json_is_true(at(pod, "securityContext.runAsNonRoot")));
    assert_int_equal(json_array_size(at(pod, "volumes")), 5);
    assert_null(at(by_name(at(pod, "volumes"), "shm"), "emptyDir.sizeLimit"));
    assert_int_equal(json_array_size(at(pod, "containers")), 2);
    assert_string_equal(text(k, "command.0"), "prted");
    assert_string_equal(text(by_name(at(k, "env"), "HOME"), "value"), "/d");
    assert_non_null(by_name(at(k, "env"), "POD_IP"));
    assert_string_equal(text(k, "resources.limits.cpu"), "2");
    assert_string_equal(text(k, "resources.requests.cpu"), "50m");
    assert_int_equal(json_array_size(at(k, "volumeMounts")), 5);
    json_decref(o);
}

static const char *spec_of(json_t *set)
{
    json_t *annotations = at(set, "spec.template.metadata.annotations");

    return json_string_value(json_object_get(annotations, OBJECTS_SPEC));
}

/* The container that kubectl takes in the pods of this set, with this metadata in the template. */
static char *default_container(enum cluster_child child, const char *metadata)
{
    FREE_AUTO char *template = xasprintf("{\"metadata\": %s}", metadata);
    json_t *o = with_template(template, child);
    json_t *annotations = at(o, "spec.template.metadata.annotations");
    const char *name =
        json_string_value(json_object_get(annotations, "kubectl.kubernetes.io/default-container"));
    char *copy = name ? xstrdup(name) : NULL;

    json_decref(o);
    return copy;
}

static void kubectl_takes_the_daemons_container_unless_the_template_names_another(void **state)
{
    static const enum cluster_child sets[] = {CLUSTER_HEAD_SET, CLUSTER_MEMBER_SET};
    static const struct {
        const char *metadata, *name;
    } cases[] = {
        {"{}", "prted"},
        {"{\"annotations\": {\"k\": \"v\"}}", "prted"},
        {"{\"annotations\": {\"kubectl.kubernetes.io/default-container\": \"side\"}}", "side"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t j = 0; j < 2; j++) {
            FREE_AUTO char *name = default_container(sets[j], cases[i].metadata);

            assert_non_null(name);
            assert_string_equal(name, cases[i].name);
        }
    }
    FREE_AUTO char *none = default_container(
        CLUSTER_HEAD_SET, "{\"annotations\": {\"kubectl.kubernetes.io/default-container\": null}}");
    assert_null(none);
}

static void a_template_does_not_replace_the_operators_own_annotation(void **state)
{
    json_t *o = with_template("{\"metadata\": {\"annotations\": {\"" OBJECTS_SPEC "\": \"x\"}}}",
                              CLUSTER_MEMBER_SET);

    assert_string_not_equal(spec_of(o), "x");
    json_decref(o);
}

static void the_head_has_resources_of_its_own(void **state)
{
    json_t *o = with_template("{\"spec\": {\"nodeSelector\": {\"a\": \"b\"}, \"containers\": "
                              "[{\"name\": \"prted\", \"resources\": {\"limits\": {\"cpu\": "
                              "\"64\"}}}]}}",
                              CLUSTER_HEAD_SET);

    assert_null(at(o, "spec.template.spec.containers.0.resources.limits"));
    assert_string_equal(text(o, "spec.template.spec.nodeSelector.a"), "b");
    json_decref(o);
    struct cluster c = sample();
    c.head_resources = json_loads("{\"limits\": {\"cpu\": 1}}", 0, NULL);
    o = objects_build(&c, CLUSTER_HEAD_SET, 1, "img");
    assert_int_equal(
        json_integer_value(at(o, "spec.template.spec.containers.0.resources.limits.cpu")), 1);
    json_decref(o);
    json_decref(c.head_resources);
}

static void the_fingerprint_covers_everything_but_the_size(void **state)
{
    struct cluster c = sample();
    json_t *a = objects_build(&c, CLUSTER_MEMBER_SET, 4, "img");
    json_t *b = objects_build(&c, CLUSTER_MEMBER_SET, 9, "img");
    json_t *d = objects_build(&c, CLUSTER_MEMBER_SET, 4, "other");

    assert_string_equal(objects_applied(a), objects_applied(b));
    assert_string_not_equal(objects_applied(a), objects_applied(d));
    json_decref(a);
    json_decref(b);
    json_decref(d);
}

static void take_image(struct cluster *c)
{
    c->image = (char *)"new";
}

static void take_slots(struct cluster *c)
{
    c->slots++;
}

static void take_drain(struct cluster *c)
{
    c->drain.deadline_s = 9;
}

static void take_faults(struct cluster *c)
{
    c->faults.silence_ms++;
}

static void take_wait(struct cluster *c)
{
    c->node_lost_wait = true;
}

static void take_template(struct cluster *c)
{
    c->template = json_loads("{\"metadata\": {\"annotations\": {\"a\": \"b\"}}}", 0, NULL);
}

static void a_members_pod_tells_a_changed_spec_from_a_changed_operator(void **state)
{
    static void (*const change[])(struct cluster *) = {take_image,  take_slots, take_drain,
                                                       take_faults, take_wait,  take_template};
    struct cluster c = sample();
    json_t *a = objects_build(&c, CLUSTER_MEMBER_SET, 4, "img"), *b;

    assert_non_null(spec_of(a));
    b = objects_build(&c, CLUSTER_MEMBER_SET, 4, "of another release");
    assert_string_equal(spec_of(a), spec_of(b));
    json_decref(b);
    for (size_t i = 0; i < sizeof(change) / sizeof(*change); i++) {
        c = sample();
        change[i](&c);
        b = objects_build(&c, CLUSTER_MEMBER_SET, 4, "img");
        assert_string_not_equal(spec_of(a), spec_of(b));
        json_decref(b);
        json_decref(c.template);
    }
    json_decref(a);
}

static void what_concerns_members_alone_is_no_change_of_the_head(void **state)
{
    static const struct {
        void (*change)(struct cluster *);
        bool of_head;
    } rows[] = {{take_slots, false}, {take_drain, false}, {take_image, true},
                {take_faults, true}, {take_wait, true},   {take_template, true}};
    struct cluster c = sample();
    json_t *a = objects_build(&c, CLUSTER_HEAD_SET, 1, "img");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        c = sample();
        rows[i].change(&c);
        json_t *b = objects_build(&c, CLUSTER_HEAD_SET, 1, "of another release");
        assert_int_equal(strcmp(spec_of(a), spec_of(b)) != 0, rows[i].of_head);
        json_decref(b);
        json_decref(c.template);
    }
    json_decref(a);
}

/* No member has shown that the volume works. */
static void a_volume_for_the_head_does_not_have_its_pod_replaced(void **state)
{
    struct cluster c = sample();
    json_t *a = objects_build(&c, CLUSTER_HEAD_SET, 1, "img");

    c.head_claim = (char *)"claim";
    json_t *b = objects_build(&c, CLUSTER_HEAD_SET, 1, "img");
    assert_string_equal(spec_of(a), spec_of(b));
    json_decref(a);
    json_decref(b);
}

static void certificates_have_the_names_of_their_daemons(void **state)
{
    struct cluster c = sample();
    char **n = objects_cert_names(&c, API_ROLE_HEAD);
    bool service = false;

    for (int i = 0; n[i]; i++)
        service = service || strcmp(n[i], "x-head.n.svc") == 0;
    assert_true(service);
    objects_names_free(n);
    n = objects_cert_names(&c, API_ROLE_MEMBER);
    assert_string_equal(n[0], "*.x.n.svc");
    objects_names_free(n);
    n = objects_cert_names(&c, API_ROLE_OPERATOR);
    assert_null(n[0]);
    objects_names_free(n);
}

static void a_probe_pod_is_the_template_with_another_name(void **state)
{
    struct cluster c = sample();
    json_t *set = objects_build(&c, CLUSTER_MEMBER_SET, 4, "img");
    json_t *pod = objects_probe_pod(set);

    assert_string_equal(text(pod, "metadata.name"), "x-dry-run");
    assert_string_equal(text(pod, "metadata.namespace"), "n");
    assert_true(json_equal(at(pod, "spec"), at(set, "spec.template.spec")));
    assert_null(at(set, "spec.template.metadata.name"));
    json_decref(set);
    json_decref(pod);
}

static json_t *pod_security_of(int64_t user)
{
    struct cluster c = sample();

    c.security.user = user;
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");
    json_t *security = json_incref(at(o, "spec.template.spec.securityContext"));
    json_decref(o);
    return security;
}

static void the_user_of_the_pods_is_that_of_the_spec_or_of_the_namespace(void **state)
{
    static const char *const ids[] = {"runAsUser", "runAsGroup", "fsGroup"};
    json_t *usual = pod_security_of(CLUSTER_USER_DEFAULT), *chosen = pod_security_of(1234);
    json_t *none = pod_security_of(CLUSTER_USER_OF_NAMESPACE);

    for (int i = 0; i < 3; i++) {
        assert_int_equal(json_integer_value(at(usual, ids[i])), 65532);
        assert_int_equal(json_integer_value(at(chosen, ids[i])), 1234);
        assert_null(at(none, ids[i]));
    }
    assert_true(json_is_true(at(none, "runAsNonRoot")));
    json_decref(usual);
    json_decref(chosen);
    json_decref(none);
}

static char *spec_print_of(int64_t user)
{
    struct cluster c = sample();

    c.security.user = user;
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");
    char *print = xstrdup(json_string_value(
        json_object_get(at(o, "spec.template.metadata.annotations"), OBJECTS_SPEC)));
    json_decref(o);
    return print;
}

static void another_user_is_a_change_of_the_spec(void **state)
{
    FREE_AUTO char *usual = spec_print_of(CLUSTER_USER_DEFAULT);
    FREE_AUTO char *chosen = spec_print_of(1234);

    assert_string_not_equal(usual, chosen);
}

static void budgets_are_those_of_the_spec(void **state)
{
    struct cluster c = sample();

    c.disruption = (struct cluster_disruption){.members = 3, .head = 0};
    json_t *members = objects_build(&c, CLUSTER_PDB, 0, "img");
    json_t *head = objects_build(&c, CLUSTER_HEAD_PDB, 0, "img");
    assert_int_equal(json_integer_value(at(members, "spec.maxUnavailable")), 3);
    assert_int_equal(json_integer_value(at(head, "spec.maxUnavailable")), 0);
    json_decref(members);
    json_decref(head);
}

static void the_label_of_a_queue_is_passed_on_to_the_sets_alone(void **state)
{
    struct cluster c = sample();

    c.queue = (char *)"team";
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        json_t *o = objects_build(&c, (enum cluster_child)i, 1, "img");
        const char *queue =
            json_string_value(json_object_get(at(o, "metadata.labels"), CLUSTER_LABEL_QUEUE));

        if (i == CLUSTER_HEAD_SET || i == CLUSTER_MEMBER_SET)
            assert_string_equal(queue, "team");
        else
            assert_null(queue);
        json_decref(o);
    }
}

static void scheduler_and_pod_group_of_a_template_reach_the_pods(void **state)
{
    struct cluster c = sample();

    c.template =
        json_loads("{\"metadata\": {\"labels\": {\"scheduling.x-k8s.io/pod-group\": \"g\"}},"
                   " \"spec\": {\"schedulerName\": \"gang\"}}",
                   0, NULL);
    json_t *o = objects_build(&c, CLUSTER_MEMBER_SET, 1, "img");
    assert_string_equal(text(o, "spec.template.spec.schedulerName"), "gang");
    assert_string_equal(json_string_value(json_object_get(at(o, "spec.template.metadata.labels"),
                                                          "scheduling.x-k8s.io/pod-group")),
                        "g");
    json_decref(o);
    json_decref(c.template);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_tolerates_a_lost_node_for_thirty_seconds_unless_it_waits),
        cmocka_unit_test(shared_memory_is_half_of_the_memory_limit),
        cmocka_unit_test(
            a_limit_of_the_pod_bounds_shared_memory_where_the_container_has_none_or_more),
        cmocka_unit_test(slots_without_a_value_are_left_to_the_daemon),
        cmocka_unit_test(the_members_ordinals_are_their_vpids),
        cmocka_unit_test(everything_is_owned_by_the_cluster),
        cmocka_unit_test(the_controller_decides_and_not_the_labels),
        cmocka_unit_test(a_changed_label_and_a_changed_service_are_noticed),
        cmocka_unit_test(a_port_of_a_service_that_is_missing_or_changed_is_noticed),
        cmocka_unit_test(selectors_use_only_what_never_changes),
        cmocka_unit_test(budgets_never_overlap),
        cmocka_unit_test(addresses_are_published_before_readiness),
        cmocka_unit_test(pods_are_of_the_restricted_level),
        cmocka_unit_test(limits_of_faults_are_written_unless_they_are_the_defaults),
        cmocka_unit_test(the_head_alone_has_its_records_kept_by_members),
        cmocka_unit_test(the_head_alone_has_the_volume_of_its_records),
        cmocka_unit_test(the_termination_grace_follows_from_the_drain),
        cmocka_unit_test(a_template_adds_and_replaces_by_name),
        cmocka_unit_test(kubectl_takes_the_daemons_container_unless_the_template_names_another),
        cmocka_unit_test(a_template_does_not_replace_the_operators_own_annotation),
        cmocka_unit_test(the_head_has_resources_of_its_own),
        cmocka_unit_test(the_fingerprint_covers_everything_but_the_size),
        cmocka_unit_test(a_members_pod_tells_a_changed_spec_from_a_changed_operator),
        cmocka_unit_test(what_concerns_members_alone_is_no_change_of_the_head),
        cmocka_unit_test(a_volume_for_the_head_does_not_have_its_pod_replaced),
        cmocka_unit_test(certificates_have_the_names_of_their_daemons),
        cmocka_unit_test(a_probe_pod_is_the_template_with_another_name),
        cmocka_unit_test(the_user_of_the_pods_is_that_of_the_spec_or_of_the_namespace),
        cmocka_unit_test(another_user_is_a_change_of_the_spec),
        cmocka_unit_test(budgets_are_those_of_the_spec),
        cmocka_unit_test(the_label_of_a_queue_is_passed_on_to_the_sets_alone),
        cmocka_unit_test(scheduler_and_pod_group_of_a_template_reach_the_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
