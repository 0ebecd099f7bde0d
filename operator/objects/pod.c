/* SPDX-License-Identifier: BSD-3-Clause */
/* The pod template of daemons: restricted security level, numeric user, read-only root, /dev/shm in
 * memory.
 *
 * In: a decoded DvmCluster, the role (head or member), the image. Out: a new JSON object with
 * metadata and spec, for a StatefulSet.
 *
 * Order: the operator's own spec; over it the user's template (objects_merge()); the head's
 * resources and the head's own template; the size of /dev/shm. The resources of the daemon's
 * container in the common template apply to members only.
 *
 * Invariants: equal input gives an equal template, since a changed one outdates all pods; the
 * annotation OBJECTS_SPEC says whether the spec was changed or the operator's release. That of a
 * head has the parts that its members have, too: they have shown that these work. Limits of
 * spec.faults that are the defaults are not written. The operator's labels replace the user's.
 * Command, arguments and image of the daemon's container are the operator's: check_template() in
 * operator/model/cluster.c refuses others.
 *
 * Limits: a member has the drain deadline and GRACE_SLACK_S to end, at most CLUSTER_GRACE_CAP_S,
 * which is also its time without a deadline. A head has HEAD_GRACE_S. A pod leaves a node that does
 * not answer after NODE_LOST_S, unless the user chose to wait. Nothing is requested from the server
 * here. */
#include "base/buf/buf.h"
#include "operator/objects/objects_private.h"

#include <inttypes.h>
#include <string.h>

/* The user that the images declare; any other numeric user works too. */
#define POD_UID 65532
/* Longer than the end of a head takes: it ends its jobs, and its members park. */
#define HEAD_GRACE_S 60
#define GRACE_SLACK_S 30
/* kubectl exec and logs take this container, wherever admission puts a sidecar of its own. */
#define DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"
#define RECORDS_DIR "/var/lib/dvm" /* each DvmCluster has a directory there, named by its uid */

static json_t *field_env(const char *name, const char *path)
{
    return json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", name, "valueFrom", "fieldRef", "apiVersion",
                     "v1", "fieldPath", path);
}

static json_t *daemon_env(void)
{
    return json_pack("[o, o, o, o, {s:s, s:s}]", field_env("POD_IP", "status.podIP"),
                     field_env("POD_NAME", "metadata.name"),
                     field_env("POD_NAMESPACE", "metadata.namespace"),
                     field_env("NODE_NAME", "spec.nodeName"), "name", "HOME", "value", "/tmp");
}

static void append_flag(json_t *list, const char *flag, char *value)
{
    json_array_append_new(list, json_string(flag));
    json_array_append_new(list, json_string(value));
    free_ptr(&value);
}

static int64_t grace_s(const struct cluster *c, bool head)
{
    if (head)
        return HEAD_GRACE_S;
    if (c->drain.mode == API_DRAIN_KILL)
        return GRACE_SLACK_S;
    if (c->drain.deadline_s < 0 || c->drain.deadline_s > CLUSTER_GRACE_CAP_S - GRACE_SLACK_S)
        return CLUSTER_GRACE_CAP_S;
    return c->drain.deadline_s + GRACE_SLACK_S;
}

/* Limits that are the defaults are not written: daemons of clusters without spec.faults keep their
 * template. */
static void append_limit(json_t *list, const char *flag, uint64_t ms, uint64_t usual_ms)
{
    if (ms != usual_ms)
        append_flag(list, flag, xasprintf("%" PRIu64, ms));
}

static void append_faults(json_t *list, const struct api_faults *f)
{
    static const struct api_faults usual = API_FAULTS_DEFAULTS;

    append_limit(list, "--link-grace-ms", f->link_grace_ms, usual.link_grace_ms);
    append_limit(list, "--silence-ms", f->silence_ms, usual.silence_ms);
    append_limit(list, "--head-absence-ms", f->head_absence_ms, usual.head_absence_ms);
}

/* Members do not have the volume of the head's records: ranks run there. */
static bool has_records(const struct cluster *c, enum api_role role)
{
    return role == API_ROLE_HEAD && c->head_claim;
}

static json_t *command_line(const struct cluster *c, enum api_role role)
{
    bool head = role == API_ROLE_HEAD;
    json_t *a = json_array();

    append_flag(a, "--role", xstrdup(api_role_word(role)));
    append_flag(a, "--cluster", cluster_identity(c));
    append_flag(a, "--head", xasprintf("%s-head.%s.svc:%d", c->name, c->ns, API_PORT_JOIN));
    append_flag(a, "--tls-dir", xstrdup("/etc/dvm/tls"));
    append_flag(a, "--session-dir", xstrdup("/run/dvm"));
    append_flag(a, "--control-port", xasprintf("%d", API_PORT_CONTROL));
    append_flag(a, "--join-port", xasprintf("%d", API_PORT_JOIN));
    append_flag(a, "--plain-port", xasprintf("%d", API_PORT_PLAIN));
    if (head || c->slots)
        append_flag(a, "--slots", xasprintf("%u", head ? c->head_slots : c->slots));
    append_faults(a, &c->faults);
    json_array_append_new(a, json_string("--hostname-vpid"));
    if (head)
        json_array_append_new(a, json_string("--keepers"));
    if (has_records(c, role)) {
        json_array_append_new(a, json_string("--keep-records"));
        append_flag(a, "--records-dir", xasprintf(RECORDS_DIR "/%s", c->uid));
    }
    if (!head && c->drain.mode == API_DRAIN_KILL)
        json_array_append_new(a, json_string("--drain-kill"));
    else if (!head) /* added to the drain deadline: ranks and daemon need time to end */
        append_flag(a, "--drain-seconds",
                    xasprintf("%lld", (long long)(grace_s(c, head) - GRACE_SLACK_S)));
    return a;
}

static json_t *http_probe(const char *path, int period_s, int failures)
{
    return json_pack("{s:{s:s, s:s, s:s}, s:i, s:i, s:i}", "httpGet", "path", path, "port", "plain",
                     "scheme", "HTTP", "periodSeconds", period_s, "timeoutSeconds", 5,
                     "failureThreshold", failures);
}

static json_t *container_port(const char *name, int number)
{
    return json_pack("{s:s, s:i, s:s}", "name", name, "containerPort", number, "protocol", "TCP");
}

static json_t *container_ports(bool head)
{
    json_t *a = json_pack("[o, o]", container_port("join", API_PORT_JOIN),
                          container_port("plain", API_PORT_PLAIN));

    if (head)
        json_array_append_new(a, container_port("control", API_PORT_CONTROL));
    return a;
}

static json_t *volume_mounts(bool records)
{
    json_t *a = json_pack("[{s:s, s:s, s:b}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "name", "tls",
                          "mountPath", "/etc/dvm/tls", "readOnly", 1, "name", "run", "mountPath",
                          "/run/dvm", "name", "tmp", "mountPath", "/tmp", "name", "shm",
                          "mountPath", "/dev/shm");

    if (records)
        json_array_append_new(a,
                              json_pack("{s:s, s:s}", "name", "records", "mountPath", RECORDS_DIR));
    return a;
}

static json_t *pod_volumes(const struct cluster *c, enum api_role role)
{
    FREE_AUTO char *secret = xasprintf("%s-%s", c->name, api_role_word(role));

    json_t *a = json_pack("[{s:s, s:{s:s, s:i}}, {s:s, s:{}}, {s:s, s:{}}, {s:s, s:{s:s, s:s}}]",
                          "name", "tls", "secret", "secretName", secret, "defaultMode", 0440,
                          "name", "run", "emptyDir", "name", "tmp", "emptyDir", "name", "shm",
                          "emptyDir", "medium", "Memory", "sizeLimit", "1Gi");

    if (has_records(c, role))
        json_array_append_new(a, json_pack("{s:s, s:{s:s}}", "name", "records",
                                           "persistentVolumeClaim", "claimName", c->head_claim));
    return a;
}

static json_t *daemon_container(const struct cluster *c, enum api_role role, const char *image)
{
    json_t *o = json_pack("{s:s, s:s, s:[s], s:o, s:o, s:o, s:o}", "name", OBJECTS_CONTAINER,
                          "image", image, "command", "prted", "args", command_line(c, role), "env",
                          daemon_env(), "ports", container_ports(role == API_ROLE_HEAD),
                          "volumeMounts", volume_mounts(has_records(c, role)));

    json_object_set_new(o, "livenessProbe", http_probe("/healthz", 10, 6));
    json_object_set_new(o, "readinessProbe", http_probe("/readyz", 2, 1));
    json_object_set_new(o, "resources",
                        json_pack("{s:{s:s, s:s}}", "requests", "cpu", "50m", "memory", "64Mi"));
    json_object_set_new(o, "securityContext",
                        json_pack("{s:b, s:b, s:{s:[s]}}", "allowPrivilegeEscalation", 0,
                                  "readOnlyRootFilesystem", 1, "capabilities", "drop", "ALL"));
    return o;
}

/* How long a pod stays on a node that does not answer. Kubernetes' own default is 300 s. */
#define NODE_LOST_S 30

static json_t *node_toleration(const char *taint)
{
    return json_pack("{s:s, s:s, s:s, s:i}", "key", taint, "operator", "Exists", "effect",
                     "NoExecute", "tolerationSeconds", NODE_LOST_S);
}

/* A user of the namespace's choice comes with groups of its choice, which can read the Secrets. */
static json_t *pod_security(const struct cluster *c)
{
    json_int_t user = c->security.user == CLUSTER_USER_DEFAULT ? POD_UID : c->security.user;
    json_t *o =
        json_pack("{s:b, s:{s:s}}", "runAsNonRoot", 1, "seccompProfile", "type", "RuntimeDefault");

    for (size_t i = 0; c->security.user != CLUSTER_USER_OF_NAMESPACE && i < 3; i++) {
        static const char *const ids[] = {"runAsUser", "runAsGroup", "fsGroup"};

        json_object_set_new(o, ids[i], json_integer(user));
    }
    return o;
}

static json_t *pod_spec(const struct cluster *c, enum api_role role, const char *image)
{
    bool head = role == API_ROLE_HEAD;
    json_t *o = json_pack(
        "{s:[o], s:o, s:b, s:b, s:I, s:s}", "containers", daemon_container(c, role, image),
        "volumes", pod_volumes(c, role), "automountServiceAccountToken", 0, "enableServiceLinks", 0,
        "terminationGracePeriodSeconds", (json_int_t)grace_s(c, head), "restartPolicy", "Always");

    if (!c->node_lost_wait)
        json_object_set_new(o, "tolerations",
                            json_pack("[o, o]", node_toleration("node.kubernetes.io/not-ready"),
                                      node_toleration("node.kubernetes.io/unreachable")));
    json_object_set_new(o, "securityContext", pod_security(c));
    if (!head) /* spreads members, so that a job over N members sees N nodes if there are as many */
        json_object_set_new(o, "topologySpreadConstraints",
                            json_pack("[{s:i, s:s, s:s, s:{s:o}}]", "maxSkew", 1, "topologyKey",
                                      "kubernetes.io/hostname", "whenUnsatisfiable",
                                      "ScheduleAnyway", "labelSelector", "matchLabels",
                                      objects_match(c, role)));
    return o;
}

/* The user's template applies to members and head; the head has resources of its own. */
static json_t *template_for(const struct cluster *c, bool head)
{
    json_t *t = json_deep_copy(json_object_get(c->template, "spec"));
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(t, "containers"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));

        if (head && name && strcmp(name, OBJECTS_CONTAINER) == 0)
            json_object_del(item, "resources");
    }
    return t;
}

/* The memory limit of a container, or of all containers of a pod together; 0: none. */
static uint64_t memory_limit(const json_t *of)
{
    const json_t *limits = json_object_get(json_object_get(of, "resources"), "limits");

    return objects_quantity(json_object_get(limits, "memory"));
}

/* /dev/shm counts in the memory limits of the container and of the pod: files that fill it may not
 * leave the daemon and its ranks without memory, for good since the volume outlives them. So it has
 * half of the lower limit; without one, or if the user replaces the volume, it stays as it is. */
static void size_shm(json_t *spec)
{
    json_t *volume;
    uint64_t bytes = memory_limit(json_array_get(json_object_get(spec, "containers"), 0));
    uint64_t pod = memory_limit(spec);
    size_t i;

    if (pod && (!bytes || pod < bytes))
        bytes = pod;

    json_array_foreach(json_object_get(spec, "volumes"), i, volume)
    {
        const char *name = json_string_value(json_object_get(volume, "name"));

        if (bytes >= 2048 && name && strcmp(name, "shm") == 0) {
            FREE_AUTO char *size = xasprintf("%" PRIu64 "Ki", bytes / 2048);

            json_object_set_new(json_object_get(volume, "emptyDir"), "sizeLimit",
                                json_string(size));
        }
    }
}

static bool replaces_shm(const json_t *user)
{
    const json_t *volume;
    size_t i;

    json_array_foreach(json_object_get(user, "volumes"), i, volume)
    {
        const char *name = json_string_value(json_object_get(volume, "name"));

        if (name && strcmp(name, "shm") == 0)
            return true;
    }
    return false;
}

/* The fields of the spec on which the pods of both sets depend. */
static json_t *common_parts(const struct cluster *c)
{
    json_t *o = json_pack("{s:s*, s:O*, s:I, s:I, s:I, s:b}", "image", c->image, "template",
                          c->template, "grace", (json_int_t)c->faults.link_grace_ms, "silence",
                          (json_int_t)c->faults.silence_ms, "absence",
                          (json_int_t)c->faults.head_absence_ms, "wait", c->node_lost_wait);

    if (c->security.user != CLUSTER_USER_DEFAULT) /* pods of older releases have no such part */
        json_object_set_new(o, "user", json_integer(c->security.user));
    return o;
}

static char *print_parts(json_t *o)
{
    char *print = xasprintf("%016" PRIx64, objects_fingerprint(o));

    json_decref(o);
    return print;
}

char *objects_spec_print(const struct cluster *c)
{
    json_t *o = common_parts(c);

    json_object_set_new(o, "slots", json_integer((json_int_t)c->slots));
    json_object_set_new(o, "drain", json_integer(c->drain.mode));
    json_object_set_new(o, "deadline", json_integer(c->drain.deadline_s));
    return print_parts(o);
}

/* The users' metadata of this kind; the later one is merged over the earlier. NULL: none. */
static const json_t *users_words(const json_t *template, const char *kind)
{
    return json_object_get(json_object_get(template, "metadata"), kind);
}

/* The user's annotations are added to ours and replace the choice of the default container. */
static json_t *pod_annotations(const struct cluster *c, enum api_role role)
{
    FREE_AUTO char *print =
        role == API_ROLE_MEMBER ? objects_spec_print(c) : print_parts(common_parts(c));
    json_t *o = json_pack("{s:s}", DEFAULT_CONTAINER, OBJECTS_CONTAINER);

    objects_merge(o, users_words(c->template, "annotations"));
    if (role == API_ROLE_HEAD)
        objects_merge(o, users_words(c->head_template, "annotations"));
    json_object_set_new(o, OBJECTS_SPEC, json_string(print));
    return o;
}

static json_t *pod_metadata(const struct cluster *c, enum api_role role)
{
    json_t *labels = json_object(), *own = objects_labels(c, role);

    objects_merge(labels, users_words(c->template, "labels"));
    if (role == API_ROLE_HEAD)
        objects_merge(labels, users_words(c->head_template, "labels"));
    json_object_update(labels, own);
    json_decref(own);
    return json_pack("{s:o, s:o}", "labels", labels, "annotations", pod_annotations(c, role));
}

json_t *objects_pod(const struct cluster *c, enum api_role role, const char *image)
{
    bool head = role == API_ROLE_HEAD;
    json_t *spec = pod_spec(c, role, image);
    json_t *user = template_for(c, head);
    const json_t *over = head ? json_object_get(c->head_template, "spec") : NULL;
    bool sized = replaces_shm(user) || replaces_shm(over);

    if (user)
        objects_merge(spec, user);
    json_decref(user);
    if (head && c->head_resources) {
        json_t *first = json_array_get(json_object_get(spec, "containers"), 0);

        json_object_set_new(first, "resources", json_deep_copy(c->head_resources));
    }
    objects_merge(spec, over);
    if (!sized)
        size_shm(spec);
    return json_pack("{s:o, s:o}", "metadata", pod_metadata(c, role), "spec", spec);
}
