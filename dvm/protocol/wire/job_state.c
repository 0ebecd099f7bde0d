/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a job's states. */
#include "dvm/protocol/wire/job_state.h"

#include <stddef.h>

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
