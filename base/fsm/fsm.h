/* SPDX-License-Identifier: BSD-3-Clause */
/* State machines as constant tables: (state, event) -> (next, action). docs/graphs is made from
 * them. */
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
    int action; /* 0: none; its meaning belongs to the owner of the machine */
};

/* `states` and `events` name every value that `rows` uses.
 * A row with state FSM_ANY matches every state that has no row of its own for the event. If
 * `any_below` is not 0 it matches only states with a smaller number: so a terminal state does not
 * fail once more. */
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

/* Looks up the pair. 0: *state is the next state and *action its action. -1: the pair is illegal,
 * *state and *action are unchanged, and err names machine, state and event. `action` may be
 * NULL. */
int fsm_step(const struct fsm *m, int *state, int event, int *action, struct err *err)
    __attribute__((warn_unused_result));
const char *fsm_state_name(const struct fsm *m, int state); /* "?" if unknown */
const char *fsm_event_name(const struct fsm *m, int event);
/* Returns -1 and err if a row names an unknown value, or if two rows have the same pair. */
int fsm_check(const struct fsm *m, struct err *err) __attribute__((warn_unused_result));
/* The graph in Graphviz' language, rows in table order. */
void fsm_dump_dot(const struct fsm *m, FILE *out);

#endif
