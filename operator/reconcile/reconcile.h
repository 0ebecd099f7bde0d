/* SPDX-License-Identifier: BSD-3-Clause */
/* Brings every DvmCluster of one namespace, or of all, to its spec. */
#ifndef OPERATOR_RECONCILE_RECONCILE_H
#define OPERATOR_RECONCILE_RECONCILE_H

#include "base/loop/loop.h"
#include "operator/kube/kube.h"
#include "operator/metrics/metrics.h"
#include "operator/model/issuers.h"

#define RECONCILE_OVERRIDES_MAX 32

/* The address of a head in place of its Service (tests, development). */
struct reconcile_override {
    const char *name;    /* "namespace/name" or "name" */
    const char *connect; /* "address:port" */
};

struct reconciler;
struct reconciler_opts {
    struct loop *loop;
    struct kube *kube;
    const char *ns;                /* NULL: all namespaces */
    const char *default_image;     /* for clusters without spec.image */
    bool restricted;               /* templates have to obey operator/model/policy.h */
    const struct issuers *issuers; /* those that a spec may name; NULL: the default ones */
    const struct reconcile_override *overrides;
    size_t noverrides;
    uint64_t watch_silence_ms; /* a watch without a byte for so long is opened anew; 0: default */
    const struct http_gate *gate; /* stands before requests that change a head; NULL: none */
    void (*on_synced)(void *arg); /* all caches are filled and the first passes begin */
    void *arg;
};
/* `o` is borrowed for the reconciler's life, with everything in it. */
struct reconciler *reconciler_create(const struct reconciler_opts *o, struct err *err);
void reconciler_destroy(struct reconciler *r);
/* Sets where passes and campaigns are counted; NULL: nowhere. Borrowed. */
void reconciler_measure(struct reconciler *r, struct metrics *m);
bool reconciler_synced(const struct reconciler *r);
size_t reconciler_queue_depth(const struct reconciler *r);
/* How often a cluster had too many passes in a second and had to wait for the next one. */
unsigned long reconciler_passes_held(const struct reconciler *r);
/* The ages of the watches, for /metrics and /readyz; the names are constant. Of several reconcilers
 * the oldest counts. */
void reconciler_watches(const struct reconciler *r, struct metrics_sample *out);
/* The collection of which the API server has given no sign for too long, so that what the operator
 * knows of it may be old; NULL: there is none. */
const char *reconciler_deaf(const struct reconciler *r);

#endif
