/* SPDX-License-Identifier: BSD-3-Clause */
/* The words and traits of the reasons. */
#include "operator/status/reason.h"

#include <string.h>

static const struct {
    const char *word;
    unsigned traits;
} REASON_TABLE[REASONS] = {
#define REASON_ROW(reason, word, traits) [REASON_##reason] = {(word), (traits)},
    [REASON_NONE] = {"", REASON_PLAIN}, REASON_LIST(REASON_ROW)
#undef REASON_ROW
};

const char *reason_word(enum reason r)
{
    return (unsigned)r < REASONS ? REASON_TABLE[r].word : "";
}

enum reason reason_of(const char *word)
{
    for (int r = REASON_NONE + 1; r < REASONS; r++) {
        if (strcmp(REASON_TABLE[r].word, word) == 0)
            return (enum reason)r;
    }
    return REASON_NONE;
}

bool reason_is(enum reason r, enum reason_trait trait)
{
    return (unsigned)r < REASONS && REASON_TABLE[r].traits & trait;
}
