/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of a job's states. */
#include "api/job_state.h"

#include <stddef.h>
#include <string.h>

const char *job_state_word(unsigned number)
{
#define JOB_STATE_CASE(state, n)                                                                   \
    case (n):                                                                                      \
        return #state;
    switch (number) {
        JOB_STATES(JOB_STATE_CASE)
    default:
        return NULL;
    }
#undef JOB_STATE_CASE
}

int job_state_of(const char *word)
{
#define JOB_STATE_ROW(state, n) {(n), #state},
    static const struct {
        int number;
        const char *word;
    } states[] = {JOB_STATES(JOB_STATE_ROW)};
#undef JOB_STATE_ROW

    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        if (strcmp(states[i].word, word) == 0)
            return states[i].number;
    }
    return -1;
}
