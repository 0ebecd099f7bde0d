/* SPDX-License-Identifier: BSD-3-Clause */
/* How our command line programs speak when something is wrong: one line that says what to do. */
#ifndef DVM_CLI_USAGE_H
#define DVM_CLI_USAGE_H

#include "base/err/err.h"

/* First of all in main(): a descriptor 0..2 that the caller has closed would be given to the next
 * socket that is opened, and be read or written as standard input or output. Reading from it is the
 * end of input then, writing to it an error. */
void cli_open_std(void);
/* "<prog>: <message>; see '<prog> --help'" on standard error. Gives 2, the exit code for it. */
int cli_usage(const char *prog, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "<prog>: <err>" on standard error. Gives `code`. */
int cli_fail(const char *prog, int code, const struct err *err);
/* What getopt_long() could not take, named as the user typed it; `opt` is its result ('?' or ':').
 * Needs opterr = 0, an option string with ':' at its beginning (after '+'), and values over 255 for
 * all long options. Always -1. */
int cli_option_error(int opt, char *const *argv, struct err *err);

#endif
