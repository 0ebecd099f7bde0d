/* SPDX-License-Identifier: BSD-3-Clause */
/* Fingerprints of the objects that a cluster should have. With them a pass builds no object that it
 * does not apply. */
#ifndef OPERATOR_RECONCILE_WANTED_H
#define OPERATOR_RECONCILE_WANTED_H

#include "operator/model/cluster.h"

#define WANTED_PRINT_BYTES 17 /* 16 digits */

struct wanted_print {
    char applied[WANTED_PRINT_BYTES]; /* objects_applied() */
    char spec[WANTED_PRINT_BYTES];    /* the annotation OBJECTS_SPEC of the pods; "": no pods */
    uint64_t drift;                   /* objects_drift_print() */
};

struct wanted {
    uint64_t inputs; /* objects_inputs_print(); 0: nothing is known yet */
    struct wanted_print child[CLUSTER_CHILDREN];
    struct wanted_print busy_budget; /* of the head while jobs run */
};

/* Brings *w up to date with the DvmCluster `object`, from which `c` was decoded; `image` is that of
 * daemons whose spec names none. True: the objects were built for it. */
bool wanted_refresh(struct wanted *w, const json_t *object, const struct cluster *c,
                    const char *image);

/* The object itself. A new reference. */
json_t *wanted_build(const struct cluster *c, enum cluster_child child, uint32_t replicas,
                     const char *image);

#endif
