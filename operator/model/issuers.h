/* SPDX-License-Identifier: BSD-3-Clause */
/* The issuers of cert-manager that a DvmCluster may name. */
#ifndef OPERATOR_MODEL_ISSUERS_H
#define OPERATOR_MODEL_ISSUERS_H

#include "operator/model/cluster.h"

#define ISSUERS_MAX 32
/* An Issuer of the namespace is one of the user's own; a ClusterIssuer is the administrator's. */
#define ISSUERS_DEFAULT "Issuer/*"

struct issuers {
    const char *entry[ISSUERS_MAX]; /* KIND[.GROUP]/NAME, borrowed; NAME may be "*" */
    size_t n;                       /* 0: ISSUERS_DEFAULT */
};

/* -1: the text is no such entry, or the list is full. */
int issuers_add(struct issuers *list, const char *text, struct err *err)
    __attribute__((warn_unused_result));
/* -1: err names the issuer. A DvmCluster without one is allowed. */
int issuers_check(const struct issuers *list, const struct cluster_issuer *issuer, struct err *err)
    __attribute__((warn_unused_result));

#endif
