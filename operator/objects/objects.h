/* SPDX-License-Identifier: BSD-3-Clause */
/* The Kubernetes objects of one DvmCluster, as JSON ready to be applied. */
#ifndef OPERATOR_OBJECTS_OBJECTS_H
#define OPERATOR_OBJECTS_OBJECTS_H

#include "api/role.h"
#include "operator/model/cluster.h"

/* Annotation with the fingerprint of the object that was applied last, without replicas. */
#define OBJECTS_APPLIED "dvm.openpmix.io/applied"
/* An annotation of members' pods: what of the spec they were made from. It changes with the spec
 * and not with the operator's release. */
#define OBJECTS_SPEC "dvm.openpmix.io/spec"
#define OBJECTS_CONTAINER "prted"

/* The whole apply configuration of an object, without uid and resourceVersion. `replicas` is used
 * for StatefulSets only; `image` is that of the daemons. A new reference. */
json_t *objects_build(const struct cluster *c, enum cluster_child child, uint32_t replicas,
                      const char *image);
/* A fingerprint of all of a DvmCluster that objects_build() reads, except name, namespace and uid:
 * while it stays, the objects stay. The sizes are no part of it. */
uint64_t objects_inputs_print(const json_t *cluster);
/* The fingerprint in the object's annotation; "": none. Borrowed. */
const char *objects_applied(const json_t *object);
/* The pod that the template of a StatefulSet describes, for a dry run. A new reference. */
json_t *objects_probe_pod(const json_t *set);
/* A Secret "<cluster>-<role>" of type kubernetes.io/tls, with ca.crt in it too. A new
 * reference. */
json_t *objects_secret(const struct cluster *c, enum api_role role, const char *ca_pem,
                       const char *cert_pem, const char *key_pem);

/* The Certificate "<cluster>-<role>" by which cert-manager makes the Secret of the same name. A new
 * reference. */
json_t *objects_certificate(const struct cluster *c, enum api_role role);

/* Kind, name, path of the collection (without a slash at the end) and path of an object. The char *
 * results are on the heap. */
const char *objects_kind(enum cluster_child child);
char *objects_name(const struct cluster *c, enum cluster_child child);
char *objects_collection(const char *ns, enum cluster_child child);
char *objects_path(const struct cluster *c, enum cluster_child child);
/* A fingerprint of the parts of the spec that are in a member's pod. On the heap. */
char *objects_spec_print(const struct cluster *c);
/* True if this DvmCluster (by its uid) is the controller of the object. */
bool objects_controlled(const json_t *object, const struct cluster *c);
/* The name of the object's controller if it is of this kind (NULL: any), borrowed; NULL: it is not,
 * or there is none. `uid` (may be NULL) takes the controller's uid. */
const char *objects_controller(const json_t *object, const char *kind, const char **uid);
/* True if the object has no controller, but the labels of this cluster: an earlier DvmCluster of
 * this name was deleted with --cascade=orphan. */
bool objects_orphaned(const json_t *object, const struct cluster *c);
/* The command by which a user deletes the orphaned objects of this cluster. On the heap. */
char *objects_orphan_advice(const struct cluster *c);
/* A fingerprint of the labels, and of the fields of a Service's spec, that objects_build() sets. It
 * is the same for the wanted object and one that was not changed. A spec of another kind has a
 * generation by which its changes show. */
uint64_t objects_drift_print(const json_t *object);
/* Names for the certificate of a role, NULL-terminated; freed by objects_names_free(). */
char **objects_cert_names(const struct cluster *c, enum api_role role);
void objects_names_free(char **names);

#endif
