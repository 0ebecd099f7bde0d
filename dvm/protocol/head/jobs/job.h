/* SPDX-License-Identifier: BSD-3-Clause */
/* The jobs of the DVM: submission, queue, map, launch, failure, end. */
#ifndef DVM_HEAD_JOBS_JOB_H
#define DVM_HEAD_JOBS_JOB_H

#include "api/dvm.h"
#include "api/reason.h"
#include "dvm/protocol/head/jobs/job_table.h"
#include "dvm/protocol/head/journal/incarnation.h"
#include "dvm/protocol/head/members/roster.h"
#include "dvm/protocol/head/members/size_bound.h"
#include "dvm/protocol/head/members/slots.h"
#include "dvm/protocol/head/published/published.h"
#include "dvm/protocol/rml/rml.h"
#include "dvm/protocol/state/state.h"

#include <hwloc/bitmap.h>

#define JOB_COUNT_MAX 100000 /* running, held and queued */
#define JOB_NOTIFIED_MAX 256 /* ended, and the submitter's daemon has not acknowledged it */
#define JOB_GRACE_MS 2000    /* SIGTERM to SIGKILL of ranks */
/* A job that is held for so long has priority over everything that would raise the fence: new
 * campaigns and joiners wait for it (losses do not). Resizes that run by then still end first,
 * and each silent daemon can delay the job by the time after which it is declared lost. */
#define JOB_HELD_MAX_MS 30000

struct jobs;
struct job;

/* Questions of jobs to the resize module. Jobs know nothing else of it. */
struct jobs_resize {
    const void *arg;
    bool (*fence_raised)(const void *arg);  /* no job may be mapped */
    bool (*members_leave)(const void *arg); /* a shrink is removing members: no job may be sent */
    /* Whether a job that does not fit now will fit after the grows that run. */
    bool (*grow_will_do)(const void *arg, const struct job *j);
};

struct jobs_uses { /* borrowed */
    struct out *out;
    struct members *members;
    struct rml *rml;
    const struct incarnation *inc;
    const struct size_bound *bound;
    const struct roster *roster;
    struct cpu_ledger *ledger;
    struct job_table *table;
    struct published *published;
    uint64_t report_ms; /* a new head without records waits so long for members' jobs */
};

struct jobs *jobs_create(const struct jobs_uses *uses);
void jobs_destroy(struct jobs *js);
/* Before the first input. */
void jobs_ask_resize(struct jobs *js, const struct jobs_resize *resize);
/* At every input, before any part of it is handled. */
void jobs_turn(struct jobs *js);
/* After every input: takes the steps that are due. */
void jobs_steps(struct jobs *js);
uint64_t jobs_next_deadline(const struct jobs *js); /* UINT64_MAX: none */
/* Slots may have become free, or the DVM has another size: jobs that wait are tried again. */
void jobs_kick(struct jobs *js);
/* The job is spawned, and all slots that it could get in a DVM of `bound` members are held by jobs
 * that wait for this one, or for other spawned jobs that could get none either. */
bool job_queue_in_circle(struct jobs *js, const struct job *j, uint32_t bound);
/* The fence is down: held jobs continue, or are mapped anew. */
void jobs_release_held(struct jobs *js);
/* A job has been held for JOB_HELD_MAX_MS, or it is not known yet which jobs run. */
bool jobs_held_long(const struct jobs *js);
/* Number of changes of states, maps and daemons of jobs so far, plus 1. */
uint64_t jobs_changes(const struct jobs *js);
/* The daemon has acknowledged all messages about jobs. */
bool jobs_acknowledged_by(const struct jobs *js, uint32_t vpid);
size_t jobs_notified(const struct jobs *js); /* ended ones; their ends are not acknowledged */
size_t jobs_count(const struct jobs *js);

/* Messages of daemons. Reports of daemons that are not the job's, or about ended jobs, change
 * nothing. */
void job_submit(struct jobs *js, uint32_t from, const struct msg_submit *m); /* copies */
void job_signal(struct jobs *js, const struct msg_signal *m);
void job_launched(struct jobs *js, uint32_t from, const struct msg_ranks *m);
void job_registered(struct jobs *js, uint32_t from, const struct msg_job_name *m);
void job_exited(struct jobs *js, uint32_t from, const struct msg_ranks *m);
void job_local_gone(struct jobs *js, uint32_t from, const struct msg_local_gone *m);
void job_aborted(struct jobs *js, uint32_t from, const struct msg_abort *m);
void job_ready_report(struct jobs *js, uint32_t from, const struct msg_job_name *m);
void job_ready_no_files(struct jobs *js, uint32_t from, const struct msg_no_files *m);
void job_debug_stop_report(struct jobs *js, uint32_t from, const struct msg_held *m);
void job_debug_stop_continue(struct jobs *js, const struct msg_continue *m);
/* The text of that daemon about a wait of its ranks of the job; "": they do not wait. Dropped if
 * the daemon has no ranks of the job. */
void job_waits_report(struct jobs *js, uint32_t from, const char *nspace, const char *text);
/* A daemon asks about its client's job, or reports ranks of a job: after a change of the head. */
void job_asked(struct jobs *js, uint32_t from, const struct msg_client_job *m);
void job_reported(struct jobs *js, uint32_t from, const struct job_launch *l);
/* All records were lost: members report the jobs that run (job_adoption.c). Until these are known,
 * messages about jobs wait. False: the message does not. */
bool job_adoption_defers(struct jobs *js, uint32_t from, const struct msg *m);
bool job_adoption_waits(const struct jobs *js);                 /* these jobs are not known yet */
void job_adoption_reported_all(struct jobs *js, uint32_t from); /* the member's jobs are known */
/* More is kept than the bound: that of this member, which has the most, is dropped. It is to be
 * declared lost. */
bool job_adoption_overflows(struct jobs *js, uint32_t *vpid);
void job_adoption_steps(struct jobs *js); /* before all others */
/* The next message that has waited; the caller frees it. False: there is none any more. */
bool job_adoption_next(struct jobs *js, uint32_t *from, struct msg *m);
/* A client of the former head's process whose job is not forgotten. */
struct job_client {
    uint32_t id;
    bool stays;       /* its job is detached: it goes on, with this process as its submitter */
    const char *name; /* of the job */
    size_t nended;    /* daemons whose output for it has ended */
    const uint32_t *ended;
};
/* The records' clients, before jobs_succeed(). */
void jobs_each_client(const struct jobs *js, void (*on)(void *arg, const struct job_client *k),
                      void *arg);
/* This process is the head now, and the table of jobs is that of the former one. */
void jobs_succeed(struct jobs *js);
/* Then: their daemons get what they may have missed. lacking: the records may lack ends of jobs. */
void jobs_resume(struct jobs *js, bool lacking);
/* Verbs of the control API: -1, an HTTP status in err, and a word in *reason. */
int job_signal_put(struct jobs *js, const char *nspace, int signum, enum api_reason *reason,
                   struct err *err) __attribute__((warn_unused_result));
int job_continue_put(struct jobs *js, const char *nspace, enum api_reason *reason, struct err *err)
    __attribute__((warn_unused_result));

/* A member is lost. why: the cause; NULL or "" if it is not known. */
void job_daemon_lost(struct jobs *js, uint32_t vpid, struct epoch epoch, const char *why);
/* A member is removed or lost, and so are its clients that have submitted jobs: these end, as lost
 * or as cancelled. Detached jobs of clients at the head go on when that has another process. */
void job_home_gone(struct jobs *js, uint32_t vpid, struct epoch epoch, bool lost);
/* The daemon of the job's prun leaves. A job of which nothing was sent to its daemons ends, and its
 * submitter's daemon is notified that prun may submit it elsewhere. False: the job is none of
 * these, or no prun waits for it. */
bool job_give_back(struct jobs *js, struct job *j);
/* The first failure decides code and text. The other ranks are ended, and the job has ended when
 * all its ranks have. */
void job_fail(struct jobs *js, struct job *j, enum job_event how, int exit_code, const char *fmt,
              ...) __attribute__((format(printf, 5, 6)));

/* In order of submission; NULL: the last was before. The loop's body may fail jobs. */
struct job *jobs_first(const struct jobs *js);
struct job *job_next(const struct job *j);
struct job *jobs_find(const struct jobs *js, const char *nspace);
/* True if there was such a job, and its daemons have been notified of its end. */
bool jobs_has_ended(const struct jobs *js, const char *nspace);
const struct job_launch *job_map(const struct job *j); /* borrowed; nnodes 0: not mapped */
bool job_mapped(const struct job *j);
bool job_running(const struct job *j);  /* its launch was sent, and it has not ended */
bool job_failing(const struct job *j);  /* its end is decided */
bool job_outlives(const struct job *j); /* it runs, and goes on when some of its ranks are lost */
/* Ends the ranks of a job that outlives them on one node: they are lost. False: that has begun
 * before, or nothing of the job is there. */
bool job_drain_node(struct jobs *js, struct job *j, size_t node);
/* Something of the job is, or may be, on this daemon of its map. */
bool job_on_node(const struct job *j, size_t node);
bool job_rank_running(const struct job *j, uint32_t rank);
struct msg_target job_submitter(const struct job *j);
uint64_t job_slots_wanted(const struct job *j);
/* It was accepted only because of a running grow that it needs. */
bool job_needs_grow(const struct job *j);
void job_clear_needs_grow(struct jobs *js, struct job *j);

struct job_rank {
    int state;            /* enum proc_state */
    int pid;              /* 0: not started */
    int exit;             /* wait status when it has ended */
    bool has_slots;       /* of its node; map_rank_slots() gives their number */
    hwloc_bitmap_t taken; /* the hardware threads that it has (borrowed); NULL: none */
};
/* The map and the ranks of a job that is mapped and has not ended (borrowed). NULL: no such job. */
const struct job_launch *job_ranks(const struct jobs *js, const char *nspace,
                                   const struct job_rank **ranks);
/* The map of a job that has been sent to its daemons and has not ended (borrowed), else NULL.
 * The daemon `vpid` will be notified of its end like the job's daemons. */
const struct job_launch *job_watch(struct jobs *js, const char *nspace, uint32_t vpid);
/* Whether a process of the job `asker` on the daemon `from`, or a tool of that name, may control
 * the job `target`. A job controls its family: the jobs that it, its parent or its children have
 * spawned, and so on. A tool controls all jobs. */
enum job_control { JOB_CONTROL_GIVEN, JOB_CONTROL_REFUSED, JOB_CONTROL_UNKNOWN };
enum job_control job_family_control(const struct jobs *js, uint32_t from, const char *asker,
                                    const char *target);
/* Adds the daemons with this rank (or JOB_RANK_ALL) of the running job. NULL: of any job. */
void job_daemons_of(const struct jobs *js, const char *nspace, uint32_t rank, hwloc_bitmap_t to);

/* For checkers of invariants; everything is borrowed and valid during the call only. */
struct job_look {
    const char *nspace;
    const char *reason;
    int state;
    int exit_code;
    enum job_event failure; /* the first one; 0: none */
    const struct job_spec *spec;
    bool mapped, sent, queued;
    uint32_t home_vpid;
    uint64_t wants;  /* slots */
    uint32_t nranks; /* 0 while not mapped */
    size_t nnodes;
    const struct job_node *nodes;
    const uint32_t *rank_node;
    const struct job_rank *ranks;
};
void jobs_each(const struct jobs *js, void (*on)(void *arg, const struct job_look *j), void *arg);
/* The name of a job that waits for slots and would be mapped if it were tried now, although nothing
 * is about to try it. NULL: there is none, or the fence is up. */
const char *jobs_overlooked(struct jobs *js);

struct jobs_stats {
    uint64_t started, ended;
    uint64_t held_map, held_launch, remapped;
};
struct jobs_stats jobs_stats(const struct jobs *js);
/* Running jobs that the end of the head's process would end: if its records are kept elsewhere,
 * those with their client or a rank at the head, otherwise all. */
uint32_t jobs_bound(const struct jobs *js, bool kept);
/* Ended jobs, then the others. The caller frees the list. */
void jobs_view(const struct jobs *js, struct api_dvm *out);

#endif
