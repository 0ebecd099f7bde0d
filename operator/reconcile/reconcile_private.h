/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconciler's data about a cluster between two passes (struct entry), and during one pass
 * (struct run). */
#ifndef OPERATOR_RECONCILE_RECONCILE_PRIVATE_H
#define OPERATOR_RECONCILE_RECONCILE_PRIVATE_H

#include "base/heap/hash.h"
#include "base/log/limit.h"
#include "operator/cache/cache.h"
#include "operator/objects/objects.h"
#include "operator/plan/plan.h"
#include "operator/reconcile/credentials.h"
#include "operator/reconcile/headlink.h"
#include "operator/reconcile/issuer.h"
#include "operator/reconcile/pod.h"
#include "operator/reconcile/reconcile.h"
#include "operator/reconcile/tally.h"
#include "operator/reconcile/wanted.h"
#include "operator/status/status.h"

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
/* Time between two readings of Secrets that were complete: this long, or longer for many clusters,
 * of which one is read in RECONCILE_SECRETS_STEP_MS; and after a renewal that has failed. */
#define RECONCILE_SECRETS_MS 600000
#define RECONCILE_SECRETS_STEP_MS 2500
/* While pods of a cluster wait for their volumes, its Secrets are read every RECONCILE_RETRY_MS, or
 * more rarely if there are many clusters. */
#define RECONCILE_PENDING_STEP_MS 500
#define RECONCILE_RENEWAL_MS 60000
/* Time between two looks for the Secret x-user: this long, or longer for many clusters, of which
 * one is looked at in USERSECRET_STEP_MS. */
#define USERSECRET_PAUSE_MS 45000
#define USERSECRET_STEP_MS 250

/* Pauses between replacements of pods whose memory is full: more pods do not help if the limit is
 * too small. */
#define RECONCILE_STARVED_MIN_MS 60000
#define RECONCILE_STARVED_MAX_MS 3600000

/* Time after a pass until the memory that it has freed is given back. */
#define RECONCILE_TRIM_MS 5000

enum { CACHE_CLUSTERS, CACHE_PODS, CACHE_SETS, CACHE_SERVICES, CACHE_BUDGETS, CACHES };

/* The time until something may be done again, doubled by each time that comes soon after. */
struct pause {
    uint64_t until_ms; /* by the loop's clock */
    uint64_t length_ms;
};

/* Of a StatefulSet that has fewer pods than replicas (shortage.c). Times are those of the loop's
 * clock. */
struct shortage {
    char *words;      /* of the API server, which takes no further pod; NULL: it does, or unknown */
    char *in_the_way; /* the pod that has the name of the first missing one; NULL: none known */
    uint32_t replicas, pods, missing; /* wanted, existing, and the first missing ordinal */
    uint64_t try_ms;                  /* a pod is tried at this time */
    uint64_t pause_ms;                /* until then, doubled by each try; 0: no pod is missing */
};

/* One child between two passes: why it is not applied, and its generation after the last write.
 * Times are those of the loop's clock. */
struct child_memory {
    char refused_print[WANTED_PRINT_BYTES]; /* that the API server has refused; "": none */
    char applied_print[WANTED_PRINT_BYTES]; /* that we have applied last; "": unknown */
    char *message;                          /* of a refusal or of failures that last; NULL: none */
    unsigned failures;                      /* consecutive failures other than refusals */
    unsigned forbidden;                     /* consecutive answers 403 */
    uint64_t refused_until_ms;
    uint64_t foreign_until_ms;
    bool orphaned;          /* while it is foreign: an earlier cluster has left it */
    int64_t generation;     /* metadata.generation after our last write; 0: unknown */
    uint64_t settled;       /* fingerprint of what the object had after our last write, if that
                               differs from what we wanted: repeating the write would not change it;
                               0: it does not */
    uint64_t heal_from_ms;  /* a change by others is undone at this time at the earliest */
    uint64_t heal_pause_ms; /* doubled by each healing, so that two writers do not fight; 0: there
                               was none */
    struct shortage shortage;
};

/* A time in the status, and how long ago it was at a time of the loop's clock. */
struct stamp {
    int64_t wall_ms;
    int64_t age_ms;
    uint64_t noted_ms;
};

/* Events of the head that no written status contains yet (news.c). */
struct news {
    json_t *losses, *jobs, *releases; /* as in struct plan_news; NULL: none */
    json_t *open;                     /* losses about whose pods nothing is known yet; NULL: none */
    json_t *known_jobs;               /* ids in the last view of this incarnation; NULL: no view */
    json_t *known_campaigns;          /* ids of campaigns of others that had ended in it */
    bool loss_seen;                   /* an event has reported a loss in this incarnation */
    char incarnation[17];
};

struct entry {
    char *key; /* "namespace/name" */
    char *uid;
    struct reconciler *r;
    struct pod *pods;                         /* those in the cache, in no order */
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
    uint64_t creds_pause_ms;   /* until they are read again */
    uint64_t user_looked_ms;   /* when the Secret x-user was last seen or looked for */
    struct wanted wanted;      /* of the last pass */
    struct child_memory child[CLUSTER_CHILDREN];
    struct status_trouble creds_trouble;
    struct plan_answer answer;
    struct pause starved; /* between replacements of pods whose memory is full */
    struct news news;
    struct log_limit *warnings; /* NULL: none yet */
    struct tally *tally;        /* of the Events about the cluster; NULL: none yet */
    uint64_t events_begin;      /* the names of Events are counted from here */
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
        struct child *observed; /* NULL: absent */
        const struct wanted_print *wanted;
    } child[CLUSTER_CHILDREN];
    struct pod **pod_refs; /* what `pods` borrows from */
    size_t npod_refs;
    struct plan_pod *pods;
    struct view *view;
    struct plan_input in;
    uint64_t now_ms; /* the loop's clock when the pass began to observe */
    struct plan *plan;
    size_t next;
    const struct plan_action *action; /* the action that is being carried out */
    json_t *looked;                   /* the existing object that the cache did not have */
    unsigned long request;
    struct probe *probe; /* probe.c: the dry run that the pass waits for; NULL: none */
    struct run *probe_prev, *probe_next;
    void (*on_probed)(struct run *run, int status, const struct err *err);
    struct cache *rereading; /* reread.c: where the answer is stored */
    char *reread_name;
    void (*on_reread)(struct run *run, const json_t *object);
    struct credentials_job *creds;
    struct issuer_job *issuer;
    json_t *status;                          /* the status that is being written */
    void (*on_user_absent)(struct run *run); /* usersecret.c */
    bool user_due;  /* the Secrets are complete, and x-user is looked for */
    bool pending;   /* a pod waits for its volumes */
    bool failed;    /* the pass is repeated with back-off */
    bool again;     /* something has changed that the next plan should see */
    bool overtaken; /* the next pass, which follows at once, has more to tell in the status */
    uint64_t begun_ms;
};

struct reconciler {
    struct reconciler_opts o;
    struct http *http; /* of the connections to all heads */
    struct cache *cache[CACHES];
    struct queue *queue;
    struct loop_timer *resync;
    struct loop_timer *trim; /* gives the memory of passes back to the kernel */
    bool trimming;           /* it is armed */
    struct entry *entries;
    struct metrics *metrics;
    struct event_write *event_writes; /* announce.c: Events that are being written */
    struct probe *probes;             /* probe.c: dry runs of templates */
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

/* drift.c */
/* True if the existing object is to be applied now. *wait_ms: time until a change by others, which
 * is not undone yet, is looked at again; 0: there is none. */
bool drift_is_due(struct child_memory *m, const struct wanted_print *wanted, const struct child *o,
                  uint64_t now_ms, uint64_t *wait_ms);
/* The wanted object was applied: the answer has this generation and objects_drift_print(). */
void drift_note_applied(struct child_memory *m, const struct wanted_print *wanted,
                        int64_t generation, uint64_t print);

/* probe.c: asks the server in a dry run whether it accepts the pods of the StatefulSet of
 * run->action. Calls on_probed now or later; status 200: it does; otherwise its refusal, or 0. */
typedef void probe_fn(struct run *run, int status, const struct err *err);
/* A success of the last `valid_ms` answers at once. */
void probe_template(struct run *run, uint64_t valid_ms, probe_fn *on_probed);
/* The pass does not wait any more. */
void probe_leave(struct run *run);
void probes_clear(struct reconciler *r);

/* shortage.c: why a StatefulSet has fewer pods than replicas. */
void shortage_observe(struct run *run);
/* Carries out PLAN_TRY_POD. */
void shortage_try(struct run *run);
/* The API server's answer to a dry run of a further pod of run->action; NULL: it takes one. */
void shortage_note(struct run *run, const struct err *err);
/* True if the answer to a dry run means that a quota is used up, not that the template is bad. */
bool shortage_is_quota(int status, const struct err *err);
void shortage_clear(struct shortage *s);

/* usersecret.c: whether the Secret x-user, which no pod waits for, is still there. */
/* True if it is to be looked for now; otherwise the next pass comes when it is. */
bool usersecret_due(struct run *run, size_t clusters);
/* Calls on_absent if it does not exist, run->on_action_done otherwise. */
void usersecret_look(struct run *run, void (*on_absent)(struct run *run));

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
