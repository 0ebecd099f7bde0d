/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the fingerprints of the objects that a cluster should have.
 *
 * In: a DvmCluster. Out: for each of its objects the fingerprints by which a pass decides whether
 * the existing object has to be applied, was changed by others, or has outdated pods.
 *
 * The objects are built only if their inputs have changed since the last pass, or to be applied. So
 * a pass that changes nothing, or the size alone, builds none of the six.
 *
 * Invariants: equal inputs give equal objects (objects.c), and objects_inputs_print() covers all
 * inputs but the identity of the cluster, with which the fingerprints begin anew. */
#include "operator/reconcile/wanted.h"

#include "operator/objects/objects.h"
#include "operator/reconcile/texts.h"

#include <stdio.h>

json_t *wanted_build(const struct cluster *c, enum cluster_child child, uint32_t replicas,
                     const char *image)
{
    return objects_build(c, child, replicas, c->image ? c->image : image);
}

static void take_print(struct wanted_print *p, const struct cluster *c, enum cluster_child child,
                       const char *image)
{
    json_t *o = wanted_build(c, child, 0, image);
    const json_t *notes =
        json_object_get(texts_field(o, "spec", "template", "metadata"), "annotations");
    const char *spec = json_string_value(json_object_get(notes, OBJECTS_SPEC));

    snprintf(p->applied, sizeof(p->applied), "%s", objects_applied(o));
    snprintf(p->spec, sizeof(p->spec), "%s", spec ? spec : "");
    p->drift = objects_drift_print(o);
    json_decref(o);
}

bool wanted_refresh(struct wanted *w, const json_t *object, const struct cluster *c,
                    const char *image)
{
    uint64_t inputs = objects_inputs_print(object);

    if (w->inputs == inputs)
        return false;
    w->inputs = inputs;
    for (int i = 0; i < CLUSTER_CHILDREN; i++)
        take_print(&w->child[i], c, (enum cluster_child)i, image);
    struct cluster busy = *c;
    busy.disruption.head_busy = true;
    take_print(&w->busy_budget, &busy, CLUSTER_HEAD_PDB, image);
    return true;
}
