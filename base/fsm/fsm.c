/* SPDX-License-Identifier: BSD-3-Clause */
/* Table-driven state machines: lookup, consistency check and graph. */
#include "base/fsm/fsm.h"

static const char *name_of(const struct fsm_name *names, size_t n, int value)
{
    for (size_t i = 0; i < n; i++) {
        if (names[i].value == value)
            return names[i].name;
    }
    return NULL;
}

const char *fsm_state_name(const struct fsm *m, int state)
{
    const char *name = name_of(m->states, m->nstates, state);

    return name ? name : "?";
}

const char *fsm_event_name(const struct fsm *m, int event)
{
    const char *name = name_of(m->events, m->nevents, event);

    return name ? name : "?";
}

static const struct fsm_row *find_row(const struct fsm *m, int state, int event)
{
    const struct fsm_row *any = NULL;

    for (size_t i = 0; i < m->nrows; i++) {
        const struct fsm_row *row = &m->rows[i];

        if (row->event != event)
            continue;
        if (row->state == state)
            return row;
        if (row->state == FSM_ANY && (m->any_below == 0 || state < m->any_below))
            any = row;
    }
    return any;
}

int fsm_step(const struct fsm *m, int *state, int event, int *action, struct err *err)
{
    const struct fsm_row *row = find_row(m, *state, event);

    if (!row)
        return err_set(err, "%s: event %s (%d) is illegal in state %s (%d)", m->name,
                       fsm_event_name(m, event), event, fsm_state_name(m, *state), *state);
    *state = row->next;
    if (action)
        *action = row->action;
    return 0;
}

static int check_row(const struct fsm *m, size_t i, struct err *err)
{
    const struct fsm_row *row = &m->rows[i];

    if (row->state != FSM_ANY && !name_of(m->states, m->nstates, row->state))
        return err_set(err, "%s: row %zu is for unknown state %d", m->name, i, row->state);
    if (!name_of(m->events, m->nevents, row->event))
        return err_set(err, "%s: row %zu is for unknown event %d", m->name, i, row->event);
    if (!name_of(m->states, m->nstates, row->next))
        return err_set(err, "%s: row %zu leads to unknown state %d", m->name, i, row->next);
    for (size_t j = 0; j < i; j++) {
        if (m->rows[j].state == row->state && m->rows[j].event == row->event)
            return err_set(err, "%s: rows %zu and %zu are both for state %s, event %s", m->name, j,
                           i, row->state == FSM_ANY ? "any" : fsm_state_name(m, row->state),
                           fsm_event_name(m, row->event));
    }
    return 0;
}

int fsm_check(const struct fsm *m, struct err *err)
{
    for (size_t i = 0; i < m->nrows; i++) {
        if (check_row(m, i, err) < 0)
            return -1;
    }
    return 0;
}

void fsm_dump_dot(const struct fsm *m, FILE *out)
{
    fprintf(out, "digraph \"%s\" {\n", m->name);
    for (size_t i = 0; i < m->nrows; i++) {
        const struct fsm_row *row = &m->rows[i];

        fprintf(out, "    \"%s\" -> \"%s\" [label=\"%s\"];\n",
                row->state == FSM_ANY ? "*" : fsm_state_name(m, row->state),
                fsm_state_name(m, row->next), fsm_event_name(m, row->event));
    }
    fputs("}\n", out);
}
