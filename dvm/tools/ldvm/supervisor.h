/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that starts the head of a local DVM again. */
#ifndef DVM_LDVM_SUPERVISOR_H
#define DVM_LDVM_SUPERVISOR_H

#include "dvm/tools/ldvm/dir.h"

#define SUPERVISOR_VPID UINT32_MAX /* stands for the supervisor among processes of daemons */
#define SUPERVISOR_RESTARTS_MAX 6u /* in a row, of heads that have lived for less than the next */
#define SUPERVISOR_STEADY_MS 60000

struct restarts { /* {0}: none so far */
    unsigned n;   /* in a row */
};
/* A head has ended that has lived for so long. Returns the pause before the next start; -1: there
 * were too many in a row. `dice`: a random number. */
int supervisor_pause_ms(struct restarts *r, int64_t lived_ms, uint32_t dice);

/* Forks the supervisor of the DVM in l->dir, whose head lives, and writes its process down. Returns
 * its number, or -1. */
pid_t supervisor_start(const struct ldvm *l, uint32_t members, struct err *err)
    __attribute__((warn_unused_result));

#endif
