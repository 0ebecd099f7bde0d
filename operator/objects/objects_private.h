/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that objects are built from: labels, and the daemons' pod template. */
#ifndef OPERATOR_OBJECTS_OBJECTS_PRIVATE_H
#define OPERATOR_OBJECTS_OBJECTS_PRIVATE_H

#include "operator/objects/objects.h"

/* `role`: the daemons of this role; API_ROLE_NONE: all daemons. New references. */
json_t *objects_match(const struct cluster *c, enum api_role role);
json_t *objects_labels(const struct cluster *c, enum api_role role);
/* Name, namespace, labels and the owner. */
json_t *objects_metadata(const struct cluster *c, const char *name, enum api_role role);
/* The pod template of a role, with the user's template merged into it. */
json_t *objects_pod(const struct cluster *c, enum api_role role, const char *image);

/* FNV-1a: detects changes, protects against nothing. */
uint64_t objects_fingerprint(const json_t *o);

/* Merges the object `over` into the object `base`. Maps are merged by key, and null removes a key.
 * Lists of containers are merged by name, item by item. Items of volumes, env, ports and
 * imagePullSecrets are replaced by name, those of volumeMounts by mountPath. Any other value is
 * replaced. docs/operator.md describes it for users. */
void objects_merge(json_t *base, const json_t *over);

/* An amount of memory ("512Mi", 1000000) in bytes; 0: absent, or not readable. */
uint64_t objects_quantity(const json_t *value);

#endif
