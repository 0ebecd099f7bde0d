/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment that a job brings along. */
#ifndef DVM_SUBMIT_ENVIRON_H
#define DVM_SUBMIT_ENVIRON_H

#include "base/err/err.h"

#include <stddef.h>

/* The caller's environment without what belongs to the caller's own place or process
 * (docs/prun.md, Environment), then the -x words: VAR=VAL sets, VAR passes on, whether it is left
 * out otherwise or not; an unset VAR is an error. PWD is set to `wdir`. NULL-terminated list on the
 * heap. */
char **submit_environ(char *const *environ_, const char *const *exports, size_t nexports,
                      const char *wdir, struct err *err);

#endif
