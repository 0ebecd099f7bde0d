/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the reasons. */
#include "api/reason.h"

#include <string.h>

#define API_REASON_WORD(reason, word) [API_REASON_##reason] = (word),
static const char *const words[API_REASONS] = {[API_REASON_NONE] = "",
                                               API_REASON_LIST(API_REASON_WORD)};
#undef API_REASON_WORD

const char *api_reason_word(enum api_reason r)
{
    return (unsigned)r < API_REASONS ? words[r] : "";
}

enum api_reason api_reason_of(const char *word)
{
    for (int r = API_REASON_NONE + 1; r < API_REASONS; r++) {
        if (strcmp(words[r], word) == 0)
            return (enum api_reason)r;
    }
    return API_REASON_NONE;
}
