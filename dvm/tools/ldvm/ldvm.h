/* SPDX-License-Identifier: BSD-3-Clause */
/* A local DVM: several daemons on this host, without Kubernetes. What prte's verbs do. */
#ifndef DVM_LDVM_LDVM_H
#define DVM_LDVM_LDVM_H

#include "dvm/tools/ldvm/procs.h"

#include <stdint.h>

struct ldvm_start_opts {
    const char *dir; /* absolute */
    uint32_t members;
    uint32_t slots; /* of each member */
    uint32_t radix;
};

/* Makes the directory and certificates, starts head and members, waits until all are wired. The
 * daemons' processes; procs_destroy() leaves them alone. NULL: nothing is left, but the end of the
 * log of a daemon that failed is in *log (heap, "" if there is none). */
struct procs *ldvm_start(const struct ldvm_start_opts *o, bool catch_signals, char **log,
                         struct err *err);
/* Stays until the head has ended; a signal ends the DVM, a second one kills it. Tells on standard
 * error who ends. Removes the directory. */
int ldvm_attend(struct procs *p, const char *dir, struct err *err)
    __attribute__((warn_unused_result));

/* Ends the DVM of `dir`, whatever state it is in: by its head if that answers, else by signals. */
int ldvm_stop(const char *dir, int64_t deadline_s, struct err *err)
    __attribute__((warn_unused_result));
/* After the head's end: waits for the other daemons, ends those that stay (told on standard
 * error), removes the directory. `patient`: they have been told to go. */
int ldvm_finish(const char *dir, struct procs *own, bool patient, struct err *err)
    __attribute__((warn_unused_result));

struct ldvm_resize_opts {
    const char *dir;
    uint32_t members;
    bool drain_given; /* --drain or --deadline */
    bool kill;
    int64_t deadline_s; /* -1: none */
};
/* Removes what is too much by one campaign, then starts what is missing; prints a time line. */
int ldvm_resize(const struct ldvm_resize_opts *o, struct err *err)
    __attribute__((warn_unused_result));

#endif
