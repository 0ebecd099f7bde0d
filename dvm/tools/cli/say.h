/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of others on the user's terminal: everything that our programs print goes through these,
 * apart from the output of ranks. */
#ifndef DVM_CLI_SAY_H
#define DVM_CLI_SAY_H

#include <stddef.h>

/* On the heap, one line: what a terminal might act on is escaped (base/text/printable.h). */
char *cli_text(const char *text);
/* The same for a text of several lines: ends of lines stay. */
char *cli_lines(const char *text, size_t len);
/* Prints "<prog>: <message>" on `fd`, as one line and with one write. A newline at the end of the
 * message is left out. */
void cli_say(int fd, const char *prog, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
