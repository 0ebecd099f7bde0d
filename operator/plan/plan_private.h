/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan while it is being made: shared by the parts that plan a resize and a suspension. */
#ifndef OPERATOR_PLAN_PLAN_PRIVATE_H
#define OPERATOR_PLAN_PLAN_PRIVATE_H

#include "operator/plan/plan.h"

struct draft {
    const struct plan_input *in;
    struct plan *p;
    uint32_t members; /* replicas that the StatefulSets should have after this plan */
    uint32_t heads;
    struct plan_action scratch; /* where an action goes that does not fit */
    bool must_record; /* an intention has changed: nothing else happens before it is written down */
};

/* draft.c */
struct plan_action *plan_add(struct draft *d, enum plan_verb verb);
void plan_again(struct draft *d, int64_t delay_ms);
/* The head's record of a campaign, NULL if it has none. */
const struct api_campaign *plan_known(const struct draft *d, const char *id);
/* A sequence number above every one that operator or head are known to have used. */
uint64_t plan_next_sequence(const struct draft *d);
/* Puts a new campaign into the record, in place of one that may be there. */
void plan_open_campaign(struct draft *d, enum cluster_kind kind, uint32_t first, uint32_t last);
/* Moves the campaign to lastCampaign. `result` may be NULL. */
void plan_close_campaign(struct draft *d, enum cluster_phase phase, const char *result);
/* Calls the campaign complete without the head's word, for the reason given. */
void plan_complete(struct draft *d, const char *result);
/* True if the head could not be asked for as long as the user lets work drain. */
bool plan_deadline_passed(struct draft *d);

/* plan_grants.c: how far applications may resize; not at all from a size of 0. */
struct api_size_limits plan_limits(const struct cluster *c);
/* spec.replicas and what is granted, within the limits; running extensions count. */
uint32_t plan_granted_target(const struct cluster *c, const struct cluster_grants *g);
/* Counts what applications have asked for, by the head's view. */
void plan_grants_follow(struct draft *d, const struct api_dvm *v);
/* Requests end with the life of the head that had them; what was granted stays. */
void plan_grants_new_life(struct draft *d);
void plan_grants_reset(struct draft *d);
void plan_grants_void(struct draft *d); /* at a size of 0 */
/* The target without members that an application is releasing: the others may join. */
uint32_t plan_staying(const struct draft *d);

/* True while a shutdown that the head has accepted is not at its end. */
bool plan_shutdown_runs(const struct draft *d);
void plan_suspend(struct draft *d);

#endif
