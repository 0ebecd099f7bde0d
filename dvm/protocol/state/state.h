/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machines of jobs and processes, with names and numbers of seed 004, and of campaigns,
 * as const tables. */
#ifndef DVM_STATE_STATE_H
#define DVM_STATE_STATE_H

#include "base/fsm/fsm.h"
#include "dvm/protocol/wire/job_state.h"

#include <stdbool.h>

enum job_event {
    JOB_EV_DONE = 1,   /* what the state does is done */
    JOB_EV_HOLD,       /* the launch fence is up */
    JOB_EV_RELEASE,    /* it is down: go on to map */
    JOB_EV_RELAUNCH,   /* it is down: go on to launch as mapped */
    JOB_EV_REMAP,      /* a mapped daemon is not wired any more */
    JOB_EV_NO_SLOTS,   /* fits, but not now: back to the queue */
    JOB_EV_STAGE,      /* its files have to be on its daemons first */
    JOB_EV_FIRST,      /* the first rank runs */
    JOB_EV_ALL_RUN,    /* all ranks run */
    JOB_EV_REGISTERED, /* all called PMIx_Init */
    JOB_EV_HELD,       /* all ranks that are to stop stand still */
    JOB_EV_CONTINUE,   /* they go on */
    JOB_EV_ENDED,      /* nothing of it is left anywhere */
    JOB_EV_FAIL_START, /* ended likewise, but: could not be started, */
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

/* States: enum api_phase. */
enum campaign_event {
    CAMPAIGN_EV_NOBODY = 1, /* it would remove, or wire, nobody */
    CAMPAIGN_EV_CANCEL,
    CAMPAIGN_EV_DRAINED, /* no job is on the targets any more */
    CAMPAIGN_EV_LEFT,    /* all targets have left or are lost, all others have processed it */
    CAMPAIGN_EV_COME,    /* the daemons of all targets have called */
    CAMPAIGN_EV_WIRED,   /* they are wired */
    CAMPAIGN_EV_FAIL,    /* one is gone, time is over, it gives way */
};

extern const struct fsm campaign_fsm;

#endif
