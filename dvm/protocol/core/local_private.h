/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of one job on this daemon, shared by local*.c only. */
#ifndef DVM_CORE_LOCAL_PRIVATE_H
#define DVM_CORE_LOCAL_PRIVATE_H

#include "base/heap/hash.h"
#include "dvm/protocol/core/core_private.h"

/* The marks that a rank here reaches, in any order. */
enum local_mark {
    MARK_READY,      /* the spawner could start it */
    MARK_ATTEMPTED,  /* it runs, or was not started: its start has been reported */
    MARK_REGISTERED, /* it has called PMIx_Init */
    MARK_SETTLED,    /* it was to stop for a debugger, and has stopped once or has ended */
    MARK_FAILED,     /* it was not started */
    MARK_OVER,       /* reaped and its output ended, or not started */
    MARKS
};

/* How far a rank's end is, for the collectives that name it. */
enum rank_ends {
    RANK_RUNS,
    RANK_ENDED, /* its process has ended */
    RANK_LEFT   /* the PMIx server has reported everything of it */
};

struct local_rank {
    uint32_t rank;
    int state;       /* enum proc_state, changed by step_rank() alone */
    int wait_status; /* once it has ended */
    uint8_t how;     /* enum rank_how */
    uint8_t ends;    /* enum rank_ends */
    uint8_t early; /* events that PMIx reported before the spawner did: bits 1 << core_proc_event */
    uint8_t marks; /* bits 1 << local_mark */
    bool stops;    /* for a debugger */
    bool ordered;  /* it has ended after the head had ordered the end of the job here */
    int value;     /* its pid; of a rank that was not started: errno */
    char *text;    /* the step that failed for it, "": none */
};

struct local_stop { /* of ranks that are to stop for a debugger */
    uint32_t nstop; /* ranks that are to stop */
    uint32_t nheld; /* ranks that are stopped now */
    bool told;      /* the head knows that all have stopped */
    bool released;  /* none is to stop any more */
};

struct local_job {
    const struct job_launch *launch; /* shared */
    int state;                       /* enum ranks_state, changed by local_event() alone */
    bool former; /* the head has ended the job: no report about its ranks is sent */
    uint32_t nlocal;
    struct local_rank *ranks; /* [nlocal], by rank */
    uint32_t nmarked[MARKS];  /* how many of them have the mark */
    uint32_t nended;          /* of them, those that do not run any more (enum rank_ends) */
    bool absent; /* a rank that was never a client has ended the job, since others wait for it */
    struct local_stop stop;
    struct msg_abort *abort; /* the first of its ranks here that has aborted it; NULL: none */
    uint64_t output_end;     /* number of the message that ended its output */
    UT_hash_handle hh;       /* by namespace */
};

/* The cause that an event hands to its action. */
struct local_cause {
    int errnum;
    const char *what; /* the step that failed */
    int64_t grace_ms; /* between SIGTERM and SIGKILL */
};

/* local.c */
/* The one setter of a job's state: takes the step of the table, then its action. */
void local_event(struct core *c, struct local_job *j, enum ranks_event ev,
                 const struct local_cause *cause);
/* A job that the head knows. The other function also finds jobs that the head has ended. */
struct local_job *local_find(const struct core *c, const char *nspace);
struct local_job *local_find_any(const struct core *c, const char *nspace);
bool local_has_ended(const struct core *c, const char *nspace);
/* local_rank.c */
struct local_rank *local_rank_find(const struct local_job *j, uint32_t rank);
void local_rank_fail_all(struct core *c, struct local_job *j, const struct local_cause *cause);
int local_rank_step(struct core *c, struct local_job *j, struct local_rank *r, enum proc_event ev);
/* True if the mark is new and now all ranks of the job here have it. */
bool local_rank_mark(struct local_job *j, struct local_rank *r, enum local_mark mark);
/* PMIx_Abort by this rank, which is here. */
void local_abort(struct core *c, const char *nspace, uint32_t rank, int code, const char *text);
void local_forget_abort(struct local_job *j);
/* local_hold.c: the handler of CONTINUE; and: the rank's state was `before` */
void local_hold_continue(struct core *c, const struct frame *f, struct msg *m);
void local_hold_changed(struct core *c, struct local_job *j, struct local_rank *r, int before);
/* local_losses.c: the handler of RANKS_LOST; the end of a job */
void local_losses_take(struct core *c, const struct frame *f, struct msg *m);
void local_losses_job_ended(struct core *c, const char *nspace);
void local_losses_free(struct core *c);
/* local_report.c: reports to the head */
void local_tell_head(struct core *c, const struct local_job *j, const struct msg *m);
void local_tell_ready(struct core *c, const struct local_job *j);
void local_tell_no_files(struct core *c, const struct local_job *j, const struct local_cause *why);
void local_tell_starts(struct core *c, const struct local_job *j);
/* The start of one rank, if the start of all has not been reported yet. */
void local_tell_start(struct core *c, const struct local_job *j, const struct local_rank *r);
void local_tell_registered(struct core *c, const struct local_job *j);
void local_tell_exit(struct core *c, const struct local_job *j, const struct local_rank *r);
void local_tell_held(struct core *c, struct local_job *j);
void local_tell_abort(struct core *c, const struct local_job *j);
void local_tell_gone(struct core *c, const struct local_job *j);
/* Its end of output goes to the daemon of its submitter. */
void local_end_output(struct core *c, struct local_job *j);
bool local_output_arrived(struct core *c, const struct local_job *j);

#endif
