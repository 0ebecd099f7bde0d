/* SPDX-License-Identifier: BSD-3-Clause */
/* What of the environment goes with a job. */
#ifndef DVM_SUBMIT_ENVIRON_H
#define DVM_SUBMIT_ENVIRON_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

#include <stdbool.h>
#include <stddef.h>

/* A copy of `environ_` without what describes this shell, host or rank (docs/prun/io.md,
 * Environment), and, if the job runs elsewhere, without what says where things are here; with
 * PWD=`wdir` unless that is "", and the words of -x: "VAR=VAL" sets, "VAR" passes on, what was left
 * out too. On the heap, NULL-terminated; NULL: a word is malformed, VAR is not set or there are too
 * many. */
char **environ_for_job(char *const *environ_, const char *const *exports, size_t nexports,
                       const char *wdir, bool elsewhere, struct err *err);
/* At the daemon, of a program that was submitted elsewhere: `environ_`, the daemon's own, gives
 * what was left out there and not set by -x, and a working directory if there is none and its
 * files do not bring one along: HOME. */
void environ_complete(struct job_app *a, char *const *environ_, bool has_files);

#endif
