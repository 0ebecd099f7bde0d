/* SPDX-License-Identifier: BSD-3-Clause */
/* The certificates of a cluster whose spec names an issuer of cert-manager. */
#ifndef OPERATOR_RECONCILE_ISSUER_H
#define OPERATOR_RECONCILE_ISSUER_H

#include "operator/reconcile/credentials.h"

struct issuer_job;
/* As credentials_ensure(), without progress: the next job begins anew. */
struct issuer_job *issuer_ensure(struct kube *kube, const struct cluster *c,
                                 credentials_fn *on_done, void *arg, struct err *err);
void issuer_cancel(struct issuer_job *j);

#endif
