/* SPDX-License-Identifier: BSD-3-Clause */
/* The knowledge of the head alone: members, jobs, campaigns, events. No clock, no socket. */
#ifndef DVM_HEAD_HEAD_H
#define DVM_HEAD_HEAD_H

#include "api/campaign.h"
#include "api/dvm.h"
#include "api/event.h"
#include "api/reason.h"
#include "api/size.h"
#include "dvm/protocol/head/jobs/job.h"
#include "dvm/protocol/head/journal/journal.h"
#include "dvm/protocol/head/resize/resize.h"
#include "dvm/protocol/member/heads.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/out/out.h"
#include "dvm/protocol/rml/rml.h"

#include <hwloc/bitmap.h>

struct head;

struct head_opts {
    const char *cluster;
    uint64_t incarnation;
    uint32_t size;
    uint64_t ack_ms;
    uint64_t
        silent_ms; /* time without the report of a removal after which a member is declared lost */
    const char *cpus; /* the head's own (dvm/protocol/map/topo.h); "" or NULL: not known */
    /* The records of a former head of this DVM, each after its length (u32); NULL: this process
     * begins an incarnation. */
    const uint8_t *heritage;
    size_t heritage_len;
    /* How far the former head's clock is ahead of our own one; NULL: the wall clock tells. Borrowed
     * during head_create(). */
    const int64_t *clock_ahead;
    void (*on_record)(void *arg, const uint8_t *data, size_t len); /* gets its records; or NULL */
    void *arg;
};

/* NULL and a reason only with a heritage that cannot be taken: its bytes are damaged, or those of
 * another DVM, or its incarnation ends (ECANCELED). `members` is to be emptied then. */
struct head *head_create(const struct head_opts *o, struct out *out, struct members *members,
                         struct rml *rml, struct err *err);
struct head_skips { /* a former head may have given them, and the records do not say so */
    uint64_t epochs;
    uint64_t names; /* numbers of jobs, and of the campaigns of applications and of daemons that
                     * leave */
};
/* With a heritage: *self gets the epoch of this process, and *op is the operation by which all
 * daemons learn of it. The core applies the operation, then calls head_resume(). The caller frees
 * *op. */
void head_succeed(struct head *h, const struct head_skips *skips, struct msg_member *self,
                  struct msg *op);
void head_resume(struct head *h, struct epoch former, uint64_t op);
/* jobs_each_client(), before head_resume(). */
void head_each_client(const struct head *h, void (*on)(void *arg, const struct job_client *k),
                      void *arg);
/* How far the head's clock (out->now_ms) is ahead of this process's own. */
int64_t head_clock_ahead(const struct head *h);
/* incarnation_note_clock(), after an input. */
void head_note_clock(struct head *h, bool has_records);
/* The heads of the incarnation so far, without the first. */
const struct heads *head_heads(const struct head *h);
uint64_t head_incarnation(const struct head *h);
uint64_t head_last_epoch(const struct head *h); /* that was given to anybody */
void head_destroy(struct head *h);

/* At every input, before any part of it is handled. */
void head_turn(struct head *h);
/* After every input: takes the steps that are due. Then the core broadcasts the operations that
 * head_next_op() gives (op number filled in; the caller frees it) until there are none. */
void head_run(struct head *h);
bool head_next_op(struct head *h, struct msg *op);
uint64_t head_deadline(const struct head *h);
/* Changes the table of members as an operation says that the head processes; it is the only one
 * to change that table. */
void head_apply(struct head *h, const struct msg *op);
/* The head itself has applied an operation; all daemons have processed all operations up to
 * `version`. */
void head_applied(struct head *h, const struct msg *op);
bool head_completed(struct head *h, uint64_t version); /* true: news, head_run() again */

/* A daemon calls home and reports its CPUs. 0: admitted, *epoch is its new epoch. -1: err says
 * why not now. If the reason is that the vpid is live, *epoch is that epoch, else none.
 * head_lost() ends that epoch when the caller is known to be no late frame. */
int head_admit(struct head *h, const struct msg_member *facts, const char *cpus,
               struct epoch *epoch, struct err *err);
/* An admitted daemon's connection ended before it was wired. */
void head_joiner_gone(struct head *h, uint32_t vpid, struct epoch epoch);
/* True if this daemon was admitted in this epoch and waits to be wired. */
bool head_joining(const struct head *h, uint32_t vpid, struct epoch epoch);
/* True once after admissions were taken back: the daemons that wait on their connections have to
 * be notified. */
bool head_turned_away(struct head *h);
/* A member in this epoch has departed for good: its removal is broadcast (several at once are
 * one operation). */
void head_lost(struct head *h, uint32_t vpid, struct epoch epoch, const char *why);
/* A message that is for the head (dvm/protocol/wire/msg/msg.h). */
void head_msg(struct head *h, uint32_t from, struct msg *m);

/* The map of a job that has been sent to its daemons and has not ended (borrowed), else NULL.
 * The daemon `vpid` asks, and is notified of the job's end like them. */
const struct job_launch *head_job_watch(struct head *h, const char *nspace, uint32_t vpid);

/* job_family_control() */
enum job_control head_job_control(const struct head *h, uint32_t from, const char *asker,
                                  const char *target);

/* The text of the daemon `from` about a wait of its ranks of the job; "": they do not wait. */
void head_job_waits(struct head *h, uint32_t from, const char *nspace, const char *text);

/* published_serve(). Ranks of a job that has ended publish and find nothing: STORE_NONE. */
enum store_result head_published_serve(struct head *h, const struct published_ask *a,
                                       struct buf *answer);

/* Adds the daemons with this rank (or JOB_RANK_ALL) of the running job; NULL: of any. */
void head_daemons_of(const struct head *h, const char *nspace, uint32_t rank, hwloc_bitmap_t to);

/* The ranks of a job that is mapped and has not ended (borrowed). NULL: no such job. */
const struct job_launch *head_job_ranks(const struct head *h, const char *nspace,
                                        const struct job_rank **ranks);

int head_campaign_put(struct head *h, const char *id, const struct api_campaign_request *r,
                      struct api_campaign *out, enum api_reason *reason, struct err *err);
int head_campaign_cancel(struct head *h, const char *id, struct api_campaign *out,
                         enum api_reason *reason, struct err *err);
int head_campaign_get(struct head *h, const char *id, struct api_campaign *out,
                      enum api_reason *reason, struct err *err);
/* SIGTERM and SIGINT end the job (with a grace), SIGKILL kills it, others are passed to its ranks.
 */
int head_signal_put(struct head *h, const char *nspace, int signum, enum api_reason *reason,
                    struct err *err);
/* Ranks that are stopped for a debugger continue, and later ranks do not stop. */
int head_continue_put(struct head *h, const char *nspace, enum api_reason *reason, struct err *err);
int head_size_put(struct head *h, const struct api_size *s, struct api_size *out,
                  enum api_reason *reason, struct err *err);
/* Ends jobs at the deadline, then the DVM or this incarnation; called again, the nearer deadline
 * counts.
 */
void head_shutdown(struct head *h, enum shutdown_why why, int64_t deadline_s);
bool head_ending(const struct head *h);
bool head_ended(const struct head *h); /* all daemons have processed the shutdown */
void head_view(const struct head *h, struct api_dvm *out);
const struct api_event *head_event(const struct head *h, uint64_t number);
uint64_t head_event_next(const struct head *h);

struct jobs_stats head_job_stats(const struct head *h);
uint32_t head_jobs_bound(const struct head *h, bool kept); /* jobs_bound() */

/* --- a read-only view, for checkers of invariants (dvm/sim) */

/* Its records, and its state as bytes. */
struct journal *head_journal(const struct head *h);
/* For jobs_each(). */
struct jobs *head_jobs(const struct head *h);
/* For resize_each_campaign() and similar functions. */
const struct resize *head_resize(const struct head *h);
/* The batch of joiners that is being wired: numbered from 1, and its broadcast (OP_NOT_STARTED: it
 * waits for its turn). {0, 0}: there is none. */
struct head_batch {
    uint64_t number, op;
};
struct head_batch head_joiner_batch(const struct head *h);
uint32_t head_size_bound(const struct head *h);
/* Number of ranks on each hardware thread of a daemon. NULL: the daemon has reported no CPUs, or
 * no rank ever had one. */
const uint16_t *head_cpu_load(const struct head *h, uint32_t vpid, uint32_t *n);

#endif
