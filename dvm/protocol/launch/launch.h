/* SPDX-License-Identifier: BSD-3-Clause */
/* What the head alone knows: jobs, the launch fence, campaigns, size bound, events. One struct, no
 * clock, no socket. */
#ifndef DVM_LAUNCH_LAUNCH_H
#define DVM_LAUNCH_LAUNCH_H

#include "api/campaign.h"
#include "api/dvm.h"
#include "api/event.h"
#include "api/size.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/rml/rml.h"
#include "dvm/protocol/wire/out.h"

#include <hwloc/bitmap.h>

#define LAUNCH_JOBS_MAX 100000 /* running, held and queued */
#define LAUNCH_HISTORY_MAX 64  /* ended jobs that pstat still shows */
/* Running, and ended ones that can still be asked for: these are forgotten first; releases that
 * daemons ask for themselves come on top, each names members that no other has named. */
#define LAUNCH_CAMPAIGNS_MAX 256
#define LAUNCH_RELEASE_WINDOW_MS 50
#define LAUNCH_EXTEND_S 600  /* for daemons that an application has asked for without a deadline */
#define LAUNCH_GRACE_MS 2000 /* SIGTERM to SIGKILL of ranks */
/* A job held for so long goes before whatever else would raise the fence: campaigns and joiners
 * that come now wait for it (losses do not). What runs by then still ends first, and every silent
 * daemon can delay it by the time after which it is declared lost. */
#define LAUNCH_HOLD_MAX_MS 30000
/* A vpid whose lives were each shorter than this is admitted ever later, after the free ones: MIN,
 * doubling up to MAX after its last admission. */
#define LAUNCH_LIFE_SHORT_MS 10000
#define LAUNCH_SHORT_LIVES_FREE 2
#define LAUNCH_BACKOFF_MIN_MS 1000
#define LAUNCH_BACKOFF_MAX_MS 30000

struct launch;

struct launch_opts {
    const char *cluster;
    uint64_t incarnation;
    uint32_t size;
    uint64_t ack_ms;
    uint64_t silent_ms; /* who has not reported a removal for so long is lost */
    const char *cpus;   /* the head's own (dvm/protocol/map/topo.h); "" or NULL: not known */
};

struct launch *launch_create(const struct launch_opts *o, struct out *out, struct members *members,
                             struct rml *rml);
void launch_destroy(struct launch *l);

/* At every input, before anything of it is handled. */
void launch_turn(struct launch *l);
/* After every input: takes the steps that are due. Then the core broadcasts the operations that
 * launch_next_op() gives (op number filled in; the caller frees it) until there are none. */
void launch_run(struct launch *l);
bool launch_next_op(struct launch *l, struct msg *op);
uint64_t launch_deadline(const struct launch *l);
/* The head itself has applied an operation / everybody has processed all up to `version`. */
void launch_applied(struct launch *l, const struct msg *op);
bool launch_completed(struct launch *l, uint64_t version); /* true: news, launch_run() again */

/* A daemon calls home and tells its CPUs. 0: admitted, *epoch is its new life; -1: err says why not
 * now; if because the vpid is live, *epoch is that life, which launch_lost() ends once the caller
 * is known to be no late frame; else none. */
int launch_admit(struct launch *l, const struct msg_member *facts, const char *cpus,
                 struct epoch *epoch, struct err *err);
/* An admitted daemon's connection ended before it was wired. */
void launch_joiner_gone(struct launch *l, uint32_t vpid, struct epoch epoch);
/* True if this daemon was admitted in this life and waits to be wired. */
bool launch_joining(const struct launch *l, uint32_t vpid, struct epoch epoch);
/* True once after admissions were taken back: whoever waits on a connection has to be told. */
bool launch_turned_away(struct launch *l);
/* A member in this life is gone for good: broadcast it (several at once are one operation). */
void launch_lost(struct launch *l, uint32_t vpid, struct epoch epoch, const char *why);
/* A target of a shrink has processed the command / its link is gone. */
void launch_left(struct launch *l, uint32_t vpid, struct epoch epoch);
void launch_gone(struct launch *l, uint32_t vpid, struct epoch epoch);
/* A message that is for the head (dvm/protocol/wire/msg.h). */
void launch_msg(struct launch *l, uint32_t from, struct msg *m);

/* The map of a job that has been sent to its daemons and is not over (borrowed), else NULL; `vpid`
 * asks and will be told its end like them. */
const struct job_launch *launch_job_watch(struct launch *l, const char *nspace, uint32_t vpid);

/* Adds the daemons with this rank (or JOB_RANK_ALL) of the running job; NULL: of any. */
void launch_daemons_of(const struct launch *l, const char *nspace, uint32_t rank,
                       hwloc_bitmap_t to);

struct launch_rank {
    int pid;  /* 0: not started */
    int exit; /* wait status when it has ended */
};
/* The ranks of a job that is mapped and not over: enum proc_state and facts of each (borrowed).
 * NULL: no such job. */
const struct job_launch *launch_job_ranks(const struct launch *l, const char *nspace,
                                          const int **state, const struct launch_rank **facts);

int launch_campaign_put(struct launch *l, const char *id, const struct api_campaign_request *r,
                        struct api_campaign *out, const char **reason, struct err *err);
int launch_campaign_cancel(struct launch *l, const char *id, struct api_campaign *out,
                           const char **reason, struct err *err);
int launch_campaign_get(struct launch *l, const char *id, struct api_campaign *out,
                        const char **reason, struct err *err);
/* SIGTERM and SIGINT end the job (with a grace), SIGKILL kills it, others are passed to its ranks.
 */
int launch_signal_put(struct launch *l, const char *nspace, int signum, const char **reason,
                      struct err *err);
/* Ranks that stand still for a debugger go on, and those to come do not stop. */
int launch_continue_put(struct launch *l, const char *nspace, const char **reason, struct err *err);
int launch_size_put(struct launch *l, const struct api_size *s, struct api_size *out,
                    const char **reason, struct err *err);
/* Ends jobs at the deadline, then the DVM or this incarnation; again: the nearer deadline counts.
 */
void launch_shutdown(struct launch *l, enum shutdown_why why, int64_t deadline_s);
bool launch_ending(const struct launch *l);
bool launch_ended(const struct launch *l); /* everybody has processed the shutdown */
void launch_view(const struct launch *l, struct api_dvm *out);
const struct api_event *launch_event(const struct launch *l, uint64_t number);
uint64_t launch_event_next(const struct launch *l);

struct launch_stats {
    uint64_t jobs_started, jobs_ended, held_map, held_launch, remapped;
};
struct launch_stats launch_stats(const struct launch *l);

#endif
