/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules for a job that concern several of prun's options. */
#ifndef DVM_SUBMIT_SPEC_CHECK_H
#define DVM_SUBMIT_SPEC_CHECK_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

/* Completes the job of a whole command line. -1 and a reason: its options contradict each other,
 * or a limit is exceeded. */
int submit_check(struct job_spec *s, struct err *err) __attribute__((warn_unused_result));

#endif
