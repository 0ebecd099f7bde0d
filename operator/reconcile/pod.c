/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what the plan, the status and the Events need from a pod's object.
 *
 * In: a cached pod as JSON, and for pod_outdated() its StatefulSet. Out: fields of struct plan_pod
 * (pod_read()), the reason of a disruption, the end of the daemon's container, the time of its
 * start. Texts are borrowed from the object.
 *
 * Invariants: only the daemon's container (OBJECTS_CONTAINER) is looked at. A pod is outdated only
 * if the StatefulSet's controller has observed the set's present generation. The end of the present
 * container goes before that of the one before it.
 *
 * Failures: an absent field, or one of another type, counts as not given: NULL, 0 or false. An end
 * older than CONTAINER_END_FRESH_MS is no cause of a loss.
 *
 * pod_read() leaves the name, the vpid and the times of a pod to observe.c. */
#include "operator/model/timestamp.h"
#include "operator/reconcile/reconcile_private.h"

#include <string.h>

/* The end of a container counts as the cause of a loss for so long. */
#define CONTAINER_END_FRESH_MS 120000

const json_t *reconcile_field(const json_t *o, const char *a, const char *b, const char *c)
{
    o = json_object_get(json_object_get(o, a), b);
    return c ? json_object_get(o, c) : o;
}

const char *reconcile_text(const json_t *o, const char *a, const char *b, const char *c)
{
    return json_string_value(reconcile_field(o, a, b, c));
}

/* The first object of a list whose field `key` is the text `value`. */
static const json_t *find_with(const json_t *list, const char *key, const char *value)
{
    const json_t *o;
    size_t i;

    json_array_foreach((json_t *)list, i, o)
    {
        const char *text = json_string_value(json_object_get(o, key));

        if (text && strcmp(text, value) == 0)
            return o;
    }
    return NULL;
}

const json_t *pod_daemon_status(const json_t *pod)
{
    return find_with(reconcile_field(pod, "status", "containerStatuses", NULL), "name",
                     OBJECTS_CONTAINER);
}

static const char *daemon_image(const json_t *pod)
{
    const json_t *list = reconcile_field(pod, "spec", "containers", NULL);

    return json_string_value(json_object_get(find_with(list, "name", OBJECTS_CONTAINER), "image"));
}

bool pod_outdated(const json_t *pod, const json_t *set)
{
    const char *has = reconcile_text(pod, "metadata", "labels", "controller-revision-hash");
    const char *update = reconcile_text(set, "status", "updateRevision", NULL);
    json_int_t seen =
        json_integer_value(reconcile_field(set, "status", "observedGeneration", NULL));
    json_int_t is = json_integer_value(reconcile_field(set, "metadata", "generation", NULL));

    return has && update && seen == is && strcmp(has, update) != 0;
}

static const char *spec_print(const json_t *metadata)
{
    const char *s =
        json_string_value(json_object_get(json_object_get(metadata, "annotations"), OBJECTS_SPEC));

    return s ? s : "";
}

bool pod_changed(const json_t *pod, const json_t *wanted_set)
{
    const char *has = spec_print(json_object_get(pod, "metadata"));
    const char *wants = spec_print(reconcile_field(wanted_set, "spec", "template", "metadata"));

    return *has && *wants && strcmp(has, wants) != 0;
}

/* The end of the present container, or of the one before it. */
static const json_t *find_end(const json_t *status)
{
    const json_t *ended = reconcile_field(status, "state", "terminated", NULL);

    return ended ? ended : reconcile_field(status, "lastState", "terminated", NULL);
}

const char *pod_container_end(const json_t *pod, int64_t now_ms, long long *code)
{
    const json_t *ended = find_end(pod_daemon_status(pod));
    int64_t at_ms = 0;

    const char *at = json_string_value(json_object_get(ended, "finishedAt"));
    if (!at || timestamp_parse(at, &at_ms) || at_ms < now_ms - CONTAINER_END_FRESH_MS)
        return NULL;
    *code = json_integer_value(json_object_get(ended, "exitCode"));
    return json_string_value(json_object_get(ended, "reason"));
}

static const json_t *find_condition(const json_t *pod, const char *type)
{
    return find_with(reconcile_field(pod, "status", "conditions", NULL), "type", type);
}

static bool condition_true(const json_t *pod, const char *type)
{
    const char *s = json_string_value(json_object_get(find_condition(pod, type), "status"));

    return s && strcmp(s, "True") == 0;
}

const char *pod_disruption(const json_t *pod)
{
    if (condition_true(pod, "DisruptionTarget"))
        return json_string_value(
            json_object_get(find_condition(pod, "DisruptionTarget"), "reason"));
    return reconcile_text(pod, "status", "reason", NULL);
}

/* True if the node of the pod has not answered for longer than the pod tolerates. */
static bool is_node_lost(const json_t *pod)
{
    const char *why = pod_disruption(pod);

    return why && (strcmp(why, "DeletionByTaintManager") == 0 || strcmp(why, "NodeLost") == 0);
}

static const char *find_scheduler_words(const json_t *pod)
{
    const json_t *c = find_condition(pod, "PodScheduled");
    const char *reason = json_string_value(json_object_get(c, "reason"));

    if (!reason || strcmp(reason, "Unschedulable") != 0)
        return NULL;
    const char *message = json_string_value(json_object_get(c, "message"));
    return message ? message : "";
}

const char *pod_started(const json_t *pod)
{
    return reconcile_text(pod_daemon_status(pod), "state", "running", "startedAt");
}

void pod_read(const json_t *pod, struct plan_pod *out)
{
    const json_t *status = pod_daemon_status(pod);
    const json_t *waiting = reconcile_field(status, "state", "waiting", NULL);
    const json_t *ended = find_end(status);

    out->uid = reconcile_text(pod, "metadata", "uid", NULL);
    out->deleting = reconcile_field(pod, "metadata", "deletionTimestamp", NULL) != NULL;
    out->ready = condition_true(pod, "Ready");
    out->node_lost = is_node_lost(pod);
    out->waiting = json_string_value(json_object_get(waiting, "reason"));
    out->message = json_string_value(json_object_get(waiting, "message"));
    out->image = daemon_image(pod);
    out->unschedulable = find_scheduler_words(pod);
    out->node = reconcile_text(pod, "spec", "nodeName", NULL);
    out->ended = json_string_value(json_object_get(ended, "reason"));
    out->ended_code = json_integer_value(json_object_get(ended, "exitCode"));
}
