/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of a job: numbers and names, as daemons, clients and the control API use them. */
#ifndef API_JOB_STATE_H
#define API_JOB_STATE_H

#include <stdbool.h>

/* X(STATE, number). The numbers, and where they differ from their source: docs/states.md. 8, 9 and
 * 10 (daemons) belong to the DVM, not to a job, because Kubernetes or prte starts the daemons. */
#define JOB_STATES(X)                                                                              \
    X(INIT, 1)                                                                                     \
    X(INIT_COMPLETE, 2)                                                                            \
    X(ALLOCATE, 3)                                                                                 \
    X(ALLOCATION_COMPLETE, 4)                                                                      \
    X(MAP, 5)                                                                                      \
    X(MAP_COMPLETE, 6)                                                                             \
    X(SYSTEM_PREP, 7)                                                                              \
    X(VM_READY, 11)                                                                                \
    X(LAUNCH_APPS, 12)                                                                             \
    X(SEND_LAUNCH_MSG, 13)                                                                         \
    X(RUNNING, 14)                                                                                 \
    X(REGISTERED, 16)                                                                              \
    X(WAITING_FOR_DAEMONS, 17)                                                                     \
    X(STARTED, 20)                                                                                 \
    X(PREPARING, 21)                                                                               \
    X(READY_FOR_DEBUG, 19)                                                                         \
    X(TERMINATED, 31)                                                                              \
    X(NOTIFY_COMPLETED, 34)                                                                        \
    X(NOTIFIED, 35)                                                                                \
    X(KILLED_BY_CMD, 51)                                                                           \
    X(ABORTED, 52)                                                                                 \
    X(FAILED_TO_START, 53)                                                                         \
    X(NEVER_LAUNCHED, 60)                                                                          \
    X(MAP_FAILED, 69)

#define JOB_STATE_MEMBER(state, number) JOB_##state = (number),
/* UNTERMINATED and ERROR are limits, not states: below UNTERMINATED a job has not ended. */
enum job_state { JOB_STATES(JOB_STATE_MEMBER) JOB_UNTERMINATED = 30, JOB_ERROR = 50 };
#undef JOB_STATE_MEMBER

static inline bool job_state_over(int s)
{
    return s >= JOB_UNTERMINATED;
}

/* "RUNNING"; NULL: no state has this number. */
const char *job_state_word(unsigned number);
/* -1: no state has this word. */
int job_state_of(const char *word);

#endif
