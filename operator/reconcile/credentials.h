/* SPDX-License-Identifier: BSD-3-Clause */
/* The five Secrets of a cluster: read, created if absent, their certificates renewed in time; never
 * listed. */
#ifndef OPERATOR_RECONCILE_CREDENTIALS_H
#define OPERATOR_RECONCILE_CREDENTIALS_H

#include "operator/kube/kube.h"
#include "operator/model/cluster.h"
#include "operator/reconcile/authority.h"
#include "operator/status/status.h"

#include <stdbool.h>

#define CREDENTIALS_CA_DAYS 3650
#define CREDENTIALS_LEAF_DAYS 90
#define CREDENTIALS_SEEN_MAX 192

/* The operator's certificate, with which it connects to the head. */
struct credentials {
    char *ca_pem;
    char *cert_pem;
    char *key_pem;
    /* Of the certificates of all roles, wall clock; INT64_MAX: none can be read. */
    int64_t end_ms;     /* the earliest end */
    int64_t renewal_ms; /* the next step, for example a renewal */
    int64_t revision;   /* of the authority that issues */
    bool partial;       /* only the operator's own Secret was read */
    bool settled;       /* all certificates are of it, and it alone is trusted */
    /* The versions of all Secrets with which they were complete; "": unknown. */
    char seen[CREDENTIALS_SEEN_MAX];
};
void credentials_clear(struct credentials *c);
/* A text of a Secret's data, on the heap; NULL: absent, or not base64. */
char *credentials_text(const json_t *secret, const char *key);

/* What has to be read. */
enum credentials_scope {
    CREDENTIALS_OF_ALL,   /* each Secret */
    CREDENTIALS_OF_NEW,   /* none: the cluster is new. One that exists refuses its creation, and is
                             read then. */
    CREDENTIALS_OF_KNOWN, /* the operator's own, if that can be used; otherwise all */
};

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
 * first; the caller destroys it in the end. `known`: what the last job has delivered, all zero:
 * nothing. Secrets that are still those are not decoded again, which would take some 10 ms. */
struct credentials_job *credentials_ensure(struct kube *kube, const struct cluster *c,
                                           enum credentials_scope scope,
                                           const struct credentials *known,
                                           struct credentials_progress **progress,
                                           credentials_fn *on_done, void *arg, struct err *err);
void credentials_cancel(struct credentials_job *j);

#endif
