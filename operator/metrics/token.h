/* SPDX-License-Identifier: BSD-3-Clause */
/* The token that lets a caller read /metrics. */
#ifndef OPERATOR_METRICS_TOKEN_H
#define OPERATOR_METRICS_TOKEN_H

#include "base/err/err.h"

#include <stdbool.h>

#define TOKEN_MIN 16 /* characters: a shorter token can be guessed */
#define TOKEN_MAX 4096

/* -1: the file cannot be read, or its token is too short or too long. Blanks and newlines at its
 * end are no part of the token. */
int token_file_check(const char *file, struct err *err) __attribute__((warn_unused_result));
/* True if `given` is the token in the file. The file is read each time, so a changed Secret counts
 * at once; NULL, and any token while the file cannot be read, is false. */
bool token_file_has(const char *file, const char *given);

#endif
