/* SPDX-License-Identifier: BSD-3-Clause */
/* Every message between daemons, one line each: the only table of types. */
#ifndef DVM_WIRE_MSG_LIST_H
#define DVM_WIRE_MSG_LIST_H

/* X(TYPE, member of struct msg's union, kind of its fields (struct msg_KIND), kind that is freed).
 * The order gives the numbers, from 1. Up to LEFT between neighbours, on the link that carries
 * them; from RACK on routed along the tree, once and in order per (source, destination, class). */
#define MSG_LIST(X)                                                                                \
    X(HELLO, hello, hello, hello)                                                                  \
    X(WELCOME, welcome, welcome, welcome)                                                          \
    X(REFUSE, refuse, refuse, refuse)                                                              \
    X(BYE, bye, none, nothing) /* nothing follows on this link from this side */                   \
    X(PING, ping, none, nothing)                                                                   \
    X(PONG, pong, none, nothing)                                                                   \
    X(ADD, add, add, add)                                                                          \
    X(REMOVE, remove, remove, remove)                                                              \
    X(SHUTDOWN, shutdown, shutdown, shutdown)                                                      \
    X(SNAPSHOT, snapshot, snapshot, nothing)                                                       \
    X(XACK, xack, xack, nothing)                                                                   \
    X(LEFT, left, departed, nothing)                                                               \
    X(RACK, rack, none, nothing) /* acknowledgement only: ack in the header */                     \
    /* to the head */                                                                              \
    X(SUBMIT, submit, submit, submit)                                                              \
    X(SIGNAL, signal, signal, signal)                                                              \
    X(LAUNCHED, launched, ranks, ranks)                                                            \
    X(REGISTERED, registered, job, job) /* all local ranks have called PMIx_Init */                \
    X(EXITED, exited, ranks, ranks)                                                                \
    X(LOCAL_GONE, local_gone, local_gone, local_gone)                                              \
    X(ABORT, abort, abort, abort)                                                                  \
    X(LOST, lost, lost, lost)                                                                      \
    X(GONE, gone, departed, nothing)                                                               \
    X(RELEASE_ME, release_me, release, nothing)                                                    \
    X(REPORT, report, report, nothing)                                                             \
    X(LOCAL_JOB, local_job, launch, launch)                                                        \
    X(READY, ready, job, job) /* all ranks of it on the sender can start */                        \
    X(NO_FILES, no_files, no_files, no_files)                                                      \
    X(HELD, held, held, held)                                                                      \
    X(CONTINUE_ASK, continue_ask, continue, continue)                                              \
    X(RESIZE_ASK, resize_ask, resize_ask, resize_ask)                                              \
    /* to a member */                                                                              \
    X(ASK, ask, none, nothing) /* tell the head what you know */                                   \
    X(LAUNCH, launch, launch, launch)                                                              \
    X(START, start, job, job) /* all daemons of the job are ready, its ranks can start */          \
    X(KILL, kill, kill, kill)                                                                      \
    X(CONTINUE, go_on, continue, continue)                                                         \
    X(RANKS_LOST, ranks_lost, ranks_lost, ranks_lost)                                              \
    X(JOB_ENDED, job_ended, job_ended, job_ended)                                                  \
    X(ACCEPTED, accepted, client_job, client_job)                                                  \
    X(JOB_STATE, job_state, job_state, job_state)                                                  \
    X(JOB_MAP, job_map, job_map, job_map)                                                          \
    X(FILES, files, files, files)                                                                  \
    X(DONE, done, done, done)                                                                      \
    X(RESIZE_ANSWER, resize_answer, resize_answer, resize_answer)                                  \
    X(RESIZE_ENDED, resize_ended, resize_ended, resize_ended)                                      \
    /* to any */                                                                                   \
    X(IOF_END, iof_end, client_job, client_job)                                                    \
    X(APP, app, app, nothing)                                                                      \
    X(GATHER_UP, gather_up, gather, gather)                                                        \
    X(GATHER_DOWN, gather_down, gather, gather)

#endif
