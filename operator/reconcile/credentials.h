/* SPDX-License-Identifier: BSD-3-Clause */
/* The five Secrets of a cluster: read, or made if absent; never changed, never listed. */
#ifndef OPERATOR_RECONCILE_CREDENTIALS_H
#define OPERATOR_RECONCILE_CREDENTIALS_H

#include "operator/kube/kube.h"
#include "operator/model/cluster.h"
#include "operator/status/status.h"

#include <stdbool.h>

#define CREDENTIALS_DAYS 3650

/* One Secret each: <cluster>-ca and one per role. */
enum credentials_secret {
    CREDENTIALS_CA,
    CREDENTIALS_HEAD,
    CREDENTIALS_MEMBER,
    CREDENTIALS_OPERATOR,
    CREDENTIALS_USER, /* for programs outside (docs/prun.md); the cluster works without it */
    CREDENTIALS_SECRETS,
    CREDENTIALS_COMPLETE = CREDENTIALS_SECRETS,
    CREDENTIALS_LOST /* nothing that the others would trust can be issued any more */
};
/* What is to be made next, by what is there. */
enum credentials_secret credentials_next(const bool there[CREDENTIALS_SECRETS]);

/* What the operator needs to talk to the head. */
struct credentials {
    char *ca_pem;
    char *cert_pem;
    char *key_pem;
};
void credentials_clear(struct credentials *c);

/* Ends once by on_done, never inside the call and not after credentials_cancel(). `creds` (borrowed
 * for the call) is NULL if the operator's own Secret cannot be had; `trouble` is NULL if all are
 * there. */
struct credentials_job;
typedef void credentials_fn(const struct credentials *creds, const struct status_trouble *trouble,
                            void *arg);
/* `c` is borrowed until the end. */
struct credentials_job *credentials_ensure(struct kube *kube, const struct cluster *c,
                                           credentials_fn *on_done, void *arg, struct err *err);
void credentials_cancel(struct credentials_job *j);

#endif
