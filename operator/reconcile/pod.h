/* SPDX-License-Identifier: BSD-3-Clause */
/* What the operator keeps of a pod. */
#ifndef OPERATOR_RECONCILE_POD_H
#define OPERATOR_RECONCILE_POD_H

#include "operator/plan/plan.h"
#include "operator/reconcile/child.h"

enum pod_text {
    POD_NAME,
    POD_UID,
    POD_SET,     /* name of the StatefulSet that controls it */
    POD_SET_UID, /* its uid */
    POD_NODE,
    POD_REVISION,      /* of the template that it was made from */
    POD_SPEC,          /* fingerprint of the spec that it was made from */
    POD_IMAGE,         /* while the daemon's container does not run */
    POD_WAITING,       /* the kubelet's reason why it does not run */
    POD_MESSAGE,       /* its words; of an image, those of the first such failure */
    POD_UNSCHEDULABLE, /* the scheduler's words why no node takes the pod */
    POD_ENDED,         /* the reason why the daemon's container ended last */
    POD_DISRUPTION,    /* why a controller ends the pod */
    POD_TEXTS
};

struct entry;
struct pod {
    struct entry *e; /* the cluster whose list has it; NULL: none */
    struct pod *prev, *next;
    int64_t running_since_ms; /* wall clock; 0: the daemon's container does not run */
    uint64_t state_ms;        /* when the operator has first seen it run, or wait for the present
                                 reason, by the loop's clock */
    int64_t ended_ms;         /* the end of POD_ENDED, wall clock; 0: unknown */
    int64_t ended_code;
    unsigned refs;
    uint16_t at[POD_TEXTS];
    bool head, deleting, ready;
    bool starved;     /* the daemon's container ended last for want of memory */
    bool node_silent; /* its node has not answered for so long that it is not ready */
};

/* The function of a cache (struct cache_opts) whose arg is the reconciler. */
void *pod_keep(const json_t *object, const void *before, void *arg);
struct pod *pod_ref(const struct pod *p);
void pod_unref(struct pod *p);

const char *pod_text(const struct pod *p, enum pod_text which); /* NULL: absent */
/* All fields that depend on the pod alone. Texts are borrowed. */
void pod_read(const struct pod *p, struct plan_pod *out);
/* True if a kubelet has the pod and has not started its container. A missing Secret may be the
 * cause. */
bool pod_waits_for_volumes(const struct plan_pod *pod);
/* True if the StatefulSet's controller has seen the newest template and the pod is made from
 * another. */
bool pod_outdated(const struct pod *p, const struct child *set);
/* True if the pod was made from another spec than `wanted`, the annotation OBJECTS_SPEC that pods
 * get now. */
bool pod_changed(const struct pod *p, const char *wanted);
/* The reason of the end of the daemon's container in the last two minutes; NULL: it has not ended.
 */
const char *pod_container_end(const struct pod *p, int64_t now_ms);

#endif
