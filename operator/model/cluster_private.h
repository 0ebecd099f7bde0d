/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoders of the parts of a DvmCluster. */
#ifndef OPERATOR_MODEL_CLUSTER_PRIVATE_H
#define OPERATOR_MODEL_CLUSTER_PRIVATE_H

#include "operator/model/cluster.h"

int cluster_drain_decode(const json_t *parent, const char *path, struct cluster_drain *out,
                         struct err *err) __attribute__((warn_unused_result));
int cluster_faults_decode(const json_t *spec, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));
int cluster_update_decode(const json_t *spec, struct cluster_update *out, struct err *err)
    __attribute__((warn_unused_result));
int cluster_security_decode(const json_t *spec, struct cluster_security *out, struct err *err)
    __attribute__((warn_unused_result));
void cluster_security_clear(struct cluster_security *s);
int cluster_disruption_decode(const json_t *spec, struct cluster_disruption *out, struct err *err)
    __attribute__((warn_unused_result));
int cluster_grants_decode(const json_t *status, struct cluster_grants *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *
cluster_grants_encode(const struct cluster_grants *g); /* NULL: there is nothing to encode */
int cluster_record_decode(const json_t *object, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
