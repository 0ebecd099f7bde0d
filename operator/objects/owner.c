/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the controller of an object, and compares an object with the one that was applied.
 *
 * Labels decide nothing: anybody may set them. An object belongs to the cluster that its controller
 * reference names by uid. */
#include "base/buf/buf.h"
#include "operator/objects/objects_private.h"

#include <inttypes.h>
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

    if (!text_is(o, "kind", kind))
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

static bool is_part(const json_t *wanted, const json_t *observed);

static bool list_is_part(const json_t *wanted, const json_t *observed)
{
    const json_t *w, *o;
    size_t i, k;

    json_array_foreach((json_t *)wanted, i, w)
    {
        bool found = false;

        json_array_foreach((json_t *)observed, k, o)
        {
            found = found || is_part(w, o);
        }
        if (!found)
            return false;
    }
    return true;
}

/* True if each field of `wanted` is in `observed` too, which may have more: defaults, and fields of
 * others. The JSON decoder bounds the depth of this recursion. */
static bool is_part(const json_t *wanted, const json_t *observed)
{
    const char *key;
    json_t *value;

    if (json_is_array(wanted))
        return list_is_part(wanted, observed);
    if (!json_is_object(wanted))
        return json_equal(wanted, observed);
    json_object_foreach((json_t *)wanted, key, value)
    {
        if (!is_part(value, json_object_get(observed, key)))
            return false;
    }
    return true;
}

/* A selector is compared as a whole: one label more selects other pods. */
static bool spec_drifted(const json_t *wanted, const json_t *observed)
{
    return !is_part(wanted, observed) ||
           !json_equal(json_object_get(wanted, "selector"), json_object_get(observed, "selector"));
}

bool objects_drifted(const json_t *wanted, const json_t *observed)
{
    const json_t *w = json_object_get(wanted, "metadata"),
                 *o = json_object_get(observed, "metadata");

    if (!is_part(json_object_get(w, "labels"), json_object_get(o, "labels")))
        return true;
    return text_is(wanted, "kind", "Service") &&
           spec_drifted(json_object_get(wanted, "spec"), json_object_get(observed, "spec"));
}

char *objects_drift_print(const json_t *object)
{
    const json_t *meta = json_object_get(object, "metadata");
    json_t *o = json_pack("{s:O*}", "labels", json_object_get(meta, "labels"));

    if (text_is(object, "kind", "Service"))
        json_object_set(o, "spec", json_object_get(object, "spec"));
    char *print = xasprintf("%016" PRIx64, objects_fingerprint(o));
    json_decref(o);
    return print;
}
