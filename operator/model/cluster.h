/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoded DvmCluster: the spec, and the record in its status by which the operator continues
 * after a restart. */
#ifndef OPERATOR_MODEL_CLUSTER_H
#define OPERATOR_MODEL_CLUSTER_H

#include "api/campaign.h"
#include "api/faults.h"
#include "api/size.h"
#include "base/err/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_GROUP "dvm.openpmix.io"
#define CLUSTER_VERSION "v1alpha1"
#define CLUSTER_KIND "DvmCluster"
#define CLUSTER_MANAGER "dvm-operator" /* field manager, and app.kubernetes.io/managed-by */

/* Labels of every object of a cluster. They never change, so selectors are made of them. */
#define CLUSTER_LABEL_NAME "dvm.openpmix.io/cluster"
#define CLUSTER_LABEL_ROLE "dvm.openpmix.io/role"
#define CLUSTER_LABEL_MANAGER "app.kubernetes.io/managed-by"
/* A label that a user gives a DvmCluster for Kueue; its StatefulSets have it too. */
#define CLUSTER_LABEL_QUEUE "kueue.x-k8s.io/queue-name"
/* The value of spec.managedBy that means this operator, and an annotation of a DvmCluster by which
 * a user lets the operator apply a template that was not tried as a pod. */
#define CLUSTER_CONTROLLER CLUSTER_GROUP "/" CLUSTER_MANAGER
#define CLUSTER_DRY_RUN CLUSTER_GROUP "/dry-run"

/* Bound: "<name>-head" is a StatefulSet, and "<statefulset>-<10 characters>" is the value of a
 * label (63). */
#define CLUSTER_NAME_MAX 47
#define CLUSTER_MEMBERS_MAX VPID_MAX
#define CLUSTER_SLOTS_MAX 4096
#define CLUSTER_DEADLINE_MAX_S 604800
/* Longest termination grace of a pod, and the bound of a shutdown for which the user gives no
 * deadline. */
#define CLUSTER_GRACE_CAP_S 3600

/* The objects of a cluster that the operator applies. Its Secrets are made once and never applied.
 */
enum cluster_child {
    CLUSTER_SERVICE,      /* x: headless, all daemons */
    CLUSTER_HEAD_SERVICE, /* x-head */
    CLUSTER_PDB,
    CLUSTER_HEAD_PDB,
    CLUSTER_HEAD_SET,
    CLUSTER_MEMBER_SET,
    CLUSTER_CHILDREN
};

struct cluster_limits { /* spec.applicationLimits, in members */
    int64_t min, max;   /* -1: applications may not resize in that direction */
};

struct cluster_drain {
    enum api_drain_mode mode;
    int64_t deadline_s; /* -1: none */
};

struct cluster_update {       /* spec.updateStrategy */
    bool on_delete;           /* a user deletes the pods, the operator does not */
    bool percent;             /* of the members */
    uint32_t max_unavailable; /* members or percent, at least 1 */
};

/* Seconds for which both authorities are trusted, before and after the new one issues. */
#define CLUSTER_OVERLAP_S 600

enum {
    CLUSTER_USER_DEFAULT = 0,       /* the user that the images declare */
    CLUSTER_USER_OF_NAMESPACE = -1, /* the namespace's admission chooses one (OpenShift) */
};

struct cluster_issuer { /* of cert-manager */
    char *name;         /* NULL: the operator issues the certificates itself */
    char *kind;
    char *group;
};

struct cluster_security { /* spec.security */
    int64_t authority_revision;
    int64_t overlap_s;
    int64_t user; /* of the pods; an enumerator above, or a number */
    struct cluster_issuer issuer;
};

struct cluster_disruption { /* spec.disruption: evictions at a time */
    uint32_t members;
    uint32_t head;
    bool head_busy; /* jobs run that the head's end would end; not in the spec */
};

enum cluster_kind {
    CLUSTER_SHRINK,
    CLUSTER_SHUTDOWN,
    CLUSTER_UPDATE, /* the targets' pods are replaced; the size stays */
    CLUSTER_KINDS
};

enum cluster_phase {
    CLUSTER_RECORDED, /* recorded in the status; the head may not know it yet */
    CLUSTER_DRAINING, /* accepted by the head */
    CLUSTER_REMOVING,
    CLUSTER_COMPLETE, /* the head has reported that all targets have left */
    CLUSTER_CANCELLED,
    CLUSTER_REJECTED,
    CLUSTER_SUPERSEDED, /* replaced by a shutdown */
};

/* Bounds of the lists of jobs whose ranks a drain waits for or has ended. */
#define CLUSTER_JOBS_MAX 64
#define CLUSTER_RANKS_MAX 256
/* A status lists the targets of a campaign up to this number; beyond it has only their range. */
#define CLUSTER_TARGETS_LISTED_MAX 64

/* A campaign, in status.campaign and status.lastCampaign. Its targets are the vpids `first` to
 * `last`; those of a shrink are the highest, because a StatefulSet is reduced from the top. None if
 * last < first. */
struct cluster_campaign {
    bool present;
    char id[API_ID_MAX + 1];
    uint64_t sequence;
    enum cluster_kind kind;
    uint32_t first, last;
    int64_t generation;
    struct cluster_drain drain;
    char incarnation[17]; /* of a shutdown: the incarnation of the head that it ends */
    enum cluster_phase phase;
    char *result;    /* NULL: none */
    json_t *waiting; /* arrays of {"job", "ranks"}; NULL: none */
    json_t *ended;
    int64_t recorded_ms, accepted_ms, drained_ms, fence_ms, complete_ms,
        applied_ms; /* 0: not yet */
};

#define CLUSTER_GRANTS_MAX 256 /* bound of requests that run at a time; the head has the same */

/* A running request of an application; the head calls it alloc-<number>. */
struct cluster_grant {
    uint64_t number;
    bool extend;
    int32_t members; /* the number of granted members after its completion */
};

/* Members that applications have been granted beyond spec.replicas; negative: have released of
 * it. */
struct cluster_grants {
    int32_t members;
    uint64_t
        seen; /* highest number of a request that was counted in this incarnation of the head */
    size_t nrunning;
    struct cluster_grant running[CLUSTER_GRANTS_MAX];
};

/* What the operator must know after a restart. It can find out everything else. */
struct cluster_record {
    uint64_t sequence;      /* highest sequence number that was used */
    uint64_t size_sequence; /* 0: no size message recorded */
    uint32_t size_members;
    struct api_size_limits size_limits;
    struct cluster_grants grants;
    char incarnation[17]; /* of the head; "": the DVM has not formed since it was started */
    struct cluster_campaign campaign;
    struct cluster_campaign last;
};

struct cluster {
    char *ns;
    char *name;
    char *uid;
    char *resource_version;
    int64_t generation;
    bool deleting;
    bool untried; /* the annotation CLUSTER_DRY_RUN is "skip" */
    /* spec */
    uint32_t replicas;
    struct cluster_limits limits;
    bool suspend;
    uint32_t slots;   /* 0: by the CPU limit of the container */
    char *image;      /* NULL: the operator's default */
    json_t *template; /* NULL: none */
    uint32_t head_slots;
    json_t *head_resources; /* NULL: none */
    json_t *head_template;  /* merged over `template` for the head's pod; NULL: none */
    char *head_claim;       /* PersistentVolumeClaim for the head's records; NULL: none */
    struct cluster_drain drain;
    struct cluster_update update;
    struct cluster_security security;
    struct cluster_disruption disruption;
    bool foreign; /* spec.managedBy names another controller */
    char *queue;  /* the label CLUSTER_LABEL_QUEUE; NULL: none */
    struct api_faults faults;
    bool node_lost_wait; /* spec.faults.nodeLost is Wait: pods of a lost node are not replaced */
    /* status */
    struct cluster_record record;
    json_t *conditions;      /* NULL: none */
    int64_t last_contact_ms; /* the head's last sign before the connection broke; 0: none */
    json_t *status;          /* as it was read; NULL: none */
};

/* Decodes the metadata and the conditions, without the record. -1: *out is empty. */
int cluster_decode_meta(const json_t *object, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));
/* Decodes the metadata, the conditions and the record. -1: the object cannot be worked on, and *out
 * is empty. */
int cluster_decode(const json_t *object, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));
/* Decodes the spec into the same struct. A wrong type or a value out of its limits is refused with
 * the path of the field, and all fields of the spec keep their defaults. */
int cluster_decode_spec(const json_t *object, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));
void cluster_free(struct cluster *c);

/* The record as members of a status object; status.c adds the rest. A new reference. */
json_t *cluster_record_encode(const struct cluster_record *r);
void cluster_record_copy(struct cluster_record *to, const struct cluster_record *from);
void cluster_record_free(struct cluster_record *r);

/* A campaign of a status object, into an empty one. The caller clears it, also after an error. */
int cluster_campaign_decode(const json_t *o, struct cluster_campaign *c, struct err *err)
    __attribute__((warn_unused_result));
void cluster_campaign_clear(struct cluster_campaign *c);
/* Takes over the phase, the times and the jobs that the head reports. */
void cluster_campaign_merge(struct cluster_campaign *c, const struct api_campaign *reported);
/* A list of {"job", "ranks"} with at most CLUSTER_JOBS_MAX jobs; NULL: there is none. */
json_t *cluster_jobs_encode(const struct api_job_ref *jobs, size_t n);
/* True if the id is one that the operator gives to its campaigns of this cluster. */
bool cluster_owns_campaign(const struct cluster *c, const char *id);
const char *cluster_kind_name(enum cluster_kind k);   /* "Shrink", "Shutdown" */
const char *cluster_phase_name(enum cluster_phase p); /* "Recorded", … */
const char *cluster_drain_mode_name(enum api_drain_mode m);
/* The body of PUT /v1/campaigns/{id}; the caller frees it with api_campaign_request_free(). */
void cluster_campaign_request(const struct cluster_campaign *c, struct api_campaign_request *out);

/* How many of so many members may be missing during an update. A percentage is rounded down, but
 * the number is at least 1, as the controllers of Deployments and StatefulSets do it. */
uint32_t cluster_update_bound(const struct cluster_update *u, uint32_t members);

/* The name of the cluster in certificates: "namespace/name", or the uid if that is longer than 64
 * bytes, the bound of a field (X.520). On the heap. */
char *cluster_identity(const struct cluster *c);

/* The label selector of the member pods, for status.selector. On the heap. */
char *cluster_selector(const struct cluster *c);

#endif
