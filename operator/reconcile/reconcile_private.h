/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconciler's data about a cluster between two passes (struct entry), and during one pass
 * (struct run). */
#ifndef OPERATOR_RECONCILE_RECONCILE_PRIVATE_H
#define OPERATOR_RECONCILE_RECONCILE_PRIVATE_H

#include "base/log/limit.h"
#include "operator/cache/cache.h"
#include "operator/objects/objects.h"
#include "operator/plan/plan.h"
#include "operator/reconcile/credentials.h"
#include "operator/reconcile/headlink.h"
#include "operator/reconcile/reconcile.h"
#include "operator/reconcile/tally.h"
#include "operator/status/status.h"

#include <uthash.h>

/* Time after which an object that was refused, or that another owner has, is tried again. */
#define RECONCILE_RETRY_MS 30000

/* Least time between two writes of statuses that differ only slightly. */
#define RECONCILE_STATUS_MS 500
/* Consecutive failures to apply an object, after which the status shows them. */
#define APPLY_REPORTED_AFTER 3
/* Time between two plans of a cluster for which nothing has changed, and the time over which the
 * plans of all clusters are spread. */
#define RECONCILE_RESYNC_MS 600000
#define RECONCILE_RESYNC_SPREAD_MS 60000
/* Time between two readings of the Secrets while one is missing. */
#define RECONCILE_CREDENTIALS_MS 5000
/* Time between two readings of Secrets that were complete, and after a renewal that has failed. */
#define RECONCILE_SECRETS_MS 3600000
#define RECONCILE_RENEWAL_MS 60000

enum { CACHE_CLUSTERS, CACHE_PODS, CACHE_SETS, CACHE_SERVICES, CACHE_BUDGETS, CACHES };

/* One child between two passes: why it is not applied, and its generation after the last write.
 * Times are those of the loop's clock. */
struct child_memory {
    char refused_print[32]; /* fingerprint that the API server has refused; "": none */
    char probed_print[32];  /* fingerprint whose pod template has passed a dry run */
    char message[ERR_MSG_MAX];
    unsigned failures;  /* consecutive failures other than refusals */
    unsigned forbidden; /* consecutive answers 403 */
    uint64_t refused_until_ms;
    uint64_t foreign_until_ms;
    bool orphaned;         /* while it is foreign: an earlier cluster has left it */
    int64_t generation;    /* metadata.generation after our last write; 0: unknown */
    char settled[24];      /* what the object had after our last write, if that differs from what we
                              wanted; repeating the write would not change it */
    uint64_t heal_from_ms; /* a change by others is undone at this time at the earliest */
    uint64_t heal_pause_ms; /* doubled by each healing, so that two writers do not fight */
};

struct pod_entry {
    char *name;
    json_t *object;
    char *started; /* start of the daemon's container, as the kubelet tells it; NULL: not running */
    json_t *pull;  /* the kubelet's words why the image cannot be pulled, a text; NULL: none */
    uint64_t runs_ms; /* when the operator has first seen it run, by the loop's clock */
    UT_hash_handle hh;
};

/* A time in the status, and the same by the loop's clock; that is below 0 if it was before the
 * boot. */
struct stamp {
    int64_t wall_ms;
    int64_t since_ms;
};

/* Events of the head that no written status contains yet (news.c). */
struct news {
    json_t *losses, *jobs, *releases; /* as in struct plan_news; NULL: none */
    json_t *known_jobs;               /* ids in the last view of this incarnation; NULL: no view */
    json_t *known_campaigns;          /* ids of campaigns of others that had ended in it */
    bool loss_seen;                   /* an event has reported a loss in this incarnation */
    char incarnation[17];
};

struct entry {
    char *key; /* "namespace/name" */
    char *uid;
    struct reconciler *r;
    struct pod_entry *pods;
    struct headlink *head;                    /* NULL: there is no connection */
    int64_t known_since_ms;                   /* wall clock, for texts */
    uint64_t known_ms;                        /* the same by the loop's clock */
    struct stamp recorded, accepted, applied; /* of the campaign, and of the last one */
    struct credentials creds;
    struct credentials_progress *creds_progress;
    unsigned creds_failures;   /* consecutive jobs whose trouble was passing */
    bool have_creds;           /* the operator's own certificate is known */
    bool rested;               /* the connection was closed because the cluster had no head */
    bool creds_complete;       /* all Secrets are there */
    uint64_t status_ms;        /* time of the last write of the status, on the loop's clock */
    uint64_t creds_checked_ms; /* on the loop's clock; 0: never */
    struct child_memory child[CLUSTER_CHILDREN];
    struct status_trouble creds_trouble;
    struct plan_answer answer;
    struct news news;
    struct log_limit warnings;
    struct tally *tally;   /* of the Events about the cluster; NULL: none yet */
    uint64_t events_begin; /* the names of Events are counted from here */
    uint64_t size_refused; /* sequence of the size message that the head called too old; 0: none */
    struct run *run;       /* NULL: no pass runs */
    UT_hash_handle hh;
};

/* One pass over a cluster: observe, plan, act, write the status. Owns everything that the plan
 * borrows from. */
struct run {
    struct entry *e;
    void (*on_action_done)(struct run *run); /* begins the next action, or writes the status */
    json_t *object;
    struct cluster c;
    struct {
        json_t *observed; /* NULL: absent */
        json_t *wanted;   /* without replicas */
    } child[CLUSTER_CHILDREN];
    json_t **pod_objects;
    struct plan_pod *pods;
    struct view *view;
    struct plan_input in;
    uint64_t now_ms; /* the loop's clock when the pass began to observe */
    struct plan *plan;
    size_t next;
    const struct plan_action *action; /* the action that is being carried out */
    json_t *looked;                   /* the existing object that the cache did not have */
    unsigned long request;
    struct cache *rereading; /* reread.c: where the answer is stored */
    char *reread_name;
    void (*on_reread)(struct run *run, const json_t *object);
    struct credentials_job *creds;
    json_t *status; /* the status that is being written */
    bool pending;   /* a pod waits for its volumes */
    bool failed;    /* the pass is repeated with back-off */
    bool again;     /* something has changed that the next plan should see */
    uint64_t begun_ms;
};

struct reconciler {
    struct reconciler_opts o;
    struct cache *cache[CACHES];
    struct queue *queue;
    struct loop_timer *resync;
    struct entry *entries;
    struct metrics *metrics;
    struct event_write *event_writes; /* announce.c: Events that are being written */
    bool started;
};

struct cache *reconcile_child_cache(struct reconciler *r, enum cluster_child child);

/* The only way to warn about a cluster. Logs "WHAT cluster=KEY DETAIL", once in LOG_LIMIT_MS per
 * cluster and `what`, a literal. */
void reconcile_warn(struct entry *e, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* follow.c: opens the connection to the head if the cluster has one, closes it otherwise. */
void follow_head(struct run *run);

/* observe.c: fills run->in from the decoded cluster. */
void observe_cluster(struct run *run);
void observe_release(struct run *run);
/* Stores a pod's newest object, and notes since when its daemon runs. */
void observe_pod_entry(struct reconciler *r, struct pod_entry *p, const json_t *pod);

/* pod.c. Texts and objects are borrowed from the pod. */
/* The field at a path of two or three names; NULL: absent. */
const json_t *reconcile_field(const json_t *o, const char *a, const char *b, const char *c);
const char *reconcile_text(const json_t *o, const char *a, const char *b, const char *c);
/* The status of the daemon's container; NULL: none yet. */
const json_t *pod_daemon_status(const json_t *pod);
/* When the daemon's container has started; NULL: it does not run. */
const char *pod_started(const json_t *pod);
/* All fields that depend on the pod alone. */
void pod_read(const json_t *pod, struct plan_pod *out);
/* True if the StatefulSet's controller has seen the newest template and the pod is made from
 * another. */
bool pod_outdated(const json_t *pod, const json_t *set);
/* True if the pod was made from another spec than the wanted StatefulSet. */
bool pod_changed(const json_t *pod, const json_t *wanted_set);
/* Why a controller ends the pod ("EvictionByEvictionAPI"); NULL: it does not. */
const char *pod_disruption(const json_t *pod);
/* The reason of the end of the daemon's container in the last two minutes; NULL: it has not ended.
 */
const char *pod_container_end(const json_t *pod, int64_t now_ms, long long *code);

/* The reason why an object or Secret could not be created, for the condition Progressing. */
void observe_trouble(const struct run *run, struct status_trouble *out);

/* news.c: what happens at the head between two written statuses. */
/* An event of the head. */
void news_note_event(struct entry *e, const struct api_event *event);
/* Compares the head's view with the last one, and gives the news to run->in. */
void news_observe(struct run *run);
void news_release(struct plan_news *given);
/* The status with these news is written: they are not given again. */
void news_written(struct news *n, const struct plan_news *given);
void news_clear(struct news *n);

/* act.c: carries out run->action and calls run->on_action_done, now or later. */
void act_begin(struct run *run);

/* apply.c */
void apply_child(struct run *run);

/* reread.c: reads one object after a conflict (409) and stores the answer in `cache`, so that the
 * next try does not depend on the watch. Then calls on_read with the object; NULL: it does
 * not exist, or could not be read. */
struct reread {
    struct cache *cache;
    const char *path;
    const char *name;
    void (*on_read)(struct run *run, const json_t *object);
};
void reread_object(struct run *run, const struct reread *r);

/* announce.c: writes one Kubernetes Event about the cluster, or counts an earlier one up; a failure
 * is only logged. */
void announce_event(const struct run *run, bool warning, enum reason reason, const char *note);
/* Ends the writes that run. */
void announce_cancel(struct reconciler *r);

#endif
