/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the controller of an object, and compares an object with the one that was applied.
 *
 * Labels decide nothing: anybody may set them. An object belongs to the cluster that its controller
 * reference names by uid. */
#include "base/buf/buf.h"
#include "operator/objects/objects_private.h"

#include <string.h>

static const json_t *controller_of(const json_t *object)
{
    const json_t *owners = json_object_get(json_object_get(object, "metadata"), "ownerReferences");
    const json_t *o;
    size_t i;

    json_array_foreach((json_t *)owners, i, o)
    {
        if (json_is_true(json_object_get(o, "controller")))
            return o;
    }
    return NULL;
}

static bool text_is(const json_t *o, const char *key, const char *want)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s && strcmp(s, want) == 0;
}

bool objects_controlled(const json_t *object, const struct cluster *c)
{
    return text_is(controller_of(object), "uid", c->uid);
}

const char *objects_controller(const json_t *object, const char *kind, const char **uid)
{
    const json_t *o = controller_of(object);

    if (kind && !text_is(o, "kind", kind))
        return NULL;
    if (uid)
        *uid = json_string_value(json_object_get(o, "uid"));
    return json_string_value(json_object_get(o, "name"));
}

bool objects_orphaned(const json_t *object, const struct cluster *c)
{
    const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");

    return !controller_of(object) && text_is(labels, CLUSTER_LABEL_NAME, c->name) &&
           text_is(labels, CLUSTER_LABEL_MANAGER, CLUSTER_MANAGER);
}

char *objects_orphan_advice(const struct cluster *c)
{
    return xasprintf(
        "it is left from an earlier DvmCluster of this name that was deleted without its objects "
        "(--cascade=orphan). Remove all of them, which ends jobs that still run there: kubectl "
        "delete statefulset,service,poddisruptionbudget,secret -n %s -l " CLUSTER_LABEL_NAME
        "=%s," CLUSTER_LABEL_MANAGER "=" CLUSTER_MANAGER,
        c->ns, c->name);
}

/* True if the port is one that objects_build() gives to a Service. */
static bool is_our_port(const json_t *port)
{
    return text_is(port, "name", "control") || text_is(port, "name", "join") ||
           text_is(port, "name", "plain");
}

/* The fields of a Service's spec that objects_build() sets, with the server's defaults. */
static json_t *service_part(const json_t *spec)
{
    static const char *const fields[] = {"name", "port", "protocol", "targetPort"};
    json_t *ports = json_array(), *port;
    size_t i;

    json_array_foreach(json_object_get(spec, "ports"), i, port)
    {
        json_t *part = json_object();

        for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
            if (json_object_get(port, fields[k]))
                json_object_set(part, fields[k], json_object_get(port, fields[k]));
        }
        if (is_our_port(port))
            json_array_append(ports, part);
        json_decref(part);
    }
    json_t *o = json_pack("{s:o, s:O*, s:O*, s:O*}", "ports", ports, "selector",
                          json_object_get(spec, "selector"), "type", json_object_get(spec, "type"),
                          "early", json_object_get(spec, "publishNotReadyAddresses"));
    if (text_is(spec, "clusterIP", "None")) /* any other address is the server's choice */
        json_object_set(o, "clusterIP", json_object_get(spec, "clusterIP"));
    return o;
}

uint64_t objects_drift_print(const json_t *object)
{
    static const char *const names[] = {CLUSTER_LABEL_NAME,           CLUSTER_LABEL_ROLE,
                                        CLUSTER_LABEL_MANAGER,        "app.kubernetes.io/name",
                                        "app.kubernetes.io/instance", "app.kubernetes.io/component",
                                        "app.kubernetes.io/part-of"};
    const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    json_t *o = json_object();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (json_object_get(labels, names[i]))
            json_object_set(o, names[i], json_object_get(labels, names[i]));
    }
    if (text_is(object, "kind", "Service"))
        json_object_set_new(o, "spec", service_part(json_object_get(object, "spec")));
    uint64_t print = objects_fingerprint(o);
    json_decref(o);
    return print;
}
