/* SPDX-License-Identifier: BSD-3-Clause */
/* The plain port of the operator: /metrics (text format of Prometheus), /healthz and /readyz. */
#ifndef OPERATOR_METRICS_METRICS_H
#define OPERATOR_METRICS_METRICS_H

#include "base/loop/loop.h"
#include "operator/kube/kube.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One collection that is watched, and the time since the server's last sign about it. */
struct metrics_watch {
    const char *collection; /* "pods" */
    uint64_t age_ms;
};
#define METRICS_WATCHES_MAX 8

/* Values that their owner gives at each scrape. */
struct metrics_sample {
    struct kube_stats kube;
    const struct kube_times *times; /* borrowed; NULL: none */
    size_t queue_depth;
    unsigned long passes_held; /* put off until the next second, by the bound for one cluster */
    struct metrics_watch watches[METRICS_WATCHES_MAX];
    size_t nwatches;
    bool leads; /* this operator works; false: it waits for the Lease */
};

struct metrics;
struct metrics_opts {
    const char *addr; /* numeric address to bind */
    uint16_t port;    /* 0: any; see metrics_port() */
    bool local_only;  /* /metrics answers callers of this host or pod alone, others with 403 */
    /* With local_only: a file with a token, whose bearers have /metrics, too; others get 401. NULL:
     * none. Borrowed. */
    const char *token_file;
    /* NULL, or fills `out` (zeroed before). Called from the loop at each GET /metrics. */
    void (*on_scrape)(struct metrics_sample *out, void *arg);
    /* NULL: always ready. Otherwise it returns NULL when ready, or the reason, which /readyz shows
     * with 503. A line for each watch with its age follows in both cases. */
    const char *(*not_ready)(void *arg);
    void *arg;
};
struct metrics *metrics_create(struct loop *loop, const struct metrics_opts *opts, struct err *err);
void metrics_destroy(struct metrics *m);
uint16_t metrics_port(const struct metrics *m);

/* Counts one finished pass over a cluster, which took `ms` milliseconds. */
void metrics_reconcile(struct metrics *m, bool ok, uint64_t ms);

enum metrics_outcome {
    METRICS_CAMPAIGN_STARTED, /* recorded in a status */
    METRICS_CAMPAIGN_COMPLETE,
    METRICS_CAMPAIGN_CANCELLED,
    METRICS_CAMPAIGN_REFUSED, /* the head has refused it */
    METRICS_OUTCOMES
};
void metrics_campaign(struct metrics *m, enum metrics_outcome outcome);

enum metrics_happening {
    METRICS_MEMBER_LOST,
    METRICS_MEMBERS_RELEASED, /* a campaign of others is complete: eviction, deletion, a tool */
    METRICS_JOB_ENDED,        /* by the loss of a daemon, or by a drain */
    METRICS_HAPPENINGS
};
/* Counts something that was reported by an Event. */
void metrics_happened(struct metrics *m, enum metrics_happening what);

/* The sizes of one cluster, without the head. A later call replaces them. */
struct metrics_cluster {
    uint32_t spec;             /* spec.replicas */
    uint32_t desired;          /* the size that the operator works towards */
    uint32_t current;          /* pods that exist */
    uint32_t ready;            /* wired daemons */
    bool head_up;              /* the event stream of its head is open */
    int64_t certificate_end_s; /* the earliest end of a certificate, since 1970; 0: unknown */
};
void metrics_cluster_set(struct metrics *m, const char *ns, const char *name,
                         const struct metrics_cluster *sizes);
void metrics_cluster_remove(struct metrics *m, const char *ns, const char *name);

/* Removes the sizes of all clusters: another operator reports them from now on. */
void metrics_clusters_clear(struct metrics *m);

/* The text that GET /metrics answers, on the heap. */
char *metrics_text(struct metrics *m);

#endif
