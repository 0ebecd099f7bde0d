/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of a member's states. */
#include "api/member_state.h"

#include <string.h>

#define MEMBER_STATE_WORD(state, word) [MEMBER_##state] = (word),
static const char *const words[MEMBER_STATES] = {MEMBER_STATE_LIST(MEMBER_STATE_WORD)};
#undef MEMBER_STATE_WORD

const char *member_state_word(unsigned state)
{
    return state < MEMBER_STATES ? words[state] : "?";
}

int member_state_of(const char *word)
{
    for (int s = 0; s < MEMBER_STATES; s++) {
        if (strcmp(words[s], word) == 0)
            return s;
    }
    return -1;
}
