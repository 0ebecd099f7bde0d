/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of campaigns, shared by the files of this folder only. */
#ifndef DVM_HEAD_RESIZE_CAMPAIGN_PRIVATE_H
#define DVM_HEAD_RESIZE_CAMPAIGN_PRIVATE_H

#include "api/campaign.h"
#include "api/reason.h"
#include "dvm/protocol/head/journal/event_log.h"
#include "dvm/protocol/head/resize/fence.h"
#include "dvm/protocol/head/resize/resize.h"
#include "dvm/protocol/wire/resize_request.h"

#define CAMPAIGN_RELEASE_PREFIX "release-"
#define CAMPAIGN_REQUEST_PREFIX "alloc-"

struct grow;

struct target {
    struct msg_target id; /* epoch none: the vpid was not there */
    bool added;           /* by this grow */
    bool out;             /* processed the command, or was lost */
    bool departed;
    bool offered;      /* its node was offered by another campaign, for the same epoch */
    struct epoch last; /* its last epoch; none: the vpid was never a member */
};

struct asker {    /* a process that asked for a campaign by PMIx, and its request */
    char *nspace; /* NULL: no process did */
    uint32_t rank;
    bool is_rank; /* of a job; else a tool */
    struct msg_target daemon;
    char *req_id; /* its own, "": none */
    char *of;     /* the allocation that it named, "": none */
    enum resize_kind kind;
    int64_t deadline_s;
    uint32_t count;
    size_t nvpids;
    uint32_t *vpids;
    enum api_told told;
};

struct campaign {
    char *id;
    struct api_campaign_request req;
    bool has_requester; /* releases that a SIGTERM asked for have none */
    struct asker asker; /* the requester, unless that was the control API */
    enum api_phase phase;
    size_t ntargets;
    size_t nout;
    struct target *targets; /* ascending by vpid */
    uint64_t size_sequence; /* of the size message in force when it was accepted */
    uint64_t op;            /* the broadcast, 0: not yet */
    uint64_t deadline_ms;   /* of the drain; 0: none */
    uint64_t ack_by_ms;     /* while removing */
    char *cause;            /* of a grow that fails */
    enum resize_status why; /* the same, and of a cancelled one, for the asker */
    bool told_jobs;         /* drain has ended the jobs already */
    uint64_t drain_looked;  /* jobs_changes() at the last count of the jobs that it waits for */
    size_t drain_waits;
    size_t nended;
    struct api_job_ref *ended;
    int64_t accepted_wall, drained_wall, fence_wall, complete_wall;
    struct campaign *next, *prev;
};

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
    struct grow *grow;     /* the batch of joiners */
    struct campaign *list; /* in order of acceptance */
    size_t n;
    uint64_t sequence;     /* the highest sequence that a requester has used */
    uint64_t last_request; /* of applications, numbered */
};

/* campaign.c: the records */
struct campaign *campaign_new(struct campaigns *cs, const char *id, const uint32_t *vpids,
                              size_t n);
void campaign_free(struct campaign *c);
bool campaign_room(const struct campaigns *cs); /* for one more */
struct campaign *campaign_by_id(const struct campaigns *cs, const char *id);
/* The one setter of its phase, by the table (dvm/protocol/state); a new one drains, or gathers. */
void campaign_enter(struct campaigns *cs, struct campaign *c, enum campaign_event ev);
/* Some shrink is removing members. */
bool campaign_removes(const struct campaigns *cs);
/* A target of a shrink, or of a grow that rolls back. */
bool campaign_names(const struct campaigns *cs, uint32_t vpid);
/* A running grow that has yet to wire this vpid, or NULL. */
const struct campaign *campaign_claims(const struct campaigns *cs, uint32_t vpid);
bool campaign_runs_grow(const struct campaign *c); /* it is a grow that has not ended */
struct target *campaign_target(const struct campaign *c, uint32_t vpid); /* NULL: not named */
void campaign_target_out(struct campaign *c, struct target *t);
/* True if all targets have processed the command, are lost, or have been silent for too long. */
bool campaign_all_out(struct campaigns *cs, struct campaign *c);
void campaign_op_started(struct campaigns *cs, struct campaign *c, uint64_t op);
/* The size in force as the campaigns accepted under it have changed it; settled: without grows that
 * run. */
uint32_t campaign_bound(const struct campaigns *cs, bool settled);
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
void campaign_end(struct campaigns *cs, struct campaign *c, enum campaign_event how);
/* campaign_admit.c. Admission of every request for a resize. `asked`: by the control API or an
 * application. Then its sequence counts, its targets have to be the highest, and its end is
 * reported. Otherwise daemons request their own release. asker: the application's process, if
 * one asks; its content is taken. -1 and a reason: nothing has changed. */
int campaign_admit(struct campaigns *cs, const char *id, const struct api_campaign_request *r,
                   bool asked, struct asker *asker, enum api_reason *reason, struct err *err)
    __attribute__((warn_unused_result));
int campaign_put(struct campaigns *cs, const char *id, const struct api_campaign_request *r,
                 struct api_campaign *out, enum api_reason *reason, struct err *err)
    __attribute__((warn_unused_result));
int campaign_cancel(struct campaigns *cs, const char *id, struct api_campaign *out,
                    enum api_reason *reason, struct err *err) __attribute__((warn_unused_result));
int campaign_get(struct campaigns *cs, const char *id, struct api_campaign *out,
                 enum api_reason *reason, struct err *err) __attribute__((warn_unused_result));

/* asker.c */
void asker_free(struct asker *a);
/* Its daemon is a member in that epoch, and its rank has not ended. */
bool asker_present(const struct campaigns *cs, const struct asker *a);
/* Answers the asker that the campaign has ended. */
void asker_answer_end(struct campaigns *cs, const struct campaign *c);

#endif
