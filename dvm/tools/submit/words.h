/* SPDX-License-Identifier: BSD-3-Clause */
/* Options as users of other launchers know them. */
#ifndef DVM_SUBMIT_WORDS_H
#define DVM_SUBMIT_WORDS_H

#include "base/err/err.h"

#include <getopt.h>

/* *instead: what to read in place of `word`, to be freed; NULL if it is ours as it stands, or no
 * option at all. "-wdir" is "--wdir" for each name in `ours`. -1: it has no equal here, and the
 * message names what does the same. */
int submit_word(const char *word, const struct option *ours, char **instead, struct err *err)
    __attribute__((warn_unused_result));

#endif
