/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that keeps the DVM of `prte run`, and ends it when prte has ended. */
#ifndef DVM_LDVM_GUARD_H
#define DVM_LDVM_GUARD_H

#include "dvm/tools/ldvm/ldvm.h"

/* Words of the guard, each one byte. It takes those of enum ldvm_word. */
enum guard_word {
    GUARD_READY = 'r',
    GUARD_DONE = 'd', /* the DVM has ended, or could not be started; the user was told why not */
};

/* Forks the guard, which makes o->dir and starts the DVM. It is neither a child of this process
 * nor in its session. `args`: the last words of this program's command line. Returns the socket to
 * the guard, or -1. */
int guard_start(const struct ldvm_start_opts *o, char *const *args, struct err *err)
    __attribute__((warn_unused_result));

#endif
