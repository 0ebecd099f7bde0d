/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan while it is being made, shared by the files that plan a resize, a suspension and the share
 * of applications. */
#ifndef OPERATOR_PLAN_PLAN_PRIVATE_H
#define OPERATOR_PLAN_PLAN_PRIVATE_H

#include "operator/plan/plan.h"

/* plan_index.c: members and pods by vpid. */
struct plan_index {
    struct plan_row *rows; /* NULL: nobody has asked yet */
    size_t n;
};

struct draft {
    const struct plan_input *in;
    struct plan *p;
    struct plan_index *index;
    uint32_t members; /* replicas that the StatefulSets should have after this plan */
    uint32_t heads;
    struct plan_action scratch; /* takes an action for which the plan has no room */
    bool closed;                /* this plan has closed a campaign */
    bool must_record;           /* an intention has changed, and recording it is the only action */
};

/* draft.c */
struct plan_action *plan_add(struct draft *d, enum plan_verb verb);
void plan_again(struct draft *d, int64_t delay_ms);
/* The head's record of a campaign; NULL: none. */
const struct api_campaign *plan_known(const struct draft *d, const char *id);
/* A sequence number above every one that operator or head are known to have used. */
uint64_t plan_next_sequence(const struct draft *d);
/* Records a new campaign in place of the present one. */
void plan_open_campaign(struct draft *d, enum cluster_kind kind, uint32_t first, uint32_t last);
/* Moves the campaign to lastCampaign. `result` may be NULL. */
void plan_close_campaign(struct draft *d, enum cluster_phase phase, const char *result);
/* Completes the campaign without a report of the head, with the reason as result. */
void plan_complete(struct draft *d, const char *result);
/* True if the head could not be reached for the time in spec.drain.deadlineSeconds. */
bool plan_deadline_passed(struct draft *d);

/* plan_grants.c: the limits of applications; none may resize while spec.replicas is 0. */
struct api_size_limits plan_limits(const struct cluster *c);
/* spec.replicas and the granted members, within the limits; running extensions count. */
uint32_t plan_granted_target(const struct cluster *c, const struct cluster_grants *g);
/* Counts the requests of applications in the head's view. */
void plan_grants_follow(struct draft *d, const struct api_dvm *v);
/* Ends all running requests, since the incarnation that had them has ended; grants stay. */
void plan_grants_new_life(struct draft *d);
void plan_grants_reset(struct draft *d);
void plan_grants_void(struct draft *d); /* forgets grants while spec.replicas is 0 */
/* The target without the members that an application is releasing: those that may be admitted. */
uint32_t plan_staying(const struct draft *d);

/* plan_index.c */
/* The member of the head's view; NULL: it has none of this vpid, or there is no view. */
const struct api_dvm_member *plan_member(const struct draft *d, uint32_t vpid);
/* The pod that awaits an update; NULL: that of this vpid does not. */
const struct plan_pod *plan_pod_to_update(const struct draft *d, uint32_t vpid);
void plan_index_clear(struct plan_index *x);

/* plan.c */
void plan_delete_pod(struct draft *d, const struct plan_pod *pod);
/* True if the head has refused a campaign for the same spec a moment ago. */
bool plan_rejected_lately(struct draft *d);

/* plan_update.c: records the next campaign of an update, if there is one to do */
void plan_update(struct draft *d);
/* True if all targets of the recorded campaign still await it. */
bool plan_update_wanted(const struct draft *d);
/* The campaign is complete: deletes the pods of its targets, then closes it. */
void plan_update_pods(struct draft *d);
/* The head's pod is the next one to be replaced. */
bool plan_update_head(const struct draft *d, const struct plan_pod *pod);

/* True while a shutdown that the head has accepted is not complete. */
bool plan_shutdown_runs(const struct draft *d);
void plan_suspend(struct draft *d);

#endif
