/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign, and the records of its changes. One codec serves records, snapshots and copies. */
#ifndef DVM_HEAD_JOURNAL_RECORD_CAMPAIGN_H
#define DVM_HEAD_JOURNAL_RECORD_CAMPAIGN_H

#include "api/campaign.h"
#include "dvm/protocol/wire/msg/msg.h"

struct campaign_target {
    struct msg_target id; /* epoch none: the vpid was not there */
    bool added;           /* by this grow */
    bool out;             /* processed the command, or was lost */
    bool departed;
    bool offered;      /* its node was offered by another campaign, for the same epoch */
    struct epoch last; /* its last epoch; none: the vpid was never a member */
};

struct campaign_asker { /* a process that asked for a campaign by PMIx, and its request */
    char *nspace;       /* NULL: no process did */
    uint32_t rank;
    bool is_rank; /* of a job; else a tool */
    struct msg_target daemon;
    uint64_t op;  /* the daemon's number of the last request for it */
    char *req_id; /* its own, "": none */
    char *of;     /* the allocation that it named, "": none */
    enum resize_kind kind;
    int64_t deadline_s;
    uint32_t count;
    size_t nvpids;
    uint32_t *vpids;
    bool keep; /* the extension stays when the job has ended */
    enum api_told told;
};

struct campaign_look { /* what a drain has seen; not in the journal, since it follows from jobs */
    uint64_t changes;  /* jobs_changes() at the last count of the jobs that it waits for */
    size_t waits;
};

struct campaign {
    char *id;
    struct api_campaign_request req; /* its targets are those below */
    bool has_requester;              /* releases that a SIGTERM asked for have none */
    struct campaign_asker asker;     /* the requester, unless that was the control API */
    enum api_phase phase;
    size_t ntargets;
    size_t nout;
    struct campaign_target *targets; /* ascending by vpid */
    uint64_t size_sequence;          /* of the size message in force when it was accepted */
    uint64_t op;                     /* the broadcast, 0: not yet */
    uint64_t deadline_ms;            /* of the drain; 0: none */
    uint64_t ack_by_ms;              /* while removing */
    char *cause;                     /* of a grow that fails */
    enum resize_status why;          /* the same, and of a cancelled one, for the asker */
    bool told_jobs;                  /* drain has ended the jobs already */
    size_t nended;
    struct api_job_ref *ended;
    int64_t accepted_wall, drained_wall, fence_wall, complete_wall;
    struct campaign_look *look;   /* of its table; NULL: it is in none */
    struct campaign *next, *prev; /* in its table */
};

struct record_campaign_step {
    char *id;
    uint8_t event; /* enum campaign_event (dvm/protocol/state) */
    int64_t wall_ms;
    enum resize_status why; /* FAIL, CANCEL */
    char *cause;            /* FAIL; else "" */
    enum api_told told;     /* at the end: how the asker is notified */
};

struct record_campaign_targets { /* their new content, ascending by vpid */
    char *id;
    size_t n;
    struct campaign_target *targets;
};

struct record_campaign_op {
    char *id;
    uint64_t op, ack_by_ms;
};

struct record_campaign_jobs { /* none: the drain begins to end jobs */
    char *id;
    size_t n;
    struct api_job_ref *jobs;
};

struct record_campaign_asker {
    char *id;
    struct msg_target daemon;
    uint64_t op;
};

/* Frees the campaign; NULL is fine. */
void record_campaign_free(struct campaign *c);
void record_campaign_put(struct buf *b, const struct campaign *c);
/* NULL and a reason, or c->bad: it is malformed. */
struct campaign *record_campaign_get(struct cur *c, struct err *err);
void record_campaign_copy_job(struct api_job_ref *to, const struct api_job_ref *from);

void record_campaign_put_step(struct buf *b, const struct record_campaign_step *r);
void record_campaign_get_step(struct cur *c, struct record_campaign_step *r);
void record_campaign_put_targets(struct buf *b, const struct record_campaign_targets *r);
void record_campaign_get_targets(struct cur *c, struct record_campaign_targets *r);
void record_campaign_put_op(struct buf *b, const struct record_campaign_op *r);
void record_campaign_get_op(struct cur *c, struct record_campaign_op *r);
void record_campaign_put_jobs(struct buf *b, const struct record_campaign_jobs *r);
void record_campaign_get_jobs(struct cur *c, struct record_campaign_jobs *r);
void record_campaign_free_jobs(struct record_campaign_jobs *r);
void record_campaign_put_asker(struct buf *b, const struct record_campaign_asker *r);
void record_campaign_get_asker(struct cur *c, struct record_campaign_asker *r);

#endif
