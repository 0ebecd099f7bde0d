/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers shared by the decoders of spec and status record. */
#ifndef OPERATOR_MODEL_CLUSTER_PRIVATE_H
#define OPERATOR_MODEL_CLUSTER_PRIVATE_H

#include "operator/model/cluster.h"

#include <stddef.h>

/* Each reads the member named by the last part of `path` of `o` (may be NULL). An absent or null
 * one is fine and leaves *out as it is; a wrong one is an error that names the path. */
int field_int(const json_t *o, const char *path, int64_t min, int64_t max, int64_t *out,
              struct err *err) __attribute__((warn_unused_result));
int field_str(const json_t *o, const char *path, size_t max, const char **out, struct err *err)
    __attribute__((warn_unused_result));
int field_bool(const json_t *o, const char *path, bool *out, struct err *err)
    __attribute__((warn_unused_result));
int field_object(const json_t *o, const char *path, const json_t **out, struct err *err)
    __attribute__((warn_unused_result));
int drain_decode(const json_t *parent, const char *path, struct cluster_drain *out, struct err *err)
    __attribute__((warn_unused_result));
int grants_decode(const json_t *status, struct cluster_grants *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *grants_encode(const struct cluster_grants *g); /* NULL: there are none */
int record_decode(const json_t *object, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
