/* SPDX-License-Identifier: BSD-3-Clause */
/* What the operator keeps of a StatefulSet, Service or PodDisruptionBudget. */
#ifndef OPERATOR_RECONCILE_CHILD_H
#define OPERATOR_RECONCILE_CHILD_H

#include "operator/model/cluster.h"

enum child_text {
    CHILD_UID,
    CHILD_VERSION,
    CHILD_CONTROLLER,    /* uid of the controller */
    CHILD_CONTROLLED_BY, /* its name, if it is a DvmCluster */
    CHILD_LABEL,         /* the cluster in the label */
    CHILD_PRINT,         /* fingerprint of the applied configuration */
    CHILD_REVISION,      /* StatefulSets: of the present template */
    CHILD_TEXTS
};

struct child {
    unsigned refs;
    uint32_t replicas; /* StatefulSets: spec.replicas */
    int64_t generation;
    uint64_t drift; /* objects_drift_print() */
    bool deleting;
    bool ours_by_label; /* the operator's label of its objects */
    bool observed;      /* its controller has seen the newest generation */
    uint16_t at[CHILD_TEXTS];
};

/* The functions of a cache (struct cache_opts). */
void *child_keep(const json_t *object, const void *before, void *arg);
void child_drop(void *kept, void *arg);
struct child *child_ref(const struct child *c);
void child_unref(struct child *c); /* NULL is ignored */

const char *child_text(const struct child *c, enum child_text which); /* NULL: absent */
/* True if the object exists and was last applied with this fingerprint; `c` may be NULL. */
bool child_applied(const struct child *c, const char *print);
/* True if this DvmCluster (by its uid) is the controller. */
bool child_controlled(const struct child *c, const struct cluster *cluster);
/* As objects_orphaned(). */
bool child_orphaned(const struct child *c, const struct cluster *cluster);
/* The name of the cluster that it belongs to, by its controller; without one, that in its label,
 * which may wait for the name to become free. NULL: none. */
const char *child_cluster(const struct child *c);

#endif
