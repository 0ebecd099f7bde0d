/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of a member, as daemons and the control API name them. */
#ifndef API_MEMBER_STATE_H
#define API_MEMBER_STATE_H

/* X(STATE, word) */
#define MEMBER_STATE_LIST(X)                                                                       \
    X(ABSENT, "absent")                                                                            \
    X(REPORTED, "reported") /* has called the head, is not wired yet (head only) */                \
    X(WIRED, "wired")                                                                              \
    X(DRAINING, "draining") /* gets no new ranks (head only) */                                    \
    X(LEAVING, "leaving")   /* the shrink command is on its way */                                 \
    X(PARKED, "parked")     /* has left */                                                         \
    X(LOST, "lost")

#define MEMBER_STATE_MEMBER(state, word) MEMBER_##state,
enum member_state { MEMBER_STATE_LIST(MEMBER_STATE_MEMBER) MEMBER_STATES };
#undef MEMBER_STATE_MEMBER

/* "wired"; "?": no such state. */
const char *member_state_word(unsigned state);
/* -1: no state has this word. */
int member_state_of(const char *word);

#endif
