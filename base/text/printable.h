/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of others, made harmless for a terminal: names of programs and hosts, arguments, reasons. */
#ifndef BASE_TEXT_PRINTABLE_H
#define BASE_TEXT_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Copies `text` to out[*len], with each character that a terminal may act on as "\n" or "\x1b". It
 * ends before a character that would end beyond `room`, and then returns false. Allocates nothing;
 * adds no 0. */
bool printable_copy(char *out, size_t *len, size_t room, const char *text);
/* A JSON text, in which such characters can only be in strings: there they become "\u009b". */
void printable_json(const char *json, FILE *out);

#endif
