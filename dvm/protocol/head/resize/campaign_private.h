/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of campaigns, shared by the files of this folder only. */
#ifndef DVM_HEAD_RESIZE_CAMPAIGN_PRIVATE_H
#define DVM_HEAD_RESIZE_CAMPAIGN_PRIVATE_H

#include "api/campaign.h"
#include "api/reason.h"
#include "dvm/protocol/head/journal/event_log.h"
#include "dvm/protocol/head/resize/campaign_table.h"
#include "dvm/protocol/head/resize/fence.h"
#include "dvm/protocol/head/resize/resize.h"
#include "dvm/protocol/wire/resize_request.h"

#define CAMPAIGN_RELEASE_PREFIX "release-"
#define CAMPAIGN_REQUEST_PREFIX "alloc-"

struct grow;

struct campaigns {
    struct out *out;
    struct members *members;
    struct rml *rml;
    const struct incarnation *inc;
    struct size_bound *bound;
    struct roster *roster;
    struct slots slots;
    struct jobs *jobs;
    struct event_log *events;
    struct op_queue *ops;
    uint64_t ack_ms;
    struct fence *fence;
    struct grow *grow; /* the batch of joiners */
    struct journal *journal;
    struct campaign_table *table; /* these two change by records only */
    struct releases *releases;
};

/* campaign.c: the records. Each writes one; the fold (campaign_table.c) changes the campaign. */
/* A campaign with the content of the draft, in its first phase. NULL and a reason: nothing has
 * changed. */
const struct campaign *campaign_accept(struct campaigns *cs, const struct campaign *draft,
                                       struct err *err);
/* The one setter of its phase, by the table (dvm/protocol/state). step: the event, and what comes
 * with it; id, time, and an empty cause are filled in. */
void campaign_enter(struct campaigns *cs, const struct campaign *c,
                    struct record_campaign_step step);
/* These targets are as in the list, which has to ascend; n is 0: there is no record. */
void campaign_note_targets(struct campaigns *cs, const struct campaign *c,
                           struct campaign_target *list, size_t n);
/* Its drain begins to end jobs (NULL), or ends this one. */
void campaign_note_job(struct campaigns *cs, const struct campaign *c, struct api_job_ref *job);
void campaign_note_asker(struct campaigns *cs, const struct campaign *c, struct msg_target daemon,
                         uint64_t op);
/* NULL: not known. */
const struct campaign *campaign_by_id(const struct campaigns *cs, const char *id);
/* Some shrink is removing members. */
bool campaign_removes(const struct campaigns *cs);
/* A target of a shrink, or of a grow that rolls back. */
bool campaign_names(const struct campaigns *cs, uint32_t vpid);
/* A running grow that has yet to wire this vpid, or NULL. */
const struct campaign *campaign_claims(const struct campaigns *cs, uint32_t vpid);
bool campaign_runs_grow(const struct campaign *c); /* it is a grow that has not ended */
/* The release of an extension waits in its drain until no member above its targets stays: the
 * resource manager takes members from the top. Always true for any other shrink. */
bool campaign_is_top(const struct campaigns *cs, const struct campaign *c);
/* True if all targets have processed the command, are lost, or have been silent for too long. */
bool campaign_all_out(struct campaigns *cs, const struct campaign *c);
void campaign_op_started(struct campaigns *cs, const struct campaign *c, uint64_t op);
/* The size in force as the campaigns accepted under it have changed it; settled: without grows that
 * run. */
uint32_t campaign_bound(const struct campaigns *cs, bool settled);
/* That size becomes the bound. Jobs that wait are tried again: more may fit, or the first of them
 * may be too large now, and is passed. */
void campaign_apply_bound(struct campaigns *cs);
/* The fence's share of a campaign; that of the batch of joiners has another name. */
const char *campaign_fence_name(const struct campaign *c, char name[FENCE_NAME_MAX]);
uint64_t campaign_next_deadline(const struct campaigns *cs);
/* A target has processed the command; its connection is closed (true: that was not known). */
bool campaign_mark(struct campaigns *cs, uint32_t vpid, struct epoch epoch, bool departed);
/* campaign_view.c */
void campaign_fill(const struct campaigns *cs, const struct campaign *c, struct api_campaign *out);
/* An event about this campaign, with its record as it is now. */
void campaign_tell(struct campaigns *cs, enum api_event_type type, const struct campaign *c);
/* campaign_end.c */
void campaign_end(struct campaigns *cs, const struct campaign *c, enum campaign_event how);
/* campaign_admit.c. Admission of every request for a resize. `asked`: by the control API or an
 * application. Then its sequence counts, its targets have to be the highest, and its end is
 * reported. Otherwise daemons request their own release. asker: the application's process, if
 * one asks; its content is taken. -1 and a reason: nothing has changed. */
int campaign_admit(struct campaigns *cs, const char *id, const struct api_campaign_request *r,
                   bool asked, struct campaign_asker *asker, enum api_reason *reason,
                   struct err *err) __attribute__((warn_unused_result));
int campaign_put(struct campaigns *cs, const char *id, const struct api_campaign_request *r,
                 struct api_campaign *out, enum api_reason *reason, struct err *err)
    __attribute__((warn_unused_result));
int campaign_cancel(struct campaigns *cs, const char *id, struct api_campaign *out,
                    enum api_reason *reason, struct err *err) __attribute__((warn_unused_result));
int campaign_get(struct campaigns *cs, const char *id, struct api_campaign *out,
                 enum api_reason *reason, struct err *err) __attribute__((warn_unused_result));

/* campaign_succession.c: this process is the head from operation `op` on */
void campaign_succeed(struct campaigns *cs, uint64_t op);

/* asker.c */
void asker_free(struct campaign_asker *a);
/* The reason why no such process can ask by the daemon of vpid `from`; NULL: it can. A name that no
 * job has, or had, is a tool's. */
const char *asker_refusal(const struct campaigns *cs, uint32_t from, const char *nspace,
                          uint32_t rank);
/* An extension of that job, or of that tool at that daemon, has brought the member that runs now.
 */
bool asker_owns(const struct campaigns *cs, uint32_t from, const char *nspace, uint32_t vpid);
/* Its daemon is a member in that epoch, and its rank has not ended. */
bool asker_present(const struct campaigns *cs, const struct campaign_asker *a);
/* Answers the asker that the campaign has ended. */
void asker_answer_end(struct campaigns *cs, const struct campaign *c);

#endif
