/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan for one DvmCluster: a pure function of the observed state and the spec.
 *
 * In: struct plan_input: the decoded DvmCluster with its record, its children and pods as observed,
 * the head's view and its last answer, and ages of the present campaign. Out: struct plan: actions
 * in order, the record that the status should hold, the size worked towards, and the cause if that
 * is blocked.
 *
 * Invariants: PLAN_RECORD is the only action of its plan. Every other action has a precondition, so
 * a plan may be carried out twice. Durations come from the monotonic clock; the wall clock is only
 * recorded.
 *
 * Limits: a plan has at most PLAN_ACTIONS_MAX actions; further ones come with the next plan.
 * again_ms asks for another plan even if nothing changes. plan.c describes the steps of a shrink
 * and the effects of a failure. */
#ifndef OPERATOR_PLAN_PLAN_H
#define OPERATOR_PLAN_PLAN_H

#include "api/dvm.h"
#include "api/reason.h"
#include "operator/model/cluster.h"

#include <stddef.h>

struct plan_child_seen {
    bool exists;   /* this cluster controls an object of this name */
    bool foreign;  /* an object of this name exists that this cluster does not control */
    bool orphaned; /* foreign, and an earlier DvmCluster of this name has left it */
    bool deleting;
    bool current; /* the applied configuration is the wanted one */
    bool refused; /* the API server has refused the wanted configuration, and a repetition would be
                     refused too */
    uint32_t replicas; /* StatefulSets: spec.replicas */
    bool lacks_pods; /* StatefulSets: its controller knows the present spec, and pods are missing */
    bool short_of_pods;  /* StatefulSets: they are missing for so long that one is tried */
    const char *refusal; /* StatefulSets: why the API server takes no further pod; NULL: it does,
                            or unknown */
    const char *pod_in_the_way; /* StatefulSets: has the name of a missing pod, and this StatefulSet
                                   does not control it; NULL: none known */
    const char *revision;       /* StatefulSets: of the present template; NULL: unknown */
    const char *uid;
    const char *resource_version;
};

struct plan_pod {
    const char *name;
    const char *uid;
    uint32_t vpid; /* 0: the head */
    bool deleting;
    bool outdated; /* its template is older than that of its StatefulSet */
    bool changed;  /* outdated, and the user has changed what it was made from */
    bool stale;    /* the user has changed it, whether or not the controller knows yet */
    bool ready;
    bool starved;             /* the daemon's container ended last for want of memory */
    bool node_silent;         /* its node has not answered for so long that it is not ready */
    bool node_lost;           /* a controller has deleted it because its node does not answer */
    int64_t running_since_ms; /* 0: the container of the daemon does not run */
    int64_t running_for_ms;   /* for how long the operator has seen it run */
    int64_t waiting_for_ms;   /* for how long the operator has seen it wait for this reason */
    const char *waiting;      /* the kubelet's reason why it does not run; NULL: unknown */
    const char *message;      /* its words; of an image, those of the first such failure */
    const char *image;
    const char *unschedulable; /* the scheduler's words why no node takes the pod; NULL: none */
    const char *node;          /* NULL: not scheduled */
    const char *ended;         /* the reason why the daemon's container ended last; NULL: none */
    int64_t ended_code;        /* its exit code */
};

enum plan_link {
    PLAN_LINK_DOWN,       /* the head has not answered since down_since_ms */
    PLAN_LINK_CONNECTING, /* not connected, but not for long enough to be down */
    PLAN_LINK_UP,         /* `view` is the head's answer */
};

struct plan_head {
    enum plan_link link;
    int64_t down_since_ms; /* wall clock, for texts */
    int64_t down_for_ms;
    int64_t contact_ms; /* wall clock: the head's last sign before the connection broke; 0: none */
    const char *why;    /* last error of the connection; NULL: none */
    bool idle;          /* for a while no job has run that its end would end */
    const struct api_dvm *view; /* NULL unless UP */
};

/* The head's answer to the last PUT of a recorded campaign or shutdown. */
struct plan_answer {
    char id[API_ID_MAX + 1]; /* of the campaign; "": none */
    int status;              /* HTTP; 0: no answer */
    enum api_reason reason;
    char message[ERR_MSG_MAX];
    int64_t at_ms;
};

/* Durations by the monotonic clock, in ms: a wall clock that is set back or forth ends no wait and
 * prolongs none. */
struct plan_ages {
    int64_t recorded; /* since the present campaign was recorded */
    int64_t accepted; /* since the head accepted it */
    int64_t applied;  /* since the last campaign was closed */
};

/* Events of the head that no written status contains yet; lists that may be NULL. */
struct plan_news {
    const json_t *losses;   /* of members, as in status.losses */
    const json_t *jobs;     /* that the DVM has ended, as in status.endedJobs */
    const json_t *releases; /* ids of campaigns of others that have ended */
};

struct plan_input {
    const struct cluster *cluster;
    struct plan_news news;
    bool credentials;           /* all Secrets exist */
    int64_t authority_revision; /* of the authority that all daemons have; -1: it is being changed,
                                   or unknown */
    struct plan_child_seen child[CLUSTER_CHILDREN];
    const struct plan_pod *pods;
    size_t npods;
    struct plan_head head;
    const struct plan_answer *answer; /* may be NULL */
    uint64_t size_refused; /* sequence of the size message that the head called too old; 0: none */
    int64_t starved_pause_ms; /* until pods whose memory is full may be replaced again */
    int64_t now_ms; /* wall clock: for the times that are recorded, never for a duration */
    struct plan_ages age;
};

enum plan_verb {
    PLAN_ENSURE_CREDENTIALS,
    PLAN_RECORD, /* writes plan->record to the status if the resourceVersion is the observed one;
                    always the only action */
    PLAN_APPLY,  /* applies `child` with `replicas`, if it has this `uid` or does not exist; a
                    decrease needs `resource_version` too */
    PLAN_PUT_CAMPAIGN, /* the recorded one, if its `id` is still recorded */
    PLAN_CANCEL_CAMPAIGN,
    PLAN_PUT_SIZE,     /* the recorded one */
    PLAN_PUT_SHUTDOWN, /* the recorded one, with `deadline_s` */
    PLAN_DELETE_POD,   /* `pod`, if it has this `uid`; with `force` without waiting for its node */
    PLAN_TRY_POD,      /* asks the API server whether it takes a further pod of `child` */
};

struct plan_action {
    enum plan_verb verb;
    enum cluster_child child;
    uint32_t replicas;
    bool decrease;
    bool scale_only; /* of APPLY: changes only the replicas, since the rest is current or refused */
    const char *uid; /* borrowed from the input; NULL: must not exist yet */
    const char *resource_version;
    const char *pod;
    bool force;   /* of DELETE_POD */
    bool starved; /* of DELETE_POD: because its memory is full */
    const char *id;
    int64_t deadline_s;
};

enum plan_block {
    PLAN_FREE,
    PLAN_BLOCK_HEAD,     /* members have to leave and the head cannot be reached */
    PLAN_BLOCK_REJECTED, /* the head has refused the campaign */
};

#define PLAN_ACTIONS_MAX 64
struct plan {
    struct plan_action actions[PLAN_ACTIONS_MAX]; /* further actions come with the next plan */
    size_t n;
    struct cluster_record record; /* the record that the status should hold */
    uint32_t target;              /* the size that the operator works towards */
    enum plan_block blocked;
    int64_t again_ms; /* the time after which to plan again even if nothing changes; 0: never */
    size_t looks;     /* members and pods that were looked up: none in a settled cluster, and a few
                         times     their number at most */
};

/* Time after a rejected campaign until the same spec is tried again. */
#define PLAN_REJECTED_PAUSE_MS 30000
/* Time after which a running daemon is replaced that is parked although it is wanted. */
#define PLAN_PARKED_MS 30000
/* Time for which a daemon that ended for want of memory has waited for its next start, after which
 * its pod is replaced. */
#define PLAN_STARVED_MS 10000
/* Time after its deadline at which a shutdown ends without the head's report. */
#define PLAN_SHUTDOWN_SLACK_MS 30000

/* A plan may be carried out twice: each action has a precondition, and its effect shows in the next
 * observation. The result borrows from the input. */
struct plan *plan_make(const struct plan_input *in);
void plan_destroy(struct plan *p);
void plan_destroyp(struct plan **p);
#define PLAN_AUTO __attribute__((cleanup(plan_destroyp)))

const char *plan_verb_name(enum plan_verb v);
/* Number of members in state wired or draining. */
uint32_t plan_wired(const struct api_dvm *view);
/* True if a job of one rank can be mapped: a wired daemon, which may be the head, has slots. */
bool plan_can_map(const struct api_dvm *view);
/* The number of the request of an application for which the campaign runs; 0: it has another
 * origin. */
uint64_t plan_request_number(const struct api_campaign *c);
/* True if the operator will replace the pod by itself. */
bool plan_awaits_update(const struct plan_input *in, const struct plan_pod *pod);
/* The user leaves it to the operator when the head's pod is replaced. */
bool plan_head_may_be_updated(const struct cluster *c);

#endif
