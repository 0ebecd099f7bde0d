/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps what the plan, the status and the Events need of a pod, some 300 bytes.
 *
 * In: a pod as JSON. Out: struct pod, and from it the fields of struct plan_pod (pod_read()), the
 * reason of a disruption, the end of the daemon's container, the time of its start.
 *
 * Invariants: only the daemon's container (OBJECTS_CONTAINER) is looked at. A pod is outdated only
 * if the StatefulSet's controller has observed the set's present generation. The end of the present
 * container goes before that of the one before it. The list of a cluster has a pod until its cache
 * drops it.
 *
 * Failures: an absent field, or one of another type, counts as not given: NULL, 0 or false. An end
 * older than CONTAINER_END_FRESH_MS is no cause of a loss.
 *
 * pod_read() leaves the vpid and the comparison with the StatefulSet to observe.c. */
#include "operator/reconcile/pod.h"

#include "api/role.h"
#include "base/buf/buf.h"
#include "base/span/span.h"
#include "operator/model/timestamp.h"
#include "operator/reconcile/reconcile_private.h"
#include "operator/reconcile/texts.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* The end of a container counts as the cause of a loss for so long. */
#define CONTAINER_END_FRESH_MS 120000

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

static const json_t *daemon_status(const json_t *pod)
{
    return find_with(texts_field(pod, "status", "containerStatuses", NULL), "name",
                     OBJECTS_CONTAINER);
}

static const char *daemon_image(const json_t *pod)
{
    const json_t *list = texts_field(pod, "spec", "containers", NULL);

    return json_string_value(json_object_get(find_with(list, "name", OBJECTS_CONTAINER), "image"));
}

static const char *spec_print(const json_t *metadata)
{
    return json_string_value(
        json_object_get(json_object_get(metadata, "annotations"), OBJECTS_SPEC));
}

/* The end of the present container, or of the one before it. */
static const json_t *find_end(const json_t *status)
{
    const json_t *ended = texts_field(status, "state", "terminated", NULL);

    return ended ? ended : texts_field(status, "lastState", "terminated", NULL);
}

static const json_t *find_condition(const json_t *pod, const char *type)
{
    return find_with(texts_field(pod, "status", "conditions", NULL), "type", type);
}

static bool condition_true(const json_t *pod, const char *type)
{
    const char *s = json_string_value(json_object_get(find_condition(pod, type), "status"));

    return s && strcmp(s, "True") == 0;
}

static const char *disruption_of(const json_t *pod)
{
    if (condition_true(pod, "DisruptionTarget"))
        return json_string_value(
            json_object_get(find_condition(pod, "DisruptionTarget"), "reason"));
    return texts_find(pod, "status", "reason", NULL);
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

/* The kubelet's words why the container does not run. Those about an image name ports and times
 * that differ between attempts, so other digits alone are no news; the words of a back-off repeat
 * those of the failure, or have none. */
static const char *waiting_words(const json_t *waiting, const struct pod *before)
{
    const char *reason = json_string_value(json_object_get(waiting, "reason"));
    const char *message = json_string_value(json_object_get(waiting, "message"));
    const char *known = before && status_is_pull_failure(pod_text(before, POD_WAITING))
                            ? pod_text(before, POD_MESSAGE)
                            : NULL;

    if (!status_is_pull_failure(reason))
        return message;
    const char *words = status_pull_words(message ? message : "");
    if (!*words)
        return known ? known : message;
    return known && status_same_but_digits(words, known) ? known : words;
}

static int64_t time_of(const char *text, int64_t unreadable)
{
    int64_t ms = 0;

    if (!text)
        return 0;
    return timestamp_parse(text, &ms) ? unreadable : ms;
}

static bool is_same_state(const struct pod *a, const struct pod *b)
{
    const char *x = pod_text(a, POD_WAITING), *y = pod_text(b, POD_WAITING);

    return a->running_since_ms == b->running_since_ms && strcmp(x ? x : "", y ? y : "") == 0;
}

/* The runtime's reasons for a container whose process never began: containerd's and cri-dockerd's.
 */
static bool is_start_failure(const char *reason)
{
    return strcmp(reason, "StartError") == 0 || strcmp(reason, "ContainerCannotRun") == 0;
}

/* A container that the kernel ended, or that could not even start with what its pod's files in
 * memory have left of the limit (runc: "container init was OOM-killed"). The message of a container
 * that ran is its own (/dev/termination-log, its log), so anybody's job can have written it. */
static bool is_starved(const json_t *status)
{
    const json_t *end = find_end(status);
    const char *reason = json_string_value(json_object_get(end, "reason"));
    const char *message = json_string_value(json_object_get(end, "message"));

    if (!reason)
        return false;
    if (strcmp(reason, "OOMKilled") == 0)
        return true;
    return is_start_failure(reason) && message &&
           (strstr(message, "OOM-killed") || strstr(message, "memory limit"));
}

/* The controller of nodes sets Ready of the pods on a node that does not answer, and no other
 * condition; a kubelet sets both, unless the pod has readiness gates. */
static bool is_node_silent(const json_t *pod)
{
    const json_t *ready = find_condition(pod, "Ready");
    const char *reason = json_string_value(json_object_get(ready, "reason"));

    return ready && !condition_true(pod, "Ready") && condition_true(pod, "ContainersReady") &&
           !(reason && strcmp(reason, "ReadinessGatesNotReady") == 0);
}

static void read_times(struct pod *p, const json_t *status, const struct pod *before,
                       uint64_t now_ms)
{
    const json_t *ended = find_end(status);

    p->running_since_ms = time_of(texts_find(status, "state", "running", "startedAt"), 1);
    p->state_ms = before && is_same_state(before, p) ? before->state_ms : now_ms;
    p->ended_ms = time_of(json_string_value(json_object_get(ended, "finishedAt")), 0);
    p->ended_code = json_integer_value(json_object_get(ended, "exitCode"));
}

void *pod_keep(const json_t *object, const void *before, void *arg)
{
    const struct reconciler *r = arg;
    const json_t *labels = texts_field(object, "metadata", "labels", NULL);
    const json_t *status = daemon_status(object);
    const json_t *waiting = texts_field(status, "state", "waiting", NULL);
    const char *role = json_string_value(json_object_get(labels, CLUSTER_LABEL_ROLE));
    const char *set_uid = NULL, *set = objects_controller(object, "StatefulSet", &set_uid);
    bool runs = texts_find(status, "state", "running", "startedAt") != NULL;
    const char *const texts[POD_TEXTS] = {
        [POD_NAME] = texts_find(object, "metadata", "name", NULL),
        [POD_UID] = texts_find(object, "metadata", "uid", NULL),
        [POD_SET] = set,
        [POD_SET_UID] = set_uid,
        [POD_NODE] = texts_find(object, "spec", "nodeName", NULL),
        [POD_REVISION] = json_string_value(json_object_get(labels, "controller-revision-hash")),
        [POD_SPEC] = spec_print(json_object_get(object, "metadata")),
        [POD_IMAGE] = runs ? NULL : daemon_image(object),
        [POD_WAITING] = json_string_value(json_object_get(waiting, "reason")),
        [POD_MESSAGE] = waiting_words(waiting, before),
        [POD_UNSCHEDULABLE] = find_scheduler_words(object),
        [POD_ENDED] = json_string_value(json_object_get(find_end(status), "reason")),
        [POD_DISRUPTION] = disruption_of(object),
    };

    struct pod *p = texts_pack(sizeof(*p), offsetof(struct pod, at), texts, POD_TEXTS);
    p->refs = 1;
    p->head = role && api_role_of(role) == API_ROLE_HEAD;
    p->deleting = texts_field(object, "metadata", "deletionTimestamp", NULL) != NULL;
    p->ready = condition_true(object, "Ready");
    p->starved = is_starved(status);
    p->node_silent = is_node_silent(object);
    read_times(p, status, before, loop_now_ms(r->o.loop));
    return p;
}

struct pod *pod_ref(const struct pod *p)
{
    struct pod *shared = (struct pod *)(uintptr_t)p;

    shared->refs++;
    return shared;
}

void pod_unref(struct pod *p)
{
    if (p && --p->refs == 0)
        free(p);
}

const char *pod_text(const struct pod *p, enum pod_text which)
{
    return texts_get(p, p->at[which]);
}

bool pod_outdated(const struct pod *p, const struct child *set)
{
    const char *has = pod_text(p, POD_REVISION);
    const char *update = set ? child_text(set, CHILD_REVISION) : NULL;

    return has && update && set->observed && strcmp(has, update) != 0;
}

bool pod_changed(const struct pod *p, const char *wanted)
{
    const char *has = pod_text(p, POD_SPEC);

    return has && strcmp(has, wanted) != 0;
}

const char *pod_container_end(const struct pod *p, int64_t now_ms)
{
    bool fresh = p->ended_ms && span_ms(p->ended_ms, now_ms) <= CONTAINER_END_FRESH_MS;

    return fresh ? pod_text(p, POD_ENDED) : NULL;
}

/* True if the node of the pod has not answered for longer than the pod tolerates. */
static bool is_node_lost(const struct pod *p)
{
    const char *why = pod_text(p, POD_DISRUPTION);

    return why && (strcmp(why, "DeletionByTaintManager") == 0 || strcmp(why, "NodeLost") == 0);
}

void pod_read(const struct pod *p, struct plan_pod *out)
{
    *out = (struct plan_pod){.name = pod_text(p, POD_NAME),
                             .uid = pod_text(p, POD_UID),
                             .deleting = p->deleting,
                             .ready = p->ready,
                             .node_lost = is_node_lost(p),
                             .node_silent = p->node_silent,
                             .starved = p->starved,
                             .running_since_ms = p->running_since_ms,
                             .waiting = pod_text(p, POD_WAITING),
                             .message = pod_text(p, POD_MESSAGE),
                             .image = pod_text(p, POD_IMAGE),
                             .unschedulable = pod_text(p, POD_UNSCHEDULABLE),
                             .node = pod_text(p, POD_NODE),
                             .ended = pod_text(p, POD_ENDED),
                             .ended_code = p->ended_code};
}

/* Before a kubelet has the pod there is no reason, and no volume is waited for. */
bool pod_waits_for_volumes(const struct plan_pod *pod)
{
    return !pod->deleting && !pod->running_since_ms && pod->waiting &&
           strcmp(pod->waiting, "ContainerCreating") == 0;
}
