/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machines of jobs, of processes, of the ranks of a job on one daemon, and of campaigns,
 * as const tables. Names and numbers of the first two are those of PRRTE (docs/states.md). */
#ifndef DVM_STATE_STATE_H
#define DVM_STATE_STATE_H

#include "api/job_state.h"
#include "base/fsm/fsm.h"

#include <stdbool.h>

enum job_event {
    JOB_EV_DONE = 1,   /* the state's work is done */
    JOB_EV_HOLD,       /* the launch fence is up */
    JOB_EV_RELEASE,    /* the fence is down: continue with the map */
    JOB_EV_RELAUNCH,   /* the fence is down: continue with the launch as mapped */
    JOB_EV_REMAP,      /* a mapped daemon is not wired any more */
    JOB_EV_NO_SLOTS,   /* fits, but not now: back to the queue */
    JOB_EV_MAP_ONLY,   /* only its map was wanted */
    JOB_EV_PREPARE,    /* its files have to be on its daemons, and its ranks checked, first */
    JOB_EV_FIRST,      /* the first rank runs */
    JOB_EV_ALL_RUN,    /* all ranks run */
    JOB_EV_REGISTERED, /* all called PMIx_Init */
    JOB_EV_HELD,       /* all ranks that are to stop have stopped */
    JOB_EV_CONTINUE,   /* they continue */
    JOB_EV_ENDED,      /* nothing of it is left on any daemon */
    JOB_EV_FAIL_START, /* ended likewise, but: it could not be started, */
    JOB_EV_ABORT,      /*   a rank failed or a daemon was lost, */
    JOB_EV_KILL,       /*   ended by request, */
    JOB_EV_NEVER,      /*   refused before anything was sent, */
    JOB_EV_NO_MAP,     /*   can never be mapped */
};

extern const struct fsm job_fsm;

enum proc_state {
    PROC_INIT = 1,
    PROC_RUNNING = 4,
    PROC_REGISTERED = 5,
    PROC_IOF_COMPLETE = 6,
    PROC_WAITPID_FIRED = 7,
    PROC_READY_FOR_DEBUG = 9,
    PROC_UNTERMINATED = 15,
    PROC_TERMINATED = 20,
    PROC_ERROR = 50,
    PROC_FAILED_TO_START = 53,
    PROC_LOST = 60,
};

enum proc_event {
    PROC_EV_RUN = 1,
    PROC_EV_REGISTER,
    PROC_EV_IOF,
    PROC_EV_WAITPID,
    PROC_EV_FAIL,
    PROC_EV_LOST,
    PROC_EV_HOLD,
    PROC_EV_GO_ON
};

extern const struct fsm proc_fsm;

/* The ranks of one job on one daemon, from the launch message to the end: they are registered,
 * prepared, checked, started and cleaned up together. The state of each process is separate
 * (proc_fsm). */
enum ranks_state {
    RANKS_REGISTERING = 1, /* the PMIx server registers them */
    RANKS_FILES,           /* the job's files are written here */
    RANKS_CHECKING,        /* the spawner checks whether they can start */
    RANKS_READY,           /* they can start, and wait for the other daemons of the job */
    RANKS_RUNNING,
    RANKS_ENDING,   /* they are to end; nothing more of them starts */
    RANKS_CLEANING, /* all have ended: their remains here are removed */
    RANKS_FLUSHING, /* their output is on its way to the submitter's daemon */
    RANKS_GONE,     /* nothing is left, and the head has been notified */
};

enum ranks_event {
    RANKS_EV_REGISTERED = 1, /* and the job has no files */
    RANKS_EV_HAS_FILES,      /* registered, and the job has files */
    RANKS_EV_NOT_REGISTERED,
    RANKS_EV_FILES_HERE,
    RANKS_EV_NO_FILES,    /* they cannot be put here */
    RANKS_EV_NOT_CREATED, /* the spawner has received none of them */
    RANKS_EV_READY,       /* all can start, and the job has other daemons or files */
    RANKS_EV_READY_ALONE, /* all can start, and the job has no other daemon */
    RANKS_EV_START,       /* the head: all daemons of the job are ready */
    RANKS_EV_RUN,         /* the first one runs */
    RANKS_EV_END,         /* by the head, or by the end of this daemon's epoch: they are to end */
    RANKS_EV_ALL_OVER,    /* each has ended or was not started */
    RANKS_EV_CLEANED,
    RANKS_EV_ARRIVED, /* their output has arrived, or the head can order it itself */
};

/* The action of the core, or of its owner, on a step. */
enum ranks_action {
    RANKS_NOTHING,
    RANKS_TAKE_FILES,
    RANKS_DROP_FILES,
    RANKS_CREATE,
    RANKS_TELL_READY,
    RANKS_TELL_NO_FILES, /* and each rank fails */
    RANKS_START,
    RANKS_FAIL_ALL, /* each rank that does not run fails, with the event's cause */
    RANKS_CANCEL,   /* the same, because they were ended before */
    RANKS_END,
    RANKS_CLEAN,
    RANKS_END_OUTPUT,
    RANKS_TELL_GONE,
};

extern const struct fsm ranks_fsm;

/* States: enum api_phase. */
enum campaign_event {
    CAMPAIGN_EV_NOBODY = 1, /* there is no target to remove or to wire */
    CAMPAIGN_EV_CANCEL,
    CAMPAIGN_EV_DRAINED, /* no job is left on the targets */
    CAMPAIGN_EV_LEFT,  /* all targets have left or are lost, all other daemons have processed it */
    CAMPAIGN_EV_COME,  /* the daemons of all targets have called home */
    CAMPAIGN_EV_WIRED, /* they are wired */
    CAMPAIGN_EV_FAIL,  /* one has departed, the deadline has passed, or it gives way */
};

extern const struct fsm campaign_fsm;

#endif
