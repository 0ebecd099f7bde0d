/* SPDX-License-Identifier: BSD-3-Clause */
/* Translates options of other launchers. */
#ifndef DVM_SUBMIT_WORDS_H
#define DVM_SUBMIT_WORDS_H

#include "base/err/err.h"

#include <getopt.h>

/* *instead: the option that replaces `word`, to be freed; NULL if it is ours or no option. "-wdir"
 * is "--wdir" for each name in `ours`. `shorts`: our short options, as for getopt(3). -1: we have
 * no such option, and the message names the option to use. */
int submit_word(const char *word, const char *shorts, const struct option *ours, char **instead,
                struct err *err) __attribute__((warn_unused_result));

/* Options that we do not have, with spaces between them, and what the error says about them. "wait"
 * stands for -wait and --wait, "-W" for itself. */
struct words_refused {
    const char *options, *advice;
};

extern const struct words_refused words_refused[]; /* ends with NULL */

#endif
