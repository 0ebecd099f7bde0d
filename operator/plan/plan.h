/* SPDX-License-Identifier: BSD-3-Clause */
/* What to do next for one DvmCluster: a pure function of what was observed and what is asked for.
 */
#ifndef OPERATOR_PLAN_PLAN_H
#define OPERATOR_PLAN_PLAN_H

#include "api/dvm.h"
#include "operator/model/cluster.h"

#include <stddef.h>

struct plan_child_seen {
    bool exists;  /* one that this cluster controls */
    bool foreign; /* one of that name that it does not control */
    bool deleting;
    bool current; /* what was applied last is what would be applied now */
    bool refused; /* the API server does not take what would be applied: nothing is gained by asking
                     again */
    uint32_t replicas; /* StatefulSets: spec.replicas */
    const char *uid;
    const char *resource_version;
};

struct plan_pod {
    const char *name;
    const char *uid;
    uint32_t vpid; /* 0: the head */
    bool deleting;
    bool outdated; /* made from an older template than its StatefulSet has now */
    bool ready;
    int64_t running_since_ms; /* 0: the daemon's container does not run */
    const char *waiting;      /* why it does not run: the kubelet's reason; NULL: nothing known */
    const char *message;
    const char *image;
};

enum plan_link {
    PLAN_LINK_DOWN,       /* the head cannot be asked, since down_since_ms */
    PLAN_LINK_CONNECTING, /* too early to call it down */
    PLAN_LINK_UP,         /* `view` is what the head says */
};

struct plan_head {
    enum plan_link link;
    int64_t down_since_ms;
    const char *why;            /* last error of the link; NULL: none */
    const struct api_dvm *view; /* NULL unless UP */
};

/* How the head answered the last PUT of a recorded campaign or shutdown. */
struct plan_answer {
    char id[API_ID_MAX + 1]; /* of the campaign; "": none */
    int status;              /* HTTP; 0: no answer */
    char reason[64];
    char message[ERR_MSG_MAX];
    int64_t at_ms;
};

struct plan_input {
    const struct cluster *cluster;
    bool credentials; /* the Secrets are there */
    struct plan_child_seen child[CLUSTER_CHILDREN];
    const struct plan_pod *pods;
    size_t npods;
    struct plan_head head;
    const struct plan_answer *answer; /* may be NULL */
    uint64_t size_refused; /* the head called the size message of this sequence too old; 0: none */
    int64_t now_ms;        /* wall clock */
};

enum plan_verb {
    PLAN_ENSURE_CREDENTIALS,
    PLAN_RECORD, /* write plan->record to status; expects the cluster's resourceVersion; always
                    alone */
    PLAN_APPLY,  /* `child`, with `replicas`; expects `uid`, or absence; a decrease expects
                    `resource_version` too */
    PLAN_PUT_CAMPAIGN, /* the recorded one; expects its `id` to be recorded */
    PLAN_CANCEL_CAMPAIGN,
    PLAN_PUT_SIZE,     /* the recorded one */
    PLAN_PUT_SHUTDOWN, /* the recorded one, with `deadline_s` */
    PLAN_DELETE_POD,   /* `pod`; expects `uid` */
};

struct plan_action {
    enum plan_verb verb;
    enum cluster_child child;
    uint32_t replicas;
    bool decrease;
    bool scale_only; /* APPLY: nothing but the replicas, since the rest is refused */
    const char *uid; /* borrowed from the input; NULL: must not exist yet */
    const char *resource_version;
    const char *pod;
    const char *id;
    int64_t deadline_s;
};

enum plan_block {
    PLAN_FREE,
    PLAN_BLOCK_HEAD,     /* daemons have to leave and the head cannot be asked */
    PLAN_BLOCK_REJECTED, /* the head does not accept the campaign */
};

#define PLAN_ACTIONS_MAX 64
struct plan {
    struct plan_action actions[PLAN_ACTIONS_MAX]; /* what does not fit comes with the next plan */
    size_t n;
    struct cluster_record record; /* what status should hold: intentions and what the head told */
    uint32_t target;              /* members that are worked towards */
    enum plan_block blocked;
    int64_t again_ms; /* plan anew after this time although nothing has happened; 0: no need */
};

/* After a rejected campaign the same spec is tried again only after this time. */
#define PLAN_REJECTED_PAUSE_MS 30000
/* A running daemon that the head knows as parked, although it is wanted, is replaced after this
 * time. */
#define PLAN_PARKED_MS 30000
/* How much longer than asked a shutdown may take before the pods are removed anyway. */
#define PLAN_SHUTDOWN_SLACK_MS 30000

/* Applying a plan twice is harmless: each action says what it expects, and what was done is seen by
 * the next observation. The result borrows from the input. */
struct plan *plan_make(const struct plan_input *in);
void plan_destroy(struct plan *p);
void plan_destroyp(struct plan **p);
#define PLAN_AUTO __attribute__((cleanup(plan_destroyp)))

const char *plan_verb_name(enum plan_verb v);
/* Number of members that the view has in state wired or draining. */
uint32_t plan_wired(const struct api_dvm *view);

#endif
