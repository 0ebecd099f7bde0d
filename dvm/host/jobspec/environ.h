/* SPDX-License-Identifier: BSD-3-Clause */
/* Which environment variables go with a job. */
#ifndef DVM_SUBMIT_ENVIRON_H
#define DVM_SUBMIT_ENVIRON_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

#include <stdbool.h>
#include <stddef.h>

/* Copies `environ_` without the variables that describe this shell, host or rank
 * (docs/prun/io.md, Environment). If the job runs elsewhere, variables that name places here are
 * left out too. PWD becomes `wdir` unless that is "". Then the words of -x apply: "VAR=VAL"
 * sets, "VAR" passes on, even if it was left out. On the heap, NULL-terminated. NULL: a word is
 * malformed, VAR is not set, or there are too many. */
char **environ_for_job(char *const *environ_, const char *const *exports, size_t nexports,
                       const char *wdir, bool elsewhere, struct err *err);
/* At the daemon, for a program that was submitted elsewhere: adds the daemon's own values of
 * variables that were left out and that -x has not set. Sets the working directory to HOME if
 * there is none and no files come along. */
void environ_complete(struct job_app *a, char *const *environ_, bool has_files);
void environ_drop(struct job_app *a, const char *name); /* also if it is there several times */
/* Replaces NAME by a copy of `entry`, NAME=value; beyond JOB_ARGS_MAX variables it has no effect.
 */
void environ_put(struct job_app *a, const char *name, const char *entry);

#endif
