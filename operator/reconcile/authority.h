/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides how the Secrets of a cluster are changed next: created, renewed, and moved from one
 * certificate authority to another. A pure function of what the Secrets contain. */
#ifndef OPERATOR_RECONCILE_AUTHORITY_H
#define OPERATOR_RECONCILE_AUTHORITY_H

#include "base/tls/tls.h"

#include <stdbool.h>
#include <stdint.h>

/* One Secret each: <cluster>-ca and one per role. */
enum credentials_secret {
    CREDENTIALS_CA,
    CREDENTIALS_HEAD,
    CREDENTIALS_MEMBER,
    CREDENTIALS_OPERATOR,
    CREDENTIALS_USER, /* for programs outside the cluster (docs/prun.md); the cluster works without
                         it */
    CREDENTIALS_SECRETS
};

/* What a Secret contains, as PEM texts; NULL: missing or unreadable. Of the authority's, `ca` is
 * the bundle that all are to trust, and `cert` the authority that issues. */
struct authority_secret {
    bool exists;
    const char *ca;
    const char *cert;
};

struct authority_view {
    struct authority_secret secret[CREDENTIALS_SECRETS];
    int64_t revision;   /* of the authority that issues */
    int64_t trusted_ms; /* wall clock: since then all Secrets have the bundle; 0: unknown */
    int64_t issued_ms;  /* since then all certificates are of the authority that issues */
    int64_t wanted_revision;
    int64_t overlap_ms;
    int64_t now_ms;
};

enum authority_step {
    AUTHORITY_REST,    /* nothing to do before `until_ms` */
    AUTHORITY_CREATE,  /* the Secret of the authority, with a new one that issues; all trust
                          `bundle`, too */
    AUTHORITY_REPLACE, /* the same in a Secret that exists */
    AUTHORITY_TRUST,   /* the Secret `at` gets `bundle` */
    AUTHORITY_MAKE,    /* the Secret `at` is created */
    AUTHORITY_ISSUE,   /* the Secret `at` gets a new certificate */
    AUTHORITY_MARK_TRUSTED,
    AUTHORITY_MARK_ISSUED,
};

struct authority_next {
    enum authority_step step;
    enum credentials_secret at;
    char *bundle;     /* on the heap; NULL: none */
    int64_t until_ms; /* INT64_MAX: no certificate can be read */
    bool settled;     /* one authority is trusted, and all certificates are of it */
};
void authority_next(const struct authority_view *v, struct authority_next *out);

/* When a certificate is renewed: while a third of its life is left. */
int64_t authority_renewal_ms(const struct tls_life *life);

#endif
