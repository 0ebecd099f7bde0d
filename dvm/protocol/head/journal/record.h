/* SPDX-License-Identifier: BSD-3-Clause */
/* A record of the journal: one change of what the head alone knows.
 *
 * A record holds results, not inputs: the fold of the records needs no decision, no clock and no
 * message. Times are those of the head's clock (out.now_ms), unless a field is named for the wall
 * clock. docs/head.md has the table of records. A decoded record owns its texts and lists; a record
 * to be encoded borrows them. */
#ifndef DVM_HEAD_JOURNAL_RECORD_H
#define DVM_HEAD_JOURNAL_RECORD_H

#include "api/event.h"
#include "api/size.h"
#include "dvm/protocol/head/journal/record_campaign.h"
#include "dvm/protocol/head/journal/record_job_map.h"
#include "dvm/protocol/head/journal/record_job_progress.h"
#include "dvm/protocol/head/journal/record_members.h"
#include "dvm/protocol/head/journal/record_published.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/protocol/wire/msg/msg.h"

/* Of all records. BEGIN and SNAPSHOT, the first of a fold, name it (docs/protocol/versions.md). */
#define RECORD_LAYOUT 1
/* A record that is no snapshot. The largest one has the job of a SUBMIT, and what the head adds. */
#define RECORD_BYTES_MAX (MSG_DATA_MAX + 4096)
#define RECORD_SNAPSHOT_MAX (1u << 30) /* a larger state has no snapshot */
#define RECORD_SKIPPED_MAX (1u << 24)  /* names that an heir does not give */
#define RECORD_REASON_MAX (64u << 10)  /* bytes of the reason of a job's end */
#define RECORD_JOB_MIN 64              /* bytes of the smallest job in a snapshot */

enum record_type {
    RECORD_NO_TYPE,
    RECORD_SNAPSHOT,         /* the whole state; only as the first record of a fold */
    RECORD_BEGIN,            /* the incarnation begins */
    RECORD_ENDING,           /* its end is decided */
    RECORD_SIZE,             /* the size in force */
    RECORD_CPUS,             /* host and CPUs of a daemon */
    RECORD_ADMITTED,         /* a daemon has an epoch */
    RECORD_STEP,             /* the state of a member */
    RECORD_OP_STARTED,       /* a membership operation has a number and is about to be broadcast */
    RECORD_OP_APPLIED,       /* the head has processed it */
    RECORD_COMPLETED,        /* all daemons have processed all operations up to a version */
    RECORD_EVENT,            /* an event for the operator */
    RECORD_CAMPAIGN,         /* a campaign is accepted */
    RECORD_CAMPAIGN_TARGETS, /* what has become of some targets */
    RECORD_CAMPAIGN_OP,      /* its broadcast has started */
    RECORD_CAMPAIGN_JOBS,    /* its drain ends jobs */
    RECORD_CAMPAIGN_ASKER,   /* its asker has attached to another daemon */
    RECORD_CAMPAIGN_STEP,    /* its phase changes */
    RECORD_RELEASE,          /* a daemon that has asked to leave waits */
    RECORD_RELEASE_WINDOW,   /* the daemons that wait are served, or wait longer */
    RECORD_JOB_ACCEPTED,
    RECORD_JOB_JUDGED,     /* it fits the DVM, so it may wait for slots */
    RECORD_JOB_MAPPED,     /* its ranks have nodes; a step "remap" takes them away */
    RECORD_JOB_SENT,       /* its launch is decided */
    RECORD_JOB_RANK_ENDED, /* a rank has ended, or was not started */
    RECORD_JOB_NODE_GONE,  /* nothing of it is left on one of its daemons */
    RECORD_JOB_KIN_FAILED, /* a job that its ranks have spawned has failed */
    RECORD_JOB_RESULT,     /* it fails: exit code, how and why */
    RECORD_JOB_STEP,       /* its state */
    RECORD_JOB_FORGOTTEN,  /* its submitter's daemon knows its end, or departs */
    RECORD_HEIR,           /* another process is the head now */
    RECORD_PUBLISHED,      /* a rank has published values */
    RECORD_UNPUBLISHED,    /* values are removed: unpublished, read, or at their publisher's end */
    RECORD_CLOCK,          /* one moment by both clocks, later than BEGIN's */
    RECORD_MEMBERS, /* in the place of BEGIN: the members go on, the records before it are lost */
    RECORD_JOBS_ADOPTED, /* after it: all jobs that go on without their records are accepted */
    RECORD_TYPES
};

struct record_snapshot {
    const uint8_t *data; /* borrowed, also by a decoded record */
    size_t len;
};

struct record_begin {
    char *cluster;
    uint64_t incarnation; /* not 0 */
    uint32_t size;
    uint64_t now_ms, wall_ms; /* one moment by both clocks */
    struct msg_member head;   /* its own facts, with its epoch */
};

struct record_clock {
    uint64_t now_ms, wall_ms;
};

struct record_ending {
    enum shutdown_why why;
    uint64_t at_ms;
};

struct record_heir {
    struct msg_member head; /* the new process, with its epoch */
    uint64_t skipped;       /* numbers of jobs, requests and releases that it does not give */
};

struct record_size {
    uint64_t sequence;
    uint32_t size, bound, base;
    struct api_size_limits limits;
};

struct record_cpus {
    uint32_t vpid;
    char *host;
    char *text; /* dvm/protocol/map/topo.h; "": not known */
};

struct record_admitted {
    struct msg_member facts; /* with the new epoch */
};

struct record_step {
    uint32_t vpid;
    uint8_t event; /* enum member_event (dvm/protocol/member) */
};

struct record_op {
    bool urgent;
    struct msg msg; /* ADD, REMOVE or SHUTDOWN, with its number */
};

struct record_completed {
    uint64_t version;
};

struct record_event {
    struct api_event event;
};

struct record_release {
    struct msg_target id;
    int64_t deadline_s; /* -1: none */
    bool kill;          /* jobs there are ended */
    uint64_t until_ms;  /* the end of the window, if it is the first */
};

struct record_release_window {
    uint64_t until_ms; /* 0: nobody waits any more */
};

struct record_job {
    uint64_t number; /* not 0 */
    uint32_t submit_vpid, submit_client;
    struct epoch submit_epoch;
    uint32_t home_vpid, home_client; /* gets its output: the submitter, or its parent's home */
    bool adopted;                    /* its parent was known at its submission, and counts it */
    struct job_spec spec;            /* with the flags that it has from its parent */
};

enum job_judgement { JOB_NOT_JUDGED, JOB_FITS, JOB_FITS_GROWN, JOB_JUDGEMENTS };

struct record_job_judged {
    uint64_t number;
    uint8_t judgement; /* enum job_judgement: it fits the DVM, or fits after the grows that run */
};

struct record_job_kin_failed {
    uint64_t number; /* of the job whose descendant has failed */
    int exit_code;   /* 0 to 255; 0: the failure is not the job's own */
    char *text;      /* not "" */
};

struct record_job_step {
    uint64_t number;
    uint8_t event; /* enum job_event */
};

struct record_job_result {
    uint64_t number;
    uint8_t failure; /* enum job_event: how it will end; 0: it has not failed */
    int exit_code;   /* 0 to 255 */
    char *reason;    /* of the failure */
};

struct record_job_forgotten {
    uint64_t number;
};

struct record {
    enum record_type type;
    union {
        struct record_snapshot snapshot;
        struct record_begin begin;
        struct record_ending ending;
        struct record_clock clock;
        struct record_heir heir;
        struct record_members members;
        struct record_size size;
        struct record_cpus cpus;
        struct record_admitted admitted;
        struct record_step step;
        struct record_op op; /* OP_STARTED, OP_APPLIED */
        struct record_completed completed;
        struct record_event event;
        struct campaign *campaign;
        struct record_campaign_step campaign_step;
        struct record_campaign_targets campaign_targets;
        struct record_campaign_op campaign_op;
        struct record_campaign_jobs campaign_jobs;
        struct record_campaign_asker campaign_asker;
        struct record_release release;
        struct record_release_window release_window;
        struct record_job job;         /* JOB_ACCEPTED */
        struct record_job_map job_map; /* JOB_MAPPED */
        struct record_job_sent job_sent;
        struct record_job_rank_ended job_rank_ended;
        struct record_job_node_gone job_node_gone;
        struct record_job_judged job_judged;
        struct record_job_kin_failed job_kin_failed;
        struct record_job_step job_step;
        struct record_job_result job_result;
        struct record_job_forgotten job_forgotten;
        struct record_published published;
        struct record_unpublished unpublished;
    };
};

const char *record_name(unsigned type); /* "BEGIN", "?" */
/* Type and fields of the record, without its length. */
void record_encode(struct buf *b, const struct record *r);
/* Decodes a whole record. -1, a reason, nothing allocated and `out` untouched if it is malformed,
 * of an unknown type, has bytes left over, or holds a value that no head writes. */
int record_decode(const void *data, size_t len, struct record *out, struct err *err)
    __attribute__((warn_unused_result));
void record_free(struct record *r); /* what record_decode() allocated */

/* Fields that snapshots have too. */
void record_put_size(struct buf *b, const struct record_size *r);
int record_get_size(struct cur *c, struct record_size *r, struct err *err)
    __attribute__((warn_unused_result));
void record_put_cpus(struct buf *b, const struct record_cpus *r);
int record_get_cpus(struct cur *c, struct record_cpus *r, struct err *err)
    __attribute__((warn_unused_result));
void record_put_release(struct buf *b, const struct record_release *r);
int record_get_release(struct cur *c, struct record_release *r, struct err *err)
    __attribute__((warn_unused_result));
void record_put_event(struct buf *b, const struct api_event *e);
int record_get_event(struct cur *c, struct api_event *e, struct err *err)
    __attribute__((warn_unused_result));
void record_put_job(struct buf *b, const struct record_job *r);
int record_get_job(struct cur *c, struct record_job *r, struct err *err)
    __attribute__((warn_unused_result));
void record_job_free(struct record_job *r);
void record_put_job_result(struct buf *b, const struct record_job_result *r);
int record_get_job_result(struct cur *c, struct record_job_result *r, struct err *err)
    __attribute__((warn_unused_result));

#endif
