/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the processes of a local DVM share. */
#ifndef DVM_LDVM_PROCS_PRIVATE_H
#define DVM_LDVM_PROCS_PRIVATE_H

#include "dvm/tools/ldvm/procs.h"

/* Watches a process. `own`: it is this program's child, so its wait status will be known. */
int procs_add(struct procs *p, uint32_t vpid, pid_t pid, bool own, struct err *err)
    __attribute__((warn_unused_result));

#endif
