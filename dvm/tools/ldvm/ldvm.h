/* SPDX-License-Identifier: BSD-3-Clause */
/* A local DVM: several daemons on this host, without Kubernetes. These are the functions behind
 * prte's verbs. */
#ifndef DVM_LDVM_LDVM_H
#define DVM_LDVM_LDVM_H

#include "dvm/tools/cli/conn.h"
#include "dvm/tools/ldvm/procs.h"

#include <stdint.h>

struct ldvm_start_opts {
    const char *dir; /* absolute */
    uint32_t members;
    uint32_t slots; /* of each member */
    uint32_t radix;
    struct api_faults faults;
    int peer; /* taken: a socket to a program for which the DVM exists; 0: none */
};

/* Words of the peer, each one byte. The end of the peer means LDVM_HURRY. */
enum ldvm_word {
    LDVM_END = 'e',   /* end the DVM */
    LDVM_HURRY = 'h', /* within some 5 s */
    LDVM_KILL = 'k',  /* now */
};

/* Creates directory and certificates, starts head and members, waits until all are wired.
 * Returns the daemons' processes; procs_destroy() does not end them. NULL: everything is
 * removed, and *log (heap, "" if there is none) has the end of the log of the daemon that
 * failed. */
struct procs *ldvm_start(const struct ldvm_start_opts *o, bool catch_signals, char **log,
                         struct err *err);
/* Waits until the head has ended. A signal ends the DVM as ldvm_stop() does, a second one kills it;
 * so do words of the peer.
 * Reports each daemon that ends on standard error. Removes the directory. */
int ldvm_attend(struct procs *p, const char *dir, struct err *err)
    __attribute__((warn_unused_result));

/* Starts a DVM in a new directory of `tmp`, runs prun with `args` (NULL-terminated) in it, and ends
 * the DVM, also when this program is killed (guard.c). o->dir and o->peer are not read. Returns
 * the exit code: that of prun, 128 and the signal that has ended this program's wait, or -1. */
int ldvm_run(const struct ldvm_start_opts *o, const char *tmp, char *const *args, struct err *err)
    __attribute__((warn_unused_result));

/* Ends the DVM of `dir` in any state: by its head if that answers, else by signals. */
int ldvm_stop(const char *dir, int64_t deadline_s, struct err *err)
    __attribute__((warn_unused_result));
/* The same through a connection to the head, which it takes. -1 also if the head refuses or does
 * not answer; then nothing is ended. */
int ldvm_shutdown(const char *dir, struct cli_conn *c, int64_t deadline_s, struct err *err)
    __attribute__((warn_unused_result));
/* Begins the limit of an end without a deadline for jobs. Borrows `dir`. */
struct cli_limit ldvm_stop_limit(const char *dir);
/* After the head's end, or the limit: waits for the daemons that have been asked to leave, ends
 * those that remain (reported on standard error), removes the directory. `l` NULL: nobody has asked
 * them, they are ended at once. `own`, NULL: none, are children of this program. */
int ldvm_finish(const char *dir, struct procs *own, struct cli_limit *l, struct err *err)
    __attribute__((warn_unused_result));

struct ldvm_resize_opts {
    const char *dir;
    uint32_t members;
    size_t nremove; /* these members leave, and `members` is not read; 0: none */
    const uint32_t *remove;
    bool drain_given; /* --drain or --deadline */
    bool kill;
    int64_t deadline_s; /* -1: none */
};
/* Removes the superfluous members by one campaign, then starts the missing ones; or removes the
 * given members only, whose places stay free until a later resize. Prints a time line. */
int ldvm_resize(const struct ldvm_resize_opts *o, struct err *err)
    __attribute__((warn_unused_result));

#endif
