/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reconciler remembers of a cluster between two runs, and one run of it. */
#ifndef OPERATOR_RECONCILE_RECONCILE_PRIVATE_H
#define OPERATOR_RECONCILE_RECONCILE_PRIVATE_H

#include "operator/cache/cache.h"
#include "operator/objects/objects.h"
#include "operator/plan/plan.h"
#include "operator/reconcile/credentials.h"
#include "operator/reconcile/headlink.h"
#include "operator/reconcile/reconcile.h"
#include "operator/status/status.h"

#include <uthash.h>

/* After this time an object that was refused or foreign is tried again although nothing has
 * changed. */
#define RECONCILE_RETRY_MS 30000

/* Least time between two writes of a status that differ only slightly. */
#define RECONCILE_STATUS_MS 500
/* Failures in a row to apply an object, after which the status speaks of them. */
#define APPLY_TOLD_AFTER 3
/* How often missing Secrets are looked for. */
#define RECONCILE_CREDENTIALS_MS 5000

enum { CACHE_CLUSTERS, CACHE_PODS, CACHE_SETS, CACHE_SERVICES, CACHE_BUDGETS, CACHES };

/* Memory of one child: why it is not applied, and what was seen after the last time it was. */
struct child_memory {
    char refused_print[32]; /* fingerprint that the API server refused; "": none */
    char probed_print[32];  /* fingerprint whose pod template has passed a dry run */
    char message[ERR_MSG_MAX];
    unsigned failures; /* in a row, of other kinds than a refusal */
    int64_t refused_until_ms;
    int64_t foreign_until_ms;
    int64_t generation; /* metadata.generation after our last write; 0: not known */
};

struct pod_entry {
    char *name;
    json_t *object;
    UT_hash_handle hh;
};

struct entry {
    char *key; /* "namespace/name" */
    char *uid;
    struct reconciler *r;
    struct pod_entry *pods;
    struct headlink *head; /* NULL: not followed */
    int64_t known_since_ms;
    struct credentials creds;
    bool have_creds;     /* our own are there */
    bool rested;         /* was followed before, and then there was no head for a while */
    bool creds_complete; /* all Secrets are there */
    uint64_t status_ms;  /* when the status was written last, on the loop's clock */
    int64_t creds_checked_ms;
    struct child_memory child[CLUSTER_CHILDREN];
    struct status_trouble creds_trouble;
    struct plan_answer answer;
    uint64_t size_refused; /* sequence of a size message that the head called too old; 0: none */
    struct run *run;       /* NULL: none at present */
    UT_hash_handle hh;
};

/* One pass: observe, plan, act, tell. Owns everything that the plan borrows from. */
struct run {
    struct entry *e;
    void (*on_action_done)(struct run *run); /* begins the next action, or writes the status */
    json_t *object;
    struct cluster c;
    json_t *children[CLUSTER_CHILDREN]; /* as observed; NULL: absent */
    json_t *wanted[CLUSTER_CHILDREN];   /* as they should be, but for replicas */
    json_t **pod_objects;
    struct plan_pod *pods;
    struct view *view;
    struct plan_input in;
    struct plan *plan;
    size_t next;
    const struct plan_action *action; /* the one that is carried out */
    json_t *looked;                   /* the object that was there although the cache has none */
    unsigned long request;
    struct credentials_job *creds;
    json_t *status; /* being written */
    bool pending;   /* a pod waits for its volumes */
    bool failed;    /* try again, later and later */
    bool again;     /* something has changed that the next plan should see */
    uint64_t begun_ms;
};

struct reconciler {
    struct reconciler_opts o;
    struct cache *cache[CACHES];
    struct queue *queue;
    struct entry *entries;
    struct metrics *metrics;
    bool started;
};

struct cache *reconcile_child_cache(struct reconciler *r, enum cluster_child child);

/* follow.c: opens or closes the link to the head, as the cluster has a head or not. */
void follow_head(struct run *run);

/* observe.c: fills run->in; the object has been decoded. */
void observe_cluster(struct run *run);
void observe_release(struct run *run);

/* What kept objects from being made, told by the condition Progressing. */
void observe_trouble(const struct run *run, struct status_trouble *out);

/* act.c: carries out run->action and calls run->on_action_done, now or later. */
void act_begin(struct run *run);

/* apply.c */
void apply_child(struct run *run);

/* announce.c: one Kubernetes Event about the cluster; a failure is logged and forgotten. */
void announce_event(struct reconciler *r, const struct cluster *c, bool warning, const char *reason,
                    const char *note);

#endif
