/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a job, shared by the files of this folder only. */
#ifndef DVM_HEAD_JOBS_JOB_PRIVATE_H
#define DVM_HEAD_JOBS_JOB_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/protocol/head/jobs/job.h"
#include "dvm/protocol/map/map.h"
#include "dvm/protocol/wire/exit_code.h"

#define JOB_QUEUE_PASSES_MAX 16

enum job_held { JOB_NOT_HELD, JOB_HELD_MAP, JOB_HELD_LAUNCH };

struct job_daemon { /* a node of the map */
    bool sent;      /* the launch is on its way there, or arrived */
    bool registered;
    bool ready;        /* has the job's files, and has found that its ranks can start */
    bool settled;      /* all its ranks that are to stop have stopped or have ended */
    bool drained;      /* its ranks are ended for a shrink; the others go on */
    uint32_t nstopped; /* ranks that are stopped for a debugger */
};

struct job_wait { /* what a daemon says that the ranks there wait for */
    uint32_t vpid;
    char *text;
};
#define JOB_WAITS_MAX 8

struct job {
    /* Number, submitter, specification, map, progress, state and result (borrowed). The daemon and
     * client that submitted it are notified of acceptance, states and end. Its output goes to the
     * home in `map`. A spawned job has the home of its parent. */
    const struct job_entry *kept;
    enum job_held held;
    struct job_launch map; /* nspace, spec, the map while mapped; the lists are those of `kept` */
    bool mapped;
    bool queued; /* waits for slots */
    bool ended_told;
    bool due;             /* its next step is due, */
    uint64_t not_in_turn; /* but not in this turn */
    uint64_t held_ms;     /* since when it is held without a step; 0: it is not held */
    uint64_t kin_mark;    /* the last mark of job_family_mark() */
    bool starts;          /* for the time of job_queue_in_circle(): it fits some time */
    uint32_t nchildren;   /* jobs that its ranks have spawned and that have not ended */
    size_t nwatchers;     /* daemons beside its own that are notified of its end */
    uint32_t *watchers;
    struct job_rank *ranks;     /* [map.nranks] */
    struct job_daemon *daemons; /* [map.nnodes] */
    char *table;                /* the map for the submitter, or NULL */
    bool started;               /* its ranks got their start, after all daemons were ready */
    uint32_t nrunning, nnodes_registered;
    uint32_t nnodes_stop,
        nnodes_settled; /* with ranks that are to stop; nodes where all of them have */
    bool stops;         /* some rank is to stop for a debugger */
    bool continued;     /* none is to stop any more */
    uint64_t nstopped;  /* ranks that are stopped for a debugger */
    uint32_t passed;    /* times that later jobs have passed it, while it waited for slots */
    size_t nnews;       /* ranks whose end has not been reported to others yet */
    struct msg_rank *news;
    uint64_t told_ms; /* time of the last report to others */
    char *reason;
    size_t nwaits;
    struct job_wait waits[JOB_WAITS_MAX]; /* the longest first */
    bool timed_out;                       /* its time limit has passed, and it was ended for that */
    bool unexplained; /* a former head was ending it, and why is not known yet */
    UT_hash_handle hh;
    struct job *next, *prev;
};

struct job_stuck { /* whether the first job that waits is stuck; the same for each job behind it */
    uint64_t number; /* of the first job; 0: not known */
    uint64_t changes;
    bool stuck;
};

struct job_notified { /* its submitter is notified of its end, and has not acknowledged it */
    const struct job_entry *kept;
    struct job_past *past; /* its end, as the history will have it */
    uint64_t seq;          /* of the stream to the submitter's daemon: DONE, or a later message */
    struct job_notified *next, *prev;
};

struct jobs {
    struct out *out;
    struct members *members;
    struct rml *rml;
    const struct incarnation *inc;
    const struct size_bound *bound;
    const struct roster *roster;
    struct cpu_ledger *ledger;
    struct job_table *table;
    struct published *published;
    uint64_t report_ms; /* struct jobs_uses */
    struct slots slots;
    struct jobs_resize resize;
    struct job *list; /* in order of submission */
    struct job *by_nspace;
    size_t n;
    struct job_notified *notified; /* in the order of their ends */
    size_t nnotified;
    uint64_t inherited; /* number of the last job of the former head; 0: there was none */
    bool lacking;       /* the records of the former head may lack its last ones */
    uint64_t turn;      /* inputs so far */
    uint64_t kin_mark;
    uint64_t changes;
    bool kick; /* slots may have become free, and the jobs that wait have not been tried since */
    bool news; /* some job has ends of ranks to report */
    struct job_stuck stuck;
    struct job_adoption *adoption; /* NULL: no job is adopted any more */
    struct jobs_stats stats;
};

/* job.c: the record itself */
char *job_name(const struct jobs *js, uint64_t number); /* its namespace; the caller frees it */
struct job *job_append(struct jobs *js, const struct job_entry *kept); /* at the end of the list */
void job_free(struct job *j);
void job_forget_map(struct job *j);
/* Sends a message to the daemon whose client submitted the job. */
/* Whether the job goes on with the next process of the head, at which its client was: a detached
 * job that needs nothing more of that client. */
bool job_entry_follows_head(const struct job_entry *e);
void job_tell(struct jobs *js, const struct job *j, const struct msg *m);
void job_tell_state(struct jobs *js, const struct job *j);
void job_tell_waits(struct jobs *js,
                    const struct job *j); /* its state again, with what it waits for */
void job_tell_started(struct jobs *js, const struct job *j); /* again: input can go */
/* Before DONE: nothing of the job ran, and its prun may submit it at another daemon. */
void job_tell_given_back(struct jobs *js, const struct job *j);
bool job_was_given_back(int failure, int exit_code);
bool job_judged(const struct job *j); /* it fits the DVM, or fits after grows: it may wait */
void job_set_reason(struct job *j, const char *text);
void job_step(struct jobs *js, struct job *j, enum job_event ev); /* the one setter of the state */
bool job_node_current(const struct jobs *js, const struct job_node *n);
/* Its launch is decided: it can no longer be mapped anew. */
bool job_sent(const struct job *j);
bool job_node_gone(const struct job *j, size_t node); /* nothing of the job is left there */
uint64_t
job_deadline(const struct job *j); /* when it is to be ended for its time limit; 0: never */
/* job_family.c: jobs that ranks of other jobs have spawned */
struct job *job_family_parent(const struct jobs *js, const struct job_spec *s); /* or NULL */
void job_family_join(struct job *j, struct job *parent); /* a new job; parent: NULL: none */
bool job_family_is_child(const struct job *j, const struct job *parent);
/* The job has ended. Its parent, if the parent has waited for it and is to be notified now, or
 * NULL. */
struct job *job_family_left(struct jobs *js, const struct job *j);
/* Marks the jobs that cannot end before `j` has started, or before any job without a map has: their
 * ancestors, which hold slots. Returns the mark; 0: there is no such job. */
uint64_t job_family_mark(struct jobs *js, const struct job *j);
uint64_t job_family_mark_waiting(struct jobs *js, bool but_starting); /* of some: job->starts */
bool job_family_waits(const struct jobs *js, const struct job *j); /* a spawned job without a map */
/* job_news.c: ends of ranks that are reported to others while their job has not failed */
void job_news_add(struct jobs *js, struct job *j, uint32_t rank, int status, enum rank_how how);
/* Whether the job continues when some of its ranks fail. */
bool job_news_goes_on(const struct job *j);
/* The reason of a job that neither waits nor has failed: its losses, or nothing. */
void job_news_as_reason(struct job *j);
void job_news_send(struct jobs *js, struct job *j); /* now */
void job_news_steps(struct jobs *js);
uint64_t job_news_next_deadline(const struct jobs *js);
/* job_succession.c: true if the former head has accepted this client's job */
bool job_inherited(const struct jobs *js, uint32_t from, uint32_t client);
void job_succeed(void *jobs, const struct job_entry *e); /* a job of a former head goes on */
void job_end_there(struct jobs *js, uint32_t from, const char *nspace, int exit_code);
/* job_adoption.c */
void job_adoption_begin(struct jobs *js);
void job_adoption_free(struct jobs *js);
uint64_t job_adoption_next_deadline(const struct jobs *js);
/* False: the report does not matter, since the job is not adopted in any case. */
bool job_adoption_report(struct jobs *js, uint32_t from, const struct job_launch *l);
/* The client's job was reported and not adopted: it is notified why. False: there is no such job.
 */
bool job_adoption_answers(struct jobs *js, uint32_t from, uint32_t client, const char *nspace);
/* The same; its client does not know the name. What another client is to run is not forged. */
bool job_adoption_answers_submit(struct jobs *js, uint32_t from, const struct msg_submit *m);
/* job_slots.c */
void job_slots_take(struct jobs *js, struct job *j, uint32_t rank);
void job_slots_give(struct jobs *js, struct job *j, uint32_t rank);
uint64_t job_slots_held(const struct job *j);
/* job_send.c */
void job_show_map(struct jobs *js, struct job *j);
/* job_queue.c */
struct job *job_queue_before(const struct jobs *js, const struct job *j); /* the first that waits */
bool job_queue_may_pass(struct jobs *js, const struct job *first, const struct job *j);
void job_queue_mapped(struct jobs *js, const struct job *j);
/* job_waits.c */
const char *job_waits_text(const struct job *j); /* "": the job waits for nothing */
void job_waits_node_gone(struct jobs *js, struct job *j, uint32_t vpid);
void job_waits_free(struct job *j);
/* job_debug_stop.c */
void job_debug_stop_prepare(struct job *j);                /* it has been mapped */
void job_debug_stop_check(struct jobs *js, struct job *j); /* it may be READY_FOR_DEBUG now */
void job_debug_stop_node_over(struct jobs *js, struct job *j, int node);
/* job_fail.c */
/* The job has failed already, by its ranks. This cause explains that failure: it becomes the job's
 * exit code and the beginning of its text. The code of a recoverable job that is not strict stays.
 */
void job_fail_explained(struct jobs *js, struct job *j, int exit_code, const char *cause);
void job_fail_with_parent(struct jobs *js, struct job *j, const struct job *parent);
void job_fail_deadlines(struct jobs *js);
/* To the ranks: a signal (grace_ms: -1), or SIGTERM and after the grace SIGKILL. */
void job_fail_kill(struct jobs *js, struct job *j, int signum, int64_t grace_ms);
/* job_ready.c */
void job_ready_begin(struct jobs *js, struct job *j);
void job_ready_check(struct jobs *js, struct job *j); /* a daemon is ready, or has departed */
/* job_report.c */
void job_lose_node(struct jobs *js, struct job *j, int node, const char *why);
/* job_map.c */
/* Whether all members that a new job names are there: if not, it ends, or waits for a grow. */
void job_hosts_check(struct jobs *js, struct job *j);
/* The vpids that the job names and that are no members now, for a message, and their number. On the
 * heap; NULL: there are none. */
char *job_hosts_absent(const struct jobs *js, const struct job *j, size_t *n);
void job_map_now(struct jobs *js, struct job *j);
void job_map_take(struct jobs *js, struct job *j); /* the map of its entry, with the slots */
void job_map_drop(struct jobs *js, struct job *j);
void job_map_anew(struct jobs *js, struct job *j);
bool job_map_stale(const struct jobs *js, const struct job *j);
bool job_map_fits(const struct jobs *js, const struct job *j); /* now */
/* An earlier job waits for slots: this one waits too, unless it can never fit or must not wait. */
void job_map_wait_behind(struct jobs *js, struct job *j, const struct job *first);
/* A job that waits has been judged by the size of the DVM: it fits, or only with the grows that
 * run. Without members it is judged later. */
void job_map_judge(struct jobs *js, struct job *j);
/* Whether the job fits when all jobs but those of the mark (0: none) have ended, or may fit when
 * the members of the present size have come. */
bool job_map_has_hope(const struct jobs *js, const struct job *j, uint64_t mark, uint32_t bound);
/* job_send.c */
void job_send_launch(struct jobs *js, struct job *j);
/* Its launch to one of its nodes; -1 and a reason: it cannot be sent. */
int job_send_node(struct jobs *js, struct job *j, uint32_t node, struct err *err);
/* job_end.c */
void job_end_notify(struct jobs *js, struct job *j);
void job_end_retire(struct jobs *js, struct job *j);
/* Removes the published values of a job that has ended. */
void job_end_values(struct jobs *js, const char *nspace);
/* The end as the submitter is notified of it: its jobs of jobs count. `own`: the text of its own
 * end. The caller frees the text. */
int job_end_code(const struct job_entry *e);
char *job_end_text(const struct job_entry *e, const char *own);
/* job_notified.c */
void job_notified_add(struct jobs *js, const struct job_entry *kept);
/* Forgets those that are acknowledged, or will never be. */
void job_notified_forget(struct jobs *js);
void job_notified_free_all(struct jobs *js);
const struct job_past *job_notified_find(const struct jobs *js, const char *nspace); /* or NULL */
bool job_notified_has(const struct jobs *js, uint32_t from, uint32_t client);
/* False: this daemon asks for no job of the list. */
bool job_notified_answer(struct jobs *js, uint32_t from, const struct msg_client_job *m);
void job_notified_resume(struct jobs *js); /* under a new head */

#endif
