/* SPDX-License-Identifier: BSD-3-Clause */
/* Table-driven state machines: (state, event) -> (next, action), const; graphs come out of the
 * table. */
#ifndef BASE_FSM_FSM_H
#define BASE_FSM_FSM_H

#include "base/err/err.h"

#include <stddef.h>
#include <stdio.h>

struct fsm_name {
    int value;
    const char *name;
};

struct fsm_row {
    int state;
    int event;
    int next;
    int action; /* 0: none; the meaning is the owner's */
};

/* `states` and `events` name every value that `rows` uses. FSM_ANY as row.state matches every state
 * that has no row of its own for the event, and whose number is below `any_below` if that is not 0:
 * what is over does not fail once more. */
#define FSM_ANY (-1)
struct fsm {
    const char *name;
    const struct fsm_name *states;
    size_t nstates;
    const struct fsm_name *events;
    size_t nevents;
    const struct fsm_row *rows;
    size_t nrows;
    int any_below;
};

/* Looks the pair up. 0: *state is the next one and *action its action. -1: an illegal pair; *state
 * and *action are unchanged and err names machine, state and event. `action` may be NULL. */
int fsm_step(const struct fsm *m, int *state, int event, int *action, struct err *err)
    __attribute__((warn_unused_result));
const char *fsm_state_name(const struct fsm *m, int state); /* "?" if unknown */
const char *fsm_event_name(const struct fsm *m, int event);
/* -1 and the reason if a row names an unknown value or two rows hold the same pair. */
int fsm_check(const struct fsm *m, struct err *err) __attribute__((warn_unused_result));
/* The graph in Graphviz' language, rows in table order. */
void fsm_dump_dot(const struct fsm *m, FILE *out);

#endif
