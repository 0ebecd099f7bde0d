/* SPDX-License-Identifier: BSD-3-Clause */
/* The five Secrets of a cluster: read, created if absent, their certificates renewed in time; never
 * listed. */
#ifndef OPERATOR_RECONCILE_CREDENTIALS_H
#define OPERATOR_RECONCILE_CREDENTIALS_H

#include "base/tls/tls.h"
#include "operator/kube/kube.h"
#include "operator/model/cluster.h"
#include "operator/status/status.h"

#include <stdbool.h>

#define CREDENTIALS_CA_DAYS 3650
#define CREDENTIALS_LEAF_DAYS 90

/* One Secret each: <cluster>-ca and one per role. */
enum credentials_secret {
    CREDENTIALS_CA,
    CREDENTIALS_HEAD,
    CREDENTIALS_MEMBER,
    CREDENTIALS_OPERATOR,
    CREDENTIALS_USER, /* for programs outside the cluster (docs/prun.md); the cluster works without
                         it */
    CREDENTIALS_SECRETS,
    CREDENTIALS_COMPLETE = CREDENTIALS_SECRETS,
    CREDENTIALS_LOST /* the authority is lost, so a missing certificate cannot be issued */
};
/* The Secret to create next. */
enum credentials_secret credentials_next(const bool there[CREDENTIALS_SECRETS]);

/* When a certificate is renewed: while a third of its life is left. */
int64_t credentials_renewal_ms(const struct tls_life *life);

/* The operator's certificate, with which it connects to the head. */
struct credentials {
    char *ca_pem;
    char *cert_pem;
    char *key_pem;
    /* Of the certificates of all roles, wall clock; INT64_MAX: none can be read. */
    int64_t end_ms;     /* the earliest end */
    int64_t renewal_ms; /* the earliest renewal */
};
void credentials_clear(struct credentials *c);

/* on_done is called once, never inside the call and not after credentials_cancel(). `creds`
 * (borrowed for the call) is NULL if the operator's own Secret cannot be had. `trouble` is NULL if
 * all Secrets exist and no certificate is due. With CERTIFICATE_NOT_RENEWED the cluster works. */
/* Secrets that a job has read, and certificates that it has issued. A job that fails keeps them
 * here, and the next job continues with them. */
struct credentials_progress;
void credentials_progress_destroy(struct credentials_progress *p);

struct credentials_job;
typedef void credentials_fn(const struct credentials *creds, const struct status_trouble *trouble,
                            void *arg);
/* `c` and `progress` are borrowed until on_done or credentials_cancel(). *progress is NULL at
 * first; the caller destroys it in the end. */
struct credentials_job *credentials_ensure(struct kube *kube, const struct cluster *c,
                                           struct credentials_progress **progress,
                                           credentials_fn *on_done, void *arg, struct err *err);
void credentials_cancel(struct credentials_job *j);

#endif
