/* SPDX-License-Identifier: BSD-3-Clause */
/* DvmCluster decoded: what is asked for (spec) and what the operator has written down (status
 * record). */
#ifndef OPERATOR_MODEL_CLUSTER_H
#define OPERATOR_MODEL_CLUSTER_H

#include "api/campaign.h"
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

/* "<name>-head" is a StatefulSet, and "<statefulset>-<10 characters>" the value of a label (63). */
#define CLUSTER_NAME_MAX 47
#define CLUSTER_MEMBERS_MAX 65535
#define CLUSTER_SLOTS_MAX 4096
#define CLUSTER_DEADLINE_MAX_S 604800
/* Longest termination grace of a pod, and the bound of a shutdown without a deadline of the user's.
 */
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

struct cluster_drain {
    enum api_drain_mode mode;
    int64_t deadline_s; /* -1: none */
};

enum cluster_kind { CLUSTER_SHRINK, CLUSTER_SHUTDOWN };

enum cluster_phase {
    CLUSTER_RECORDED, /* written down; the head may or may not know it */
    CLUSTER_DRAINING, /* accepted by the head */
    CLUSTER_REMOVING,
    CLUSTER_COMPLETE, /* the head has said that all targets are out */
    CLUSTER_CANCELLED,
    CLUSTER_REJECTED,
    CLUSTER_SUPERSEDED, /* a shutdown has taken its place */
};

/* Jobs of which ranks are waited for or were ended, as told by the head; bounded for the status. */
#define CLUSTER_JOBS_MAX 64
#define CLUSTER_RANKS_MAX 256

/* A campaign as status.campaign and status.lastCampaign hold it. The targets are always the highest
 * vpids, `first`..`last`, since a StatefulSet can only be reduced from the top; none if last <
 * first. */
struct cluster_campaign {
    bool present;
    char id[API_ID_MAX + 1];
    uint64_t sequence;
    enum cluster_kind kind;
    uint32_t first, last;
    int64_t generation;
    struct cluster_drain drain;
    char incarnation[17]; /* SHUTDOWN: the head's life that it ends */
    enum cluster_phase phase;
    char *result;    /* NULL: nothing to be said */
    json_t *waiting; /* arrays of {"job", "ranks"}; NULL: none */
    json_t *ended;
    int64_t recorded_ms, accepted_ms, drained_ms, fence_ms, complete_ms,
        applied_ms; /* 0: not yet */
};

#define CLUSTER_GRANTS_MAX 256 /* requests that run at a time, as many as the head lets run */

/* A request of an application that runs, alloc-<number> at the head. */
struct cluster_grant {
    uint64_t number;
    bool extend;
    int32_t members; /* what the grants are once it is complete */
};

/* What applications were granted beyond spec.replicas, or have released of it (negative). */
struct cluster_grants {
    int32_t members;
    uint64_t seen; /* highest number of a request in the head's life: those are counted */
    size_t nrunning;
    struct cluster_grant running[CLUSTER_GRANTS_MAX];
};

/* What a restarted operator needs; everything else can be found out again. */
struct cluster_record {
    uint64_t sequence;      /* highest number given out so far */
    uint64_t size_sequence; /* 0: no size message recorded */
    uint32_t size_members;
    struct api_size_limits size_limits;
    struct cluster_grants grants;
    char incarnation[17]; /* "": the DVM never formed since it was (re)started */
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
    /* spec */
    uint32_t replicas;
    int64_t min_replicas, max_replicas; /* for applications; -1: they may not resize that way */
    bool suspend;
    uint32_t slots;   /* 0: as the container's CPU limit gives */
    char *image;      /* NULL: the operator's default */
    json_t *template; /* NULL: none */
    uint32_t head_slots;
    json_t *head_resources; /* NULL: none */
    struct cluster_drain drain;
    /* status */
    struct cluster_record record;
    json_t *conditions; /* NULL: none */
};

/* Metadata and status record. -1: this is no DvmCluster that can be worked on; *out is empty. */
int cluster_decode(const json_t *object, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));
/* The spec into the same struct, strictly: a wrong type or a value out of its limits is refused
 * with the field's path, and all spec fields keep their defaults. */
int cluster_decode_spec(const json_t *object, struct cluster *out, struct err *err)
    __attribute__((warn_unused_result));
void cluster_free(struct cluster *c);

/* The record as members of a status object (status.c adds the rest). A new reference. */
json_t *cluster_record_encode(const struct cluster_record *r);
void cluster_record_copy(struct cluster_record *to, const struct cluster_record *from);
void cluster_record_free(struct cluster_record *r);

void cluster_campaign_clear(struct cluster_campaign *c);
/* Takes over what the head tells: phase, times, who is waited for, who was ended. */
void cluster_campaign_merge(struct cluster_campaign *c, const struct api_campaign *told);
const char *cluster_phase_name(enum cluster_phase p);
const char *cluster_drain_mode_name(enum api_drain_mode m);
/* The body of PUT /v1/campaigns/{id}; the caller frees it with api_campaign_request_free(). */
void cluster_campaign_request(const struct cluster_campaign *c, struct api_campaign_request *out);

/* What the daemons and certificates call this cluster: "namespace/name", or the uid where that is
 * longer than a certificate's field may be (64 bytes, X.520). On the heap. */
char *cluster_identity(const struct cluster *c);

/* The label selector of the member pods, for status.selector. On the heap. */
char *cluster_selector(const struct cluster *c);

#endif
