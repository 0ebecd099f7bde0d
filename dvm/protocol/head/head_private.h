/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's records, shared by the files of this directory only. */
#ifndef DVM_HEAD_HEAD_PRIVATE_H
#define DVM_HEAD_HEAD_PRIVATE_H

#include "dvm/protocol/head/head.h"
#include "dvm/protocol/map/map.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/alloc.h"
#include "dvm/protocol/wire/exit_code.h"

#include <uthash.h>

#define RELEASE_PREFIX "release-"
#define ALLOC_PREFIX "alloc-"
#define FENCE_NAME_MAX 192

enum parked_at { PARKED_NONE, PARKED_MAP, PARKED_LAUNCH };

struct job {
    uint64_t number;
    int state;
    enum parked_at parked;
    struct job_launch map; /* nspace, spec, and the map while mapped */
    bool mapped;
    bool sent;       /* launch messages have gone out: it can no longer be remapped */
    bool queued;     /* waits for slots */
    bool checked;    /* it fitted the maximum when it was submitted, */
    bool needs_grow; /* but only by grows that ran then */
    bool ended_told;
    bool due;             /* has a step to take, */
    uint64_t not_in_turn; /* but not in this one */
    uint64_t parked_ms;   /* since when it is held and has not gone on; 0: it is not */
    /* Whom acceptance, states and end are told: the daemon and client that submitted it. Its output
     * goes to the home in `map`, which is that of its parent for a job that a rank has spawned. */
    uint32_t submit_vpid, submit_client;
    struct epoch submit_epoch;
    enum job_level bind; /* what the ranks that hold CPUs of their own are bound to */
    uint32_t nchildren;  /* jobs that its ranks have spawned and that are not over */
    bool adopted;        /* its parent was there when it came, and counts it */
    char *kin_text;      /* of those and theirs, the end of the first that failed; NULL: none has */
    int kin_code;
    size_t nwatchers; /* daemons beside its own that are told its end */
    uint32_t *watchers;
    int *rank_state;               /* [nranks] enum proc_state */
    struct rank_facts *rank_facts; /* [nranks] */
    bool *rank_slot; /* [nranks] holds slots of its node, as many as map_rank_slots() says */
    hwloc_bitmap_t *rank_taken; /* [nranks] hardware threads that it holds; NULL: none */
    char *note;                 /* why ranks are not bound, or NULL */
    char *table;                /* the map for the submitter, or NULL */
    bool *node_sent;            /* [nnodes] the launch is on its way there, or arrived */
    bool *node_gone;            /* [nnodes] nothing of it is left there */
    bool *node_registered;
    bool *node_ready; /* [nnodes] has the job's files */
    bool started;     /* its ranks were told to start, when all had */
    uint32_t nrunning, nnodes_gone, nnodes_registered;
    uint32_t nnodes_stop, nnodes_settled; /* with ranks that are to stop; where they have */
    uint64_t nstopped;                    /* ranks that stand still for a debugger */
    uint32_t *node_nstopped;              /* [nnodes] of them; NULL: none is to stop */
    bool *node_settled;
    bool continued;         /* none is to stop any more */
    enum job_event failure; /* 0: none; how it will end */
    int exit_code;
    /* Ranks that failed while the others go on (JOB_RECOVERABLE); of these the lost ones: ended by
     * a signal or with their daemon. */
    uint32_t nbad, nlost, nlosses;
    int first_code, own_code; /* of the first of all; of the first that exited by itself */
    char *losses;             /* the first ones by name, or NULL */
    size_t nnews;             /* ranks whose end is still to be told to others */
    struct msg_rank *news;
    uint64_t told_ms; /* when others were told last; 0: never */
    uint32_t passed;  /* by later jobs, while it waited for slots */
    char *reason;
    uint64_t deadline_ms; /* 0: none */
    UT_hash_handle hh;
    struct job *next, *prev;
};

struct target {
    struct msg_target id; /* epoch none: the vpid was not there */
    bool added;           /* by this grow */
    bool out;             /* processed the command, or was lost */
    bool departed;
    bool offered;      /* its node, by another campaign, for the same life, */
    struct epoch life; /* the last when this one removes; none: nobody has been there */
};

struct asker {    /* a process that asked for a campaign by PMIx, and what it said */
    char *nspace; /* NULL: nobody did */
    uint32_t rank;
    bool is_rank; /* of a job; else a tool */
    struct msg_target daemon;
    char *req_id; /* its own, "": none */
    char *of;     /* the allocation that it named, "": none */
    enum alloc_kind kind;
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
    struct target *targets; /* by vpid, ascending */
    uint64_t size_sequence; /* of the size message in force when it was accepted */
    uint64_t op;            /* the broadcast, 0: not yet */
    uint64_t deadline_ms;   /* of the drain; 0: none */
    uint64_t ack_by_ms;     /* while removing */
    char *cause;            /* of a grow that fails */
    enum alloc_status why;  /* the same, and of a cancelled one, for the asker */
    bool told_jobs;         /* drain has ended the jobs already */
    uint64_t drain_looked;  /* l->job_changes when it was seen for how many jobs it waits */
    size_t drain_waits;
    size_t nended;
    struct api_job_ref *ended;
    int64_t accepted_wall, drained_wall, fence_wall, complete_wall;
    struct campaign *next, *prev;
};

struct fence_share {
    char *name;
    uint32_t count;
    struct fence_share *next, *prev;
};

struct pending_op {
    struct msg msg;
    bool urgent;
    struct campaign *campaign;
    struct pending_op *next, *prev;
};

struct history {
    struct api_dvm_job job;
    struct history *next, *prev;
};

struct release_request { /* daemons that asked for their own release within the window */
    struct msg_target id;
    int64_t seconds;
    enum api_drain_mode mode;
    struct release_request *next, *prev;
};

struct liveness {    /* who has not reported a removal (liveness.c) */
    uint64_t op;     /* that removal, */
    uint64_t due_ms; /* and by when; 0: none is waited for */
    uint64_t last_op;
    uint64_t *heard; /* [n] by vpid: the last that it reported */
    uint32_t n;
};

struct head {
    struct head_opts opts;
    char *cluster;
    char incarnation[17];
    struct out *out;
    struct members *members;
    struct rml *rml;
    struct job *jobs; /* in order of submission */
    struct job *by_nspace;
    size_t njobs;
    struct cpus_kind *cpus_kinds; /* by text */
    struct cpu_account *cpus;     /* [ncpus] by vpid */
    uint32_t ncpus;
    uint32_t fence; /* the sum of the holds */
    struct history *history;
    size_t nhistory;
    struct campaign *campaigns;
    size_t ncampaigns;
    struct fence_share *fence_shares;
    struct pending_op *ops;
    uint64_t last_op, complete;
    uint64_t normal_op;
    uint64_t grow_op; /* the ADD that is on its way; 0: none */
    uint64_t batches; /* of joiners so far */
    uint64_t next_job, next_epoch, next_release, next_alloc;
    uint64_t size_sequence, campaign_sequence;
    uint32_t size, bound;
    struct api_size_limits limits; /* of what applications may ask for */
    uint32_t base;                 /* bound by the size and by campaigns that are forgotten since */
    struct joiner *join_backoff;   /* of vpids admitted not long ago */
    struct liveness liveness;
    struct release_request *releases;
    uint64_t release_at;
    uint64_t turn; /* inputs so far */
    /* Of states, maps and daemons of jobs so far, and 1: what drains wait for may be another. */
    uint64_t job_changes;
    bool normal_running; /* a non-urgent operation is on its way */
    bool kick;           /* slots may have become free */
    bool news;           /* some job has ranks whose end is to be told */
    bool turned_away;    /* an admission was taken back: the core has to tell */
    bool ending, ended, end_sent;
    enum shutdown_why ending_why;
    uint64_t ending_at;
    uint64_t end_op;
    struct api_event *events; /* ring of API_EVENTS_KEPT */
    uint64_t next_event;
    struct head_stats stats;
};

/* job.c */
struct job *head_job_find(const struct head *l, const char *nspace);
void job_submit(struct head *l, uint32_t from, struct msg *m);
void job_event(struct head *l, struct job *j, enum job_event ev);
void job_steps(struct head *l);
void job_release_parked(struct head *l);
void job_unmap(struct head *l, struct job *j);
/* A rank gives back what it holds of its node, exactly as it was taken. */
void job_give_back(struct head *l, struct job *j, uint32_t rank);
uint64_t job_slots_wanted(const struct job *j);
/* Slots of a DVM of `bound` members if everybody were here; 0: nobody has come yet to judge by. */
uint64_t job_maximum_slots(const struct head *l, uint32_t bound);
void job_free(struct job *j);
void job_tell(struct head *l, const struct job *j, struct msg *m);
/* job_family.c: jobs that were spawned by ranks of another */
void job_family_join(struct head *l, struct job *j);
void job_family_end_children(struct head *l, const struct job *parent);
void job_family_end(struct head *l, struct job *parent, int code, const char *why);
void job_family_left(struct head *l, const struct job *j);
/* cpu_ledger.c. A daemon (in a new life) has told its host and its CPUs; "" or NULL: none. */
int cpu_ledger_put(struct head *l, uint32_t vpid, const char *host, const char *text,
                   struct err *err) __attribute__((warn_unused_result));
const char *cpu_ledger_host(const struct head *l, uint32_t vpid);
const struct topo *cpu_ledger_topo(const struct head *l, uint32_t vpid);
const uint16_t *cpu_ledger_load(const struct head *l, uint32_t vpid);
void cpu_ledger_take(struct head *l, uint32_t vpid, hwloc_const_bitmap_t pus);
void cpu_ledger_give(struct head *l, uint32_t vpid, hwloc_const_bitmap_t pus);
void cpu_ledger_free_all(struct head *l);
/* job_queue.c */
#define JOB_QUEUE_PASSES_MAX 16
struct job *job_queue_before(const struct head *l, const struct job *j); /* the first that waits */
bool job_queue_may_pass(const struct head *l, const struct job *first, const struct job *j);
void job_queue_mapped(struct head *l, const struct job *j);
/* job_end.c */
void job_fail(struct head *l, struct job *j, enum job_event how, int exit_code, const char *fmt,
              ...) __attribute__((format(printf, 5, 6)));
void job_launched(struct head *l, uint32_t from, const struct msg *m);
void job_registered(struct head *l, uint32_t from, const struct msg *m);
void job_exited(struct head *l, uint32_t from, const struct msg *m);
/* debug_stop.c: ranks that stop for a debugger */
void debug_stop_prepare(struct job *j); /* it has been mapped */
void debug_stop_forget(struct job *j);
void debug_stop_check(struct head *l, struct job *j); /* it may be READY_FOR_DEBUG now */
void debug_stop_node_over(struct head *l, struct job *j, int node);
void debug_stop_report(struct head *l, uint32_t from, const struct msg *m);
void debug_stop_continue(struct head *l, const struct msg *m);
void job_local_gone(struct head *l, uint32_t from, const struct msg *m);
void job_aborted(struct head *l, uint32_t from, const struct msg *m);
void job_signal(struct head *l, const struct msg *m);
/* It has not had the launch. `why` may be NULL or "", as below. */
void job_lose_node(struct head *l, struct job *j, int node, const char *why);
void job_daemon_lost(struct head *l, uint32_t vpid, struct epoch epoch, const char *why);
void job_home_gone(struct head *l, uint32_t vpid, struct epoch epoch);
void job_deadlines(struct head *l);
uint64_t job_next_deadline(const struct head *l);
void job_notify(struct head *l, struct job *j);
void job_retire(struct head *l, struct job *j);
/* job_ready.c */
void job_ready_begin(struct head *l, struct job *j);
void job_ready_check(struct head *l, struct job *j); /* a daemon has its files, or is gone */
void job_ready_report(struct head *l, uint32_t from, const struct msg *m);
/* rank_news.c. A rank's end is news for others, while its job has not failed. */
void rank_news_add(struct head *l, struct job *j, uint32_t rank, int status, enum rank_how how);
/* So many ranks of a job that goes on without them. */
void rank_news_outlived(struct job *j, uint32_t nranks, int code, bool lost, const char *text);
void rank_news_tell(struct head *l, struct job *j); /* now */
void rank_news_steps(struct head *l);
uint64_t rank_news_next_deadline(const struct head *l);
/* fence.c */
void fence_raise(struct head *l, const char *name, uint32_t count);
void fence_lower(struct head *l, const char *name);
/* Nothing new may raise the fence: a job has been held for too long. */
bool fence_defers(const struct head *l);
/* The campaign ends without its operation, which has not started. */
void op_drop(struct head *l, const struct campaign *c);
void op_queue(struct head *l, const struct msg *m, bool urgent, struct campaign *c);
/* campaign.c, drain.c */
bool shrink_running(const struct head *l);
/* By a shrink, or by a grow that takes itself back. */
bool campaign_names(const struct head *l, uint32_t vpid);
void campaign_steps(struct head *l);
/* The one setter of its phase, by the table (dvm/protocol/state); a new one drains, or gathers. */
void campaign_enter(struct head *l, struct campaign *c, enum campaign_event ev);
void campaign_op_started(struct head *l, struct campaign *c, uint64_t op);
uint64_t campaign_next_deadline(const struct head *l);
struct campaign *campaign_new(struct head *l, const char *id, const uint32_t *vpids, size_t n);
/* Admission of whatever asks for a resize. `asked`: by the control API or an application, so its
 * sequence counts, its targets have to be the highest, and its end is told; else by daemons for
 * their own release. asker: an application's process, by which it is asked for like that; its
 * content is taken. -1 and a reason: nothing has changed. */
int campaign_admit(struct head *l, const char *id, const struct api_campaign_request *r, bool asked,
                   struct asker *asker, const char **reason, struct err *err)
    __attribute__((warn_unused_result));
struct campaign *campaign_by_id(const struct head *l, const char *id);
/* The fence's hold of a campaign; those of the runtime itself have other names. */
const char *campaign_fence_name(const struct campaign *c, char name[FENCE_NAME_MAX]);
struct target *campaign_target(const struct campaign *c, uint32_t vpid); /* NULL: not named */
void campaign_target_out(struct campaign *c, struct target *t);
/* True if all targets have processed the command, are lost, or have been silent for too long. */
bool campaign_all_out(struct head *l, struct campaign *c);
/* The size in force as the campaigns accepted under it have changed it; settled: without grows that
 * run. */
uint32_t bound_now(const struct head *l, bool settled);
void campaign_free(struct campaign *c);
void campaign_fill(const struct head *l, const struct campaign *c, struct api_campaign *out);
size_t drain_waits(const struct head *l, const struct campaign *c, struct api_job_ref **out);
void drain_end_jobs(struct head *l, struct campaign *c);
void release_ask(struct head *l, uint32_t from, const struct msg *m);
void release_steps(struct head *l);
/* resize_request.c */
void asker_free(struct asker *a);
void resize_request_take(struct head *l, uint32_t from, const struct msg *m);
void resize_request_ended(struct head *l,
                          struct campaign *c); /* its terminal event is being made */
/* grow.c */
void grow_steps(struct head *l);
void grow_completed(struct head *l);
/* True, and its admission is forgotten, if it has called home and no broadcast has named it yet.
 * leave: it is not to call again. */
bool grow_turn_away(struct head *l, uint32_t vpid, bool leave);
/* What has been added counts as wired from now on. */
void grow_wired(struct head *l);
/* grow_atomic.c */
const struct campaign *grow_atomic_claims(const struct head *l, uint32_t vpid);
bool grow_atomic_will_do(const struct head *l, const struct job *j);
int grow_atomic_check(const struct head *l, const struct api_campaign_request *r,
                      const char **reason, struct err *err);
void grow_atomic_accept(struct head *l, struct campaign *c);
void grow_atomic_step(struct head *l, struct campaign *c);
void grow_atomic_cancel(struct head *l, struct campaign *c);
void grow_atomic_fail(struct head *l, struct campaign *c, enum alloc_status why, const char *fmt,
                      ...) __attribute__((format(printf, 4, 5)));
void grow_atomic_give_way(struct head *l, uint32_t highest, const char *why);
/* join_backoff.c */
uint64_t join_backoff_pause(struct head *l, uint32_t vpid);
void join_backoff_admitted(struct head *l, uint32_t vpid);
void join_backoff_forget(struct head *l, uint32_t vpid);
void join_backoff_free(struct head *l);
/* liveness.c */
void liveness_reported(struct head *l, uint32_t vpid, uint64_t op);
void liveness_applied(struct head *l, const struct msg *op);
void liveness_completed(struct head *l);
void liveness_steps(struct head *l);
uint64_t liveness_next_deadline(const struct head *l);
void liveness_free(struct head *l);
/* event.c */
void head_event_add(struct head *l, enum api_event_type type, uint32_t vpid, uint64_t epoch,
                    struct campaign *c);
void member_event(struct head *l, struct member *m, enum member_event ev);
struct member *member_now(const struct head *l, uint32_t vpid, struct epoch epoch);

#endif
