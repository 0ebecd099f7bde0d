/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that objects are built from: labels, and the daemons' pod template. */
#ifndef OPERATOR_OBJECTS_OBJECTS_PRIVATE_H
#define OPERATOR_OBJECTS_OBJECTS_PRIVATE_H

#include "operator/objects/objects.h"

/* `role`: "head", "member"; NULL: all daemons. New references. */
json_t *objects_match(const struct cluster *c, const char *role);
json_t *objects_labels(const struct cluster *c, const char *role);
/* The pod template of a role, merged with the user's. */
json_t *objects_pod(const struct cluster *c, const char *role, const char *image);

/* Merges `over` into `base` (both objects): maps by key, null removes; lists of containers by name,
 * item by item; lists of volumes, env, ports, imagePullSecrets by name and volumeMounts by
 * mountPath, an item replaced whole; other values replaced. docs/operator.md tells users. */
void objects_merge(json_t *base, const json_t *over);

#endif
