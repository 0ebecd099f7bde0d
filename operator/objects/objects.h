/* SPDX-License-Identifier: BSD-3-Clause */
/* The Kubernetes objects of one DvmCluster, as JSON ready to be applied. */
#ifndef OPERATOR_OBJECTS_OBJECTS_H
#define OPERATOR_OBJECTS_OBJECTS_H

#include "operator/model/cluster.h"

/* Fingerprint of what was applied last, without replicas. */
#define OBJECTS_APPLIED "dvm.openpmix.io/applied"
#define OBJECTS_CONTAINER "prted"

/* A new reference. `replicas` counts for StatefulSets only; `image` is what the daemons run. The
 * result is a whole server-side apply configuration but for uid and resourceVersion. */
json_t *objects_build(const struct cluster *c, enum cluster_child child, uint32_t replicas,
                      const char *image);
/* Fingerprint in an object's annotation, "" if there is none. Borrowed. */
const char *objects_applied(const json_t *object);
/* The pod that a StatefulSet's template would make, for a dry run. A new reference. */
json_t *objects_probe_pod(const json_t *set);
/* A Secret "<cluster>-<suffix>" of type kubernetes.io/tls, with ca.crt beside. A new reference. */
json_t *objects_secret(const struct cluster *c, const char *suffix, const char *ca_pem,
                       const char *cert_pem, const char *key_pem);

/* "StatefulSet", "Service", "PodDisruptionBudget"; the object's name; the collection's path without
 * a trailing slash; the object's path. The char * ones are the caller's. */
const char *objects_kind(enum cluster_child child);
char *objects_name(const struct cluster *c, enum cluster_child child);
char *objects_collection(const char *ns, enum cluster_child child);
char *objects_path(const struct cluster *c, enum cluster_child child);
/* True if the object's controller is this very DvmCluster (by uid). */
bool objects_controlled(const json_t *object, const struct cluster *c);
/* Names in the certificate of a role, NULL-terminated; free with objects_names_free(). */
char **objects_cert_names(const struct cluster *c, const char *role);
void objects_names_free(char **names);

#endif
