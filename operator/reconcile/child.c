/* SPDX-License-Identifier: BSD-3-Clause */
/* What the operator keeps of a StatefulSet, Service or PodDisruptionBudget: the fields that a plan
 * reads, some 250 bytes. The differences from the wanted object are known by two fingerprints and
 * the generation. */
#include "operator/reconcile/child.h"

#include "base/buf/buf.h"
#include "operator/objects/objects.h"
#include "operator/reconcile/reconcile_private.h"
#include "operator/reconcile/texts.h"

#include <stdlib.h>
#include <string.h>

void *child_keep(const json_t *object, const void *before, void *arg)
{
    const json_t *labels = texts_field(object, "metadata", "labels", NULL);
    const char *manager = json_string_value(json_object_get(labels, CLUSTER_LABEL_MANAGER));
    const char *controller = NULL;
    const char *texts[CHILD_TEXTS] = {
        [CHILD_UID] = texts_find(object, "metadata", "uid", NULL),
        [CHILD_VERSION] = texts_find(object, "metadata", "resourceVersion", NULL),
        [CHILD_CONTROLLED_BY] = objects_controller(object, CLUSTER_KIND, NULL),
        [CHILD_LABEL] = json_string_value(json_object_get(labels, CLUSTER_LABEL_NAME)),
        [CHILD_PRINT] = objects_applied(object),
        [CHILD_REVISION] = texts_find(object, "status", "updateRevision", NULL),
    };

    objects_controller(object, NULL, &controller);
    texts[CHILD_CONTROLLER] = controller;
    struct child *c = texts_pack(sizeof(*c), offsetof(struct child, at), texts, CHILD_TEXTS);
    c->refs = 1;
    c->generation = json_integer_value(texts_field(object, "metadata", "generation", NULL));
    c->replicas = (uint32_t)json_integer_value(texts_field(object, "spec", "replicas", NULL));
    c->drift = objects_drift_print(object);
    c->deleting = texts_field(object, "metadata", "deletionTimestamp", NULL) != NULL;
    c->ours_by_label = manager && strcmp(manager, CLUSTER_MANAGER) == 0;
    c->observed = c->generation ==
                  json_integer_value(texts_field(object, "status", "observedGeneration", NULL));
    return c;
}

void child_drop(void *kept, void *arg)
{
    child_unref(kept);
}

struct child *child_ref(const struct child *c)
{
    struct child *shared = (struct child *)(uintptr_t)c;

    shared->refs++;
    return shared;
}

void child_unref(struct child *c)
{
    if (c && --c->refs == 0)
        free(c);
}

const char *child_text(const struct child *c, enum child_text which)
{
    return texts_get(c, c->at[which]);
}

static bool text_is(const struct child *c, enum child_text which, const char *want)
{
    const char *s = child_text(c, which);

    return s && strcmp(s, want) == 0;
}

bool child_applied(const struct child *c, const char *print)
{
    return c && text_is(c, CHILD_PRINT, print);
}

bool child_controlled(const struct child *c, const struct cluster *cluster)
{
    return text_is(c, CHILD_CONTROLLER, cluster->uid);
}

bool child_orphaned(const struct child *c, const struct cluster *cluster)
{
    return !child_text(c, CHILD_CONTROLLER) && c->ours_by_label &&
           text_is(c, CHILD_LABEL, cluster->name);
}

const char *child_cluster(const struct child *c)
{
    const char *by = child_text(c, CHILD_CONTROLLED_BY);

    return by ? by : child_text(c, CHILD_LABEL);
}
