/* SPDX-License-Identifier: BSD-3-Clause */
/* Error messages of our command line programs: one line that says what to do. */
#ifndef DVM_CLI_USAGE_H
#define DVM_CLI_USAGE_H

#include "base/err/err.h"

/* Call this first in main(). If the caller has closed a descriptor 0..2, the next opened socket
 * would get its number and be read or written as standard input or output. This opens /dev/null
 * there: reading gives the end of input, writing an error. */
void cli_open_std(void);
/* Prints "<prog>: <message>; see '<prog> --help'" on standard error. Returns 2, the exit code
 * for wrong usage. */
int cli_usage(const char *prog, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints "<prog>: <err>" on standard error. Returns `code`. */
int cli_fail(const char *prog, int code, const struct err *err);
/* Describes an option that getopt_long() refused, as the user typed it; `opt` is its result ('?'
 * or ':'). Requires opterr = 0, an option string that begins with ':' (after '+'), and values
 * above 255 for all long options. Always returns -1. */
int cli_option_error(int opt, char *const *argv, struct err *err);

#endif
