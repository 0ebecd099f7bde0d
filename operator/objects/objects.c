/* SPDX-License-Identifier: BSD-3-Clause */
/* Services, budgets, StatefulSets and Secrets of one DvmCluster, as the operator wants them.
 *
 * In: the decoded DvmCluster and the number of replicas. Out: JSON for a server-side apply, with
 * owner, labels, and a fingerprint of the wanted object in an annotation.
 *
 * Invariants: equal inputs give equal objects, so an unchanged object is not applied again;
 * addresses are published before pods are ready, since a daemon becomes ready by connecting to
 * others; the head has a budget of its own, since a pod under two budgets cannot be evicted.
 *
 * Failures: none; what the server refuses is reported by its answer. objects_controlled() tells
 * whether an object is this cluster's: others are never changed. */
#include "operator/objects/objects.h"

#include "base/buf/buf.h"
#include "base/tls/tls.h"
#include "operator/objects/objects_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct child_info {
    const char *api_version;
    const char *kind;
    const char *plural;
    enum api_role role; /* of the pods that it selects; API_ROLE_NONE: all daemons */
    bool head_name;     /* is called "<cluster>-head" */
};

static const struct child_info CHILDREN[CLUSTER_CHILDREN] = {
    [CLUSTER_SERVICE] = {"v1", "Service", "services", API_ROLE_NONE, false},
    [CLUSTER_HEAD_SERVICE] = {"v1", "Service", "services", API_ROLE_HEAD, true},
    [CLUSTER_PDB] = {"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", API_ROLE_MEMBER,
                     false},
    [CLUSTER_HEAD_PDB] = {"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", API_ROLE_HEAD,
                          true},
    [CLUSTER_HEAD_SET] = {"apps/v1", "StatefulSet", "statefulsets", API_ROLE_HEAD, true},
    [CLUSTER_MEMBER_SET] = {"apps/v1", "StatefulSet", "statefulsets", API_ROLE_MEMBER, false},
};

const char *objects_kind(enum cluster_child child)
{
    return CHILDREN[child].kind;
}

char *objects_name(const struct cluster *c, enum cluster_child child)
{
    return xasprintf("%s%s", c->name, CHILDREN[child].head_name ? "-head" : "");
}

char *objects_collection(const char *ns, enum cluster_child child)
{
    const struct child_info *i = &CHILDREN[child];

    return xasprintf("/%s/%s/namespaces/%s/%s", strchr(i->api_version, '/') ? "apis" : "api",
                     i->api_version, ns, i->plural);
}

char *objects_path(const struct cluster *c, enum cluster_child child)
{
    FREE_AUTO char *collection = objects_collection(c->ns, child);
    FREE_AUTO char *name = objects_name(c, child);

    return xasprintf("%s/%s", collection, name);
}

json_t *objects_metadata(const struct cluster *c, const char *name, enum api_role role)
{
    json_t *owner = json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion",
                              CLUSTER_GROUP "/" CLUSTER_VERSION, "kind", CLUSTER_KIND, "name",
                              c->name, "uid", c->uid, "controller", 1, "blockOwnerDeletion", 1);

    return json_pack("{s:s, s:s, s:o, s:[o]}", "name", name, "namespace", c->ns, "labels",
                     objects_labels(c, role), "ownerReferences", owner);
}

static json_t *service_port(const char *name, int number)
{
    return json_pack("{s:s, s:i, s:s, s:s}", "name", name, "port", number, "protocol", "TCP",
                     "targetPort", name);
}

/* Addresses are published before the pods are ready: a daemon becomes ready by connecting to
 * others. */
static json_t *service_spec(const struct cluster *c, enum cluster_child child)
{
    bool head = child == CLUSTER_HEAD_SERVICE;
    json_t *ports = json_array();

    if (head)
        json_array_append_new(ports, service_port("control", API_PORT_CONTROL));
    json_array_append_new(ports, service_port("join", API_PORT_JOIN));
    if (!head)
        json_array_append_new(ports, service_port("plain", API_PORT_PLAIN));
    json_t *spec =
        json_pack("{s:o, s:b, s:o, s:s}", "selector", objects_match(c, CHILDREN[child].role),
                  "publishNotReadyAddresses", 1, "ports", ports, "type", "ClusterIP");
    if (!head)
        json_object_set_new(spec, "clusterIP", json_string("None"));
    return spec;
}

/* One eviction at a time is always safe, since each is a shrink of one member; spec.disruption may
 * say another number. A pod that is not ready may be evicted at any time. The head has a budget of
 * its own, since a pod under two budgets cannot be evicted; it allows none while jobs run. */
static json_t *pdb_spec(const struct cluster *c, enum cluster_child child)
{
    uint32_t head = c->disruption.head_busy ? 0 : c->disruption.head;
    uint32_t max = child == CLUSTER_PDB ? c->disruption.members : head;

    return json_pack("{s:i, s:s, s:{s:o}}", "maxUnavailable", (int)max,
                     "unhealthyPodEvictionPolicy", "AlwaysAllow", "selector", "matchLabels",
                     objects_match(c, CHILDREN[child].role));
}

static json_t *set_spec(const struct cluster *c, enum cluster_child child, uint32_t replicas,
                        const char *image)
{
    enum api_role role = CHILDREN[child].role;
    json_t *spec =
        json_pack("{s:i, s:s, s:s, s:{s:s}, s:i, s:{s:o}, s:o}", "replicas", (int)replicas,
                  "serviceName", c->name, "podManagementPolicy", "Parallel", "updateStrategy",
                  "type", "OnDelete", "revisionHistoryLimit", 3, "selector", "matchLabels",
                  objects_match(c, role), "template", objects_pod(c, role, image));

    if (child == CLUSTER_MEMBER_SET)
        json_object_set_new(spec, "ordinals", json_pack("{s:i}", "start", 1));
    return spec;
}

uint64_t objects_fingerprint(const json_t *o)
{
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t h = 14695981039346656037u;

    for (const char *p = text; p && *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    return h;
}

json_t *objects_build(const struct cluster *c, enum cluster_child child, uint32_t replicas,
                      const char *image)
{
    const struct child_info *info = &CHILDREN[child];
    FREE_AUTO char *name = objects_name(c, child);
    json_t *spec;

    if (child == CLUSTER_HEAD_SET || child == CLUSTER_MEMBER_SET)
        spec = set_spec(c, child, 0, image);
    else if (child == CLUSTER_PDB || child == CLUSTER_HEAD_PDB)
        spec = pdb_spec(c, child);
    else
        spec = service_spec(c, child);
    json_t *o =
        json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", info->api_version, "kind", info->kind,
                  "metadata", objects_metadata(c, name, info->role), "spec", spec);
    if (c->queue && (child == CLUSTER_HEAD_SET || child == CLUSTER_MEMBER_SET))
        json_object_set_new(json_object_get(json_object_get(o, "metadata"), "labels"),
                            CLUSTER_LABEL_QUEUE, json_string(c->queue));
    FREE_AUTO char *print = xasprintf("%016" PRIx64, objects_fingerprint(o));
    json_object_set_new(json_object_get(o, "metadata"), "annotations",
                        json_pack("{s:s}", OBJECTS_APPLIED, print));
    if (json_object_get(spec, "replicas"))
        json_object_set_new(spec, "replicas", json_integer(replicas));
    return o;
}

uint64_t objects_inputs_print(const json_t *cluster)
{
    static const char *const sizes[] = {"replicas", "applicationLimits", "suspend"};
    const json_t *labels = json_object_get(json_object_get(cluster, "metadata"), "labels");
    json_t *spec = json_copy(json_object_get(cluster, "spec"));

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        json_object_del(spec, sizes[i]);
    json_t *inputs = json_pack("{s:o*, s:O*}", "spec", spec, "queue",
                               json_object_get(labels, CLUSTER_LABEL_QUEUE));
    uint64_t print = objects_fingerprint(inputs);
    json_decref(inputs);
    return print;
}

const char *objects_applied(const json_t *object)
{
    const json_t *meta = json_object_get(object, "metadata");
    const char *s =
        json_string_value(json_object_get(json_object_get(meta, "annotations"), OBJECTS_APPLIED));

    return s ? s : "";
}

json_t *objects_probe_pod(const json_t *set)
{
    const json_t *meta = json_object_get(set, "metadata");
    const json_t *template = json_object_get(json_object_get(set, "spec"), "template");
    json_t *pod =
        json_pack("{s:s, s:s, s:O, s:O}", "apiVersion", "v1", "kind", "Pod", "metadata",
                  json_object_get(template, "metadata"), "spec", json_object_get(template, "spec"));
    json_t *m = json_copy(json_object_get(pod, "metadata"));
    FREE_AUTO char *name =
        xasprintf("%s-dry-run", json_string_value(json_object_get(meta, "name")));

    json_object_set_new(m, "name", json_string(name));
    json_object_set(m, "namespace", json_object_get(meta, "namespace"));
    json_object_set_new(pod, "metadata", m);
    return pod;
}

json_t *objects_secret(const struct cluster *c, enum api_role role, const char *ca_pem,
                       const char *cert_pem, const char *key_pem)
{
    FREE_AUTO char *name = xasprintf("%s-%s", c->name, api_role_word(role));
    json_t *data =
        json_pack("{s:s, s:s, s:s}", "ca.crt", ca_pem, "tls.crt", cert_pem, "tls.key", key_pem);

    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "Secret", "type",
                     "kubernetes.io/tls", "metadata", objects_metadata(c, name, role), "stringData",
                     data);
}

char **objects_cert_names(const struct cluster *c, enum api_role role)
{
    char **n = xcalloc(8, sizeof(*n));

    if (role == API_ROLE_HEAD) {
        n[0] = xasprintf("%s-head", c->name);
        n[1] = xasprintf("%s-head.%s", c->name, c->ns);
        n[2] = xasprintf("%s-head.%s.svc", c->name, c->ns);
        n[3] = xasprintf("%s-head-0.%s", c->name, c->name);
        n[4] = xasprintf("%s-head-0.%s.%s", c->name, c->name, c->ns);
        n[5] = xasprintf("%s-head-0.%s.%s.svc", c->name, c->name, c->ns);
    } else if (role == API_ROLE_MEMBER) {
        n[0] = xasprintf("*.%s.%s.svc", c->name, c->ns);
        n[1] = xasprintf("%s.%s.svc", c->name, c->ns);
        n[2] = xasprintf("*.%s.%s", c->name, c->ns);
        n[3] = xasprintf("*.%s", c->name);
    }
    return n;
}

void objects_names_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
