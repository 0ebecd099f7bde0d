/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of phases and faults: phases are the states of the two tables of a transfer. */
#include "dvm/protocol/transfer/test/phases.h"

#include "dvm/protocol/transfer/transfer_private.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#define STATES 8

enum side { SENDER, RECEIVER, SIDES };

static uint64_t seen[SIDES][STATES][PAIR_FAULTS];

static const char *const fault_names[] = {"lost", "arrived with an error", "late", "doubled",
                                          "on a link that breaks"};

static int state_of_taking(const struct transfer_end *e, uint64_t number)
{
    const struct taking *t;

    DL_FOREACH2(e->takings, t, next_in)
    {
        if (t->number == number)
            return t->state;
    }
    return 0;
}

void phases_note(const struct pair *p, const struct flight *f, enum pair_fault fault)
{
    int from = pair_is_of_sending(&f->m) ? f->from : !f->from;
    uint64_t number = f->m.anew.ref.number;
    const struct sending *s = sender_find(p->end[from].e, number);

    seen[SENDER][s ? s->state : 0][fault]++;
    seen[RECEIVER][state_of_taking(p->end[!from].e, number)][fault]++;
}

void phases_clear(void)
{
    memset(seen, 0, sizeof(seen));
}

static const char *find_empty(enum side side, const struct fsm *table, int done)
{
    static char text[128];

    for (size_t i = 0; i < table->nstates; i++) {
        for (int fault = 0; fault < PAIR_FAULTS; fault++) {
            int state = table->states[i].value;

            if (state == done || seen[side][state][fault])
                continue;
            snprintf(text, sizeof(text), "%s: no frame was %s while %s", table->name,
                     fault_names[fault], table->states[i].name);
            return text;
        }
    }
    return NULL;
}

const char *phases_empty(void)
{
    const char *sender = find_empty(SENDER, &sending_fsm, SENDING_DONE);

    return sender ? sender : find_empty(RECEIVER, &taking_fsm, TAKING_DONE);
}
