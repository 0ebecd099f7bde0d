/* SPDX-License-Identifier: BSD-3-Clause */
/* Every change of the DVM's size: batches of joiners, grow and shrink campaigns, releases, requests
 * of applications. */
#ifndef DVM_HEAD_RESIZE_RESIZE_H
#define DVM_HEAD_RESIZE_RESIZE_H

#include "api/campaign.h"
#include "api/dvm.h"
#include "api/reason.h"
#include "dvm/protocol/head/jobs/job.h"
#include "dvm/protocol/head/journal/event_log.h"
#include "dvm/protocol/head/journal/op_queue.h"

/* Running campaigns, and ended ones, which are forgotten first. Releases that daemons request
 * for themselves do not count: each names members that no other has named. */
#define RESIZE_CAMPAIGNS_MAX 256
#define RESIZE_EXTEND_S 600 /* for an extension without a deadline */

struct resize;
struct campaign;

struct resize_uses { /* borrowed */
    struct out *out;
    struct members *members;
    struct rml *rml;
    const struct incarnation *inc;
    struct size_bound *bound;
    struct roster *roster;
    struct cpu_ledger *ledger;
    struct jobs *jobs;
    struct event_log *events;
    struct op_queue *ops;
    struct journal *journal;
    struct campaign_table *campaigns;
    struct releases *releases;
    uint64_t ack_ms; /* time of silence after which a target is declared lost */
};

/* From now on answers the questions of jobs (struct jobs_resize). */
struct resize *resize_create(const struct resize_uses *uses);
void resize_destroy(struct resize *rs);

/* This process is the head from operation `op` on; the records are those of the former one. */
void resize_succeed(struct resize *rs, uint64_t op);

/* After every input, before and after the steps of jobs. */
void resize_steps_before_jobs(struct resize *rs);
void resize_steps_after_jobs(struct resize *rs);
uint64_t resize_next_deadline(const struct resize *rs); /* UINT64_MAX: none */

/* An operation is about to start; false: nothing of it is left. */
bool resize_op_due(struct resize *rs, struct op *op);
void resize_op_started(struct resize *rs, const struct op *op);
/* All daemons have processed all operations up to `version`. */
void resize_completed(struct resize *rs, uint64_t version);

/* A campaign removes this vpid. */
bool resize_names(const struct resize *rs, uint32_t vpid);
/* A target has processed the command to leave, or is lost; its connection is closed. */
void resize_left(struct resize *rs, uint32_t vpid, struct epoch epoch);
void resize_gone(struct resize *rs, uint32_t vpid, struct epoch epoch);
/* A size message has changed the size bound: grows above it give way. */
void resize_bound_changed(struct resize *rs);

/* Messages of daemons. */
void resize_release_ask(struct resize *rs, uint32_t from, const struct msg_release_me *m);
void resize_request(struct resize *rs, uint32_t from, const struct msg_resize_ask *m);
/* Verbs of the control API: -1, an HTTP status in err, and a word in *reason. */
int resize_campaign_put(struct resize *rs, const char *id, const struct api_campaign_request *r,
                        struct api_campaign *out, enum api_reason *reason, struct err *err)
    __attribute__((warn_unused_result));
int resize_campaign_cancel(struct resize *rs, const char *id, struct api_campaign *out,
                           enum api_reason *reason, struct err *err)
    __attribute__((warn_unused_result));
int resize_campaign_get(struct resize *rs, const char *id, struct api_campaign *out,
                        enum api_reason *reason, struct err *err)
    __attribute__((warn_unused_result));
void resize_view(const struct resize *rs, struct api_dvm *out);

/* For checkers of invariants; everything is borrowed and valid during the call only. */
struct resize_campaign {
    const char *id;
    enum api_kind kind;
    enum api_phase phase;
    bool has_requester;
    bool may_end_jobs; /* by its drain mode, or at its deadline */
    uint64_t op;
    size_t ntargets;
    const struct campaign *record;
};
struct resize_target {
    uint32_t vpid;
    struct epoch epoch; /* none: the vpid was no member */
    bool added;         /* a grow has wired it, or began to */
    bool out;           /* it has left, or is lost */
};
void resize_each_campaign(const struct resize *rs,
                          void (*on)(void *arg, const struct resize_campaign *c), void *arg);
struct resize_target resize_target_of(const struct resize_campaign *c, size_t i);
void resize_each_share(const struct resize *rs,
                       void (*on)(void *arg, const char *name, uint32_t count), void *arg);
uint32_t resize_fence_sum(const struct resize *rs);
bool resize_growing(const struct resize *rs);
/* The batch of joiners that is being wired: numbered from 1, and its broadcast (OP_NOT_STARTED: it
 * waits for its turn). 0: there is none. */
uint64_t resize_batch(const struct resize *rs, uint64_t *op);

#endif
