/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the state machines of jobs, of their processes and ranks, and of campaigns.
 *
 * In: nothing; the tables are constant. Out: job_fsm, proc_fsm, ranks_fsm and campaign_fsm, for
 * base/fsm. A row is a state, an event, the next state, and an action. Only ranks_fsm has actions
 * (enum ranks_action); in the other tables they are 0.
 *
 * job_fsm: a job at the head, from INIT to NOTIFIED. A job waits in WAITING_FOR_DAEMONS while the
 * launch fence is up. proc_fsm: one process; it is TERMINATED after its output has ended and it was
 * reaped, in either order. ranks_fsm: the ranks of a job on one daemon, from REGISTERING to GONE.
 * campaign_fsm: a shrink begins with draining, a grow with gathering.
 *
 * Invariants: a job's errors (rows with FSM_ANY) apply only to states below JOB_UNTERMINATED, so a
 * job that has ended does not end again. A campaign can be cancelled only while it is draining or
 * gathering.
 *
 * Failures: a pair without a row is illegal, and base/fsm refuses it with a message. */
#include "dvm/protocol/state/state.h"

#include "api/campaign.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

#define JOB_STATE_NAME(state, number) {JOB_##state, #state},
static const struct fsm_name job_states[] = {JOB_STATES(JOB_STATE_NAME)};
#undef JOB_STATE_NAME

static const struct fsm_name job_events[] = {
    {JOB_EV_DONE, "done"},
    {JOB_EV_HOLD, "hold"},
    {JOB_EV_RELEASE, "release"},
    {JOB_EV_RELAUNCH, "relaunch"},
    {JOB_EV_REMAP, "remap"},
    {JOB_EV_NO_SLOTS, "no slots"},
    {JOB_EV_MAP_ONLY, "map only"},
    {JOB_EV_PREPARE, "is prepared first"},
    {JOB_EV_FIRST, "first runs"},
    {JOB_EV_ALL_RUN, "all run"},
    {JOB_EV_REGISTERED, "all registered"},
    {JOB_EV_HELD, "all stopped"},
    {JOB_EV_CONTINUE, "go on"},
    {JOB_EV_ENDED, "ended"},
    {JOB_EV_FAIL_START, "failed to start"},
    {JOB_EV_ABORT, "aborted"},
    {JOB_EV_KILL, "killed"},
    {JOB_EV_NEVER, "never launched"},
    {JOB_EV_NO_MAP, "cannot be mapped"},
};

static const struct fsm_row job_rows[] = {
    {JOB_INIT, JOB_EV_DONE, JOB_INIT_COMPLETE, 0},
    {JOB_INIT_COMPLETE, JOB_EV_DONE, JOB_ALLOCATE, 0},
    {JOB_ALLOCATE, JOB_EV_DONE, JOB_ALLOCATION_COMPLETE, 0},
    {JOB_ALLOCATION_COMPLETE, JOB_EV_DONE, JOB_VM_READY, 0},
    {JOB_VM_READY, JOB_EV_DONE, JOB_MAP, 0},
    {JOB_VM_READY, JOB_EV_HOLD, JOB_WAITING_FOR_DAEMONS, 0},
    {JOB_WAITING_FOR_DAEMONS, JOB_EV_RELEASE, JOB_VM_READY, 0},
    {JOB_WAITING_FOR_DAEMONS, JOB_EV_RELAUNCH, JOB_LAUNCH_APPS, 0},
    {JOB_WAITING_FOR_DAEMONS, JOB_EV_REMAP, JOB_VM_READY, 0},
    {JOB_MAP, JOB_EV_DONE, JOB_MAP_COMPLETE, 0},
    {JOB_MAP, JOB_EV_NO_SLOTS, JOB_VM_READY, 0},
    {JOB_MAP_COMPLETE, JOB_EV_DONE, JOB_SYSTEM_PREP, 0},
    {JOB_MAP_COMPLETE, JOB_EV_MAP_ONLY, JOB_TERMINATED, 0},
    {JOB_SYSTEM_PREP, JOB_EV_DONE, JOB_LAUNCH_APPS, 0},
    {JOB_LAUNCH_APPS, JOB_EV_HOLD, JOB_WAITING_FOR_DAEMONS, 0},
    {JOB_LAUNCH_APPS, JOB_EV_REMAP, JOB_VM_READY, 0},
    {JOB_LAUNCH_APPS, JOB_EV_DONE, JOB_SEND_LAUNCH_MSG, 0},
    {JOB_SEND_LAUNCH_MSG, JOB_EV_FIRST, JOB_STARTED, 0},
    {JOB_SEND_LAUNCH_MSG, JOB_EV_PREPARE, JOB_PREPARING, 0},
    {JOB_PREPARING, JOB_EV_FIRST, JOB_STARTED, 0},
    {JOB_STARTED, JOB_EV_ALL_RUN, JOB_RUNNING, 0},
    {JOB_RUNNING, JOB_EV_REGISTERED, JOB_REGISTERED, 0},
    {JOB_SEND_LAUNCH_MSG, JOB_EV_ENDED, JOB_TERMINATED, 0},
    {JOB_PREPARING, JOB_EV_ENDED, JOB_TERMINATED, 0},
    {JOB_STARTED, JOB_EV_ENDED, JOB_TERMINATED, 0},
    {JOB_RUNNING, JOB_EV_ENDED, JOB_TERMINATED, 0},
    {JOB_REGISTERED, JOB_EV_ENDED, JOB_TERMINATED, 0},
    {JOB_RUNNING, JOB_EV_HELD, JOB_READY_FOR_DEBUG, 0},
    {JOB_REGISTERED, JOB_EV_HELD, JOB_READY_FOR_DEBUG, 0},
    {JOB_READY_FOR_DEBUG, JOB_EV_CONTINUE, JOB_RUNNING, 0},
    {JOB_READY_FOR_DEBUG, JOB_EV_ENDED, JOB_TERMINATED, 0},
    {FSM_ANY, JOB_EV_FAIL_START, JOB_FAILED_TO_START, 0},
    {FSM_ANY, JOB_EV_ABORT, JOB_ABORTED, 0},
    {FSM_ANY, JOB_EV_KILL, JOB_KILLED_BY_CMD, 0},
    {FSM_ANY, JOB_EV_NEVER, JOB_NEVER_LAUNCHED, 0},
    {FSM_ANY, JOB_EV_NO_MAP, JOB_MAP_FAILED, 0},
    {JOB_TERMINATED, JOB_EV_DONE, JOB_NOTIFY_COMPLETED, 0},
    {JOB_KILLED_BY_CMD, JOB_EV_DONE, JOB_NOTIFY_COMPLETED, 0},
    {JOB_ABORTED, JOB_EV_DONE, JOB_NOTIFY_COMPLETED, 0},
    {JOB_FAILED_TO_START, JOB_EV_DONE, JOB_NOTIFY_COMPLETED, 0},
    {JOB_NEVER_LAUNCHED, JOB_EV_DONE, JOB_NOTIFY_COMPLETED, 0},
    {JOB_MAP_FAILED, JOB_EV_DONE, JOB_NOTIFY_COMPLETED, 0},
    {JOB_NOTIFY_COMPLETED, JOB_EV_DONE, JOB_NOTIFIED, 0},
};

const struct fsm job_fsm = {.name = "job",
                            .states = job_states,
                            .nstates = COUNT(job_states),
                            .events = job_events,
                            .nevents = COUNT(job_events),
                            .rows = job_rows,
                            .nrows = COUNT(job_rows),
                            .any_below = JOB_UNTERMINATED};

static const struct fsm_name proc_states[] = {
    {PROC_INIT, "INIT"},
    {PROC_RUNNING, "RUNNING"},
    {PROC_REGISTERED, "REGISTERED"},
    {PROC_IOF_COMPLETE, "IOF_COMPLETE"},
    {PROC_WAITPID_FIRED, "WAITPID_FIRED"},
    {PROC_READY_FOR_DEBUG, "READY_FOR_DEBUG"},
    {PROC_TERMINATED, "TERMINATED"},
    {PROC_FAILED_TO_START, "FAILED_TO_START"},
    {PROC_LOST, "LOST"},
};

static const struct fsm_name proc_events[] = {
    {PROC_EV_RUN, "forked"},       {PROC_EV_REGISTER, "PMIx_Init"}, {PROC_EV_IOF, "output ended"},
    {PROC_EV_WAITPID, "reaped"},   {PROC_EV_FAIL, "not started"},   {PROC_EV_LOST, "daemon lost"},
    {PROC_EV_HOLD, "has stopped"}, {PROC_EV_GO_ON, "goes on"},
};

static const struct fsm_row proc_rows[] = {
    {PROC_INIT, PROC_EV_RUN, PROC_RUNNING, 0},
    {PROC_INIT, PROC_EV_FAIL, PROC_FAILED_TO_START, 0},
    {PROC_RUNNING, PROC_EV_REGISTER, PROC_REGISTERED, 0},
    {PROC_REGISTERED, PROC_EV_REGISTER, PROC_REGISTERED, 0},
    {PROC_RUNNING, PROC_EV_IOF, PROC_IOF_COMPLETE, 0},
    {PROC_REGISTERED, PROC_EV_IOF, PROC_IOF_COMPLETE, 0},
    {PROC_RUNNING, PROC_EV_WAITPID, PROC_WAITPID_FIRED, 0},
    {PROC_REGISTERED, PROC_EV_WAITPID, PROC_WAITPID_FIRED, 0},
    {PROC_IOF_COMPLETE, PROC_EV_REGISTER, PROC_IOF_COMPLETE, 0},
    {PROC_IOF_COMPLETE, PROC_EV_WAITPID, PROC_TERMINATED, 0},
    {PROC_WAITPID_FIRED, PROC_EV_REGISTER, PROC_WAITPID_FIRED, 0},
    {PROC_WAITPID_FIRED, PROC_EV_IOF, PROC_TERMINATED, 0},
    {PROC_RUNNING, PROC_EV_HOLD, PROC_READY_FOR_DEBUG, 0},
    {PROC_REGISTERED, PROC_EV_HOLD, PROC_READY_FOR_DEBUG, 0},
    {PROC_READY_FOR_DEBUG, PROC_EV_GO_ON, PROC_RUNNING, 0},
    {PROC_READY_FOR_DEBUG, PROC_EV_IOF, PROC_IOF_COMPLETE, 0},
    {PROC_READY_FOR_DEBUG, PROC_EV_WAITPID, PROC_WAITPID_FIRED, 0},
    {PROC_READY_FOR_DEBUG, PROC_EV_LOST, PROC_LOST, 0},
    {PROC_INIT, PROC_EV_LOST, PROC_LOST, 0},
    {PROC_RUNNING, PROC_EV_LOST, PROC_LOST, 0},
    {PROC_REGISTERED, PROC_EV_LOST, PROC_LOST, 0},
    {PROC_IOF_COMPLETE, PROC_EV_LOST, PROC_LOST, 0},
    {PROC_WAITPID_FIRED, PROC_EV_LOST, PROC_LOST, 0},
};

const struct fsm proc_fsm = {.name = "process",
                             .states = proc_states,
                             .nstates = COUNT(proc_states),
                             .events = proc_events,
                             .nevents = COUNT(proc_events),
                             .rows = proc_rows,
                             .nrows = COUNT(proc_rows)};

static const struct fsm_name ranks_states[] = {
    {RANKS_REGISTERING, "REGISTERING"},
    {RANKS_FILES, "FILES"},
    {RANKS_CHECKING, "CHECKING"},
    {RANKS_READY, "READY"},
    {RANKS_RUNNING, "RUNNING"},
    {RANKS_ENDING, "ENDING"},
    {RANKS_CLEANING, "CLEANING"},
    {RANKS_FLUSHING, "FLUSHING"},
    {RANKS_GONE, "GONE"},
};

static const struct fsm_name ranks_events[] = {
    {RANKS_EV_REGISTERED, "registered"},
    {RANKS_EV_HAS_FILES, "registered, has files"},
    {RANKS_EV_NOT_REGISTERED, "not registered"},
    {RANKS_EV_FILES_HERE, "files are here"},
    {RANKS_EV_NO_FILES, "files cannot be here"},
    {RANKS_EV_NOT_CREATED, "not created"},
    {RANKS_EV_READY, "all can start, others wait"},
    {RANKS_EV_READY_ALONE, "all can start"},
    {RANKS_EV_START, "start"},
    {RANKS_EV_RUN, "first runs"},
    {RANKS_EV_END, "end"},
    {RANKS_EV_ALL_OVER, "all have ended"},
    {RANKS_EV_CLEANED, "cleaned up"},
    {RANKS_EV_ARRIVED, "output has arrived"},
};

/* The end may be ordered in any state. If an answer is outstanding (registration, files), it is
 * waited for, and then each rank fails. */
static const struct fsm_row ranks_rows[] = {
    {RANKS_REGISTERING, RANKS_EV_REGISTERED, RANKS_CHECKING, RANKS_CREATE},
    {RANKS_REGISTERING, RANKS_EV_HAS_FILES, RANKS_FILES, RANKS_TAKE_FILES},
    {RANKS_REGISTERING, RANKS_EV_NOT_REGISTERED, RANKS_ENDING, RANKS_FAIL_ALL},
    {RANKS_REGISTERING, RANKS_EV_END, RANKS_ENDING, RANKS_NOTHING},
    {RANKS_FILES, RANKS_EV_FILES_HERE, RANKS_CHECKING, RANKS_CREATE},
    {RANKS_FILES, RANKS_EV_NO_FILES, RANKS_ENDING, RANKS_TELL_NO_FILES},
    {RANKS_FILES, RANKS_EV_END, RANKS_ENDING, RANKS_DROP_FILES},
    {RANKS_CHECKING, RANKS_EV_NOT_CREATED, RANKS_ENDING, RANKS_FAIL_ALL},
    {RANKS_CHECKING, RANKS_EV_READY, RANKS_READY, RANKS_TELL_READY},
    {RANKS_CHECKING, RANKS_EV_READY_ALONE, RANKS_RUNNING, RANKS_START},
    {RANKS_CHECKING, RANKS_EV_RUN, RANKS_RUNNING, RANKS_NOTHING}, /* a single rank does not wait */
    {RANKS_CHECKING, RANKS_EV_END, RANKS_ENDING, RANKS_END},
    {RANKS_CHECKING, RANKS_EV_ALL_OVER, RANKS_CLEANING, RANKS_CLEAN},
    {RANKS_READY, RANKS_EV_START, RANKS_RUNNING, RANKS_START},
    {RANKS_READY, RANKS_EV_END, RANKS_ENDING, RANKS_END},
    {RANKS_READY, RANKS_EV_ALL_OVER, RANKS_CLEANING, RANKS_CLEAN},
    {RANKS_RUNNING, RANKS_EV_RUN, RANKS_RUNNING, RANKS_NOTHING},
    {RANKS_RUNNING, RANKS_EV_START, RANKS_RUNNING, RANKS_NOTHING}, /* of another head */
    {RANKS_RUNNING, RANKS_EV_END, RANKS_ENDING, RANKS_END},
    {RANKS_RUNNING, RANKS_EV_ALL_OVER, RANKS_CLEANING, RANKS_CLEAN},
    {RANKS_ENDING, RANKS_EV_REGISTERED, RANKS_ENDING, RANKS_CANCEL},
    {RANKS_ENDING, RANKS_EV_HAS_FILES, RANKS_ENDING, RANKS_CANCEL},
    {RANKS_ENDING, RANKS_EV_NOT_REGISTERED, RANKS_ENDING, RANKS_CANCEL},
    {RANKS_ENDING, RANKS_EV_FILES_HERE, RANKS_ENDING, RANKS_CANCEL},
    {RANKS_ENDING, RANKS_EV_NO_FILES, RANKS_ENDING, RANKS_CANCEL},
    {RANKS_ENDING, RANKS_EV_NOT_CREATED, RANKS_ENDING, RANKS_CANCEL},
    {RANKS_ENDING, RANKS_EV_READY, RANKS_ENDING, RANKS_NOTHING},
    {RANKS_ENDING, RANKS_EV_READY_ALONE, RANKS_ENDING, RANKS_NOTHING},
    {RANKS_ENDING, RANKS_EV_START, RANKS_ENDING, RANKS_NOTHING},
    {RANKS_ENDING, RANKS_EV_RUN, RANKS_ENDING, RANKS_NOTHING},
    {RANKS_ENDING, RANKS_EV_END, RANKS_ENDING, RANKS_END}, /* SIGKILL after SIGTERM */
    {RANKS_ENDING, RANKS_EV_ALL_OVER, RANKS_CLEANING, RANKS_CLEAN},
    {RANKS_CLEANING, RANKS_EV_START, RANKS_CLEANING, RANKS_NOTHING},
    {RANKS_CLEANING, RANKS_EV_END, RANKS_CLEANING, RANKS_NOTHING},
    {RANKS_CLEANING, RANKS_EV_CLEANED, RANKS_FLUSHING, RANKS_END_OUTPUT},
    {RANKS_FLUSHING, RANKS_EV_START, RANKS_FLUSHING, RANKS_NOTHING},
    {RANKS_FLUSHING, RANKS_EV_END, RANKS_FLUSHING, RANKS_NOTHING},
    {RANKS_FLUSHING, RANKS_EV_ARRIVED, RANKS_GONE, RANKS_TELL_GONE},
    {RANKS_GONE, RANKS_EV_START, RANKS_GONE, RANKS_NOTHING},
    {RANKS_GONE, RANKS_EV_END, RANKS_GONE, RANKS_NOTHING},
};

const struct fsm ranks_fsm = {.name = "ranks",
                              .states = ranks_states,
                              .nstates = COUNT(ranks_states),
                              .events = ranks_events,
                              .nevents = COUNT(ranks_events),
                              .rows = ranks_rows,
                              .nrows = COUNT(ranks_rows)};

static const struct fsm_name campaign_phases[] = {
    {API_PHASE_DRAINING, "draining"},         {API_PHASE_REMOVING, "removing"},
    {API_PHASE_COMPLETE, "complete"},         {API_PHASE_CANCELLED, "cancelled"},
    {API_PHASE_GATHERING, "gathering"},       {API_PHASE_WIRING, "wiring"},
    {API_PHASE_ROLLING_BACK, "rolling back"}, {API_PHASE_FAILED, "failed"}};

static const struct fsm_name campaign_events[] = {
    {CAMPAIGN_EV_NOBODY, "nobody is there"}, {CAMPAIGN_EV_CANCEL, "cancelled"},
    {CAMPAIGN_EV_DRAINED, "drained"},        {CAMPAIGN_EV_LEFT, "all have left"},
    {CAMPAIGN_EV_COME, "all have called"},   {CAMPAIGN_EV_WIRED, "all are wired"},
    {CAMPAIGN_EV_FAIL, "it fails"}};

static const struct fsm_row campaign_rows[] = {
    {API_PHASE_DRAINING, CAMPAIGN_EV_NOBODY, API_PHASE_COMPLETE, 0},
    {API_PHASE_DRAINING, CAMPAIGN_EV_CANCEL, API_PHASE_CANCELLED, 0},
    {API_PHASE_DRAINING, CAMPAIGN_EV_DRAINED, API_PHASE_REMOVING, 0},
    {API_PHASE_REMOVING, CAMPAIGN_EV_LEFT, API_PHASE_COMPLETE, 0},
    {API_PHASE_GATHERING, CAMPAIGN_EV_NOBODY, API_PHASE_COMPLETE, 0},
    {API_PHASE_GATHERING, CAMPAIGN_EV_CANCEL, API_PHASE_CANCELLED, 0},
    {API_PHASE_GATHERING, CAMPAIGN_EV_COME, API_PHASE_WIRING, 0},
    {API_PHASE_GATHERING, CAMPAIGN_EV_WIRED, API_PHASE_COMPLETE, 0}, /* each by itself */
    {API_PHASE_GATHERING, CAMPAIGN_EV_FAIL, API_PHASE_ROLLING_BACK, 0},
    {API_PHASE_WIRING, CAMPAIGN_EV_WIRED, API_PHASE_COMPLETE, 0},
    {API_PHASE_WIRING, CAMPAIGN_EV_FAIL, API_PHASE_ROLLING_BACK, 0},
    {API_PHASE_ROLLING_BACK, CAMPAIGN_EV_LEFT, API_PHASE_FAILED, 0},
};

const struct fsm campaign_fsm = {.name = "campaign",
                                 .states = campaign_phases,
                                 .nstates = COUNT(campaign_phases),
                                 .events = campaign_events,
                                 .nevents = COUNT(campaign_events),
                                 .rows = campaign_rows,
                                 .nrows = COUNT(campaign_rows)};
