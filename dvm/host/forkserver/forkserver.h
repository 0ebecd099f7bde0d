/* SPDX-License-Identifier: BSD-3-Clause */
/* One process that forks the members of several vpids on this host, so that they need not each
 * load libraries, read certificates and discover the topology. */
#ifndef DVM_FORKSERVER_FORKSERVER_H
#define DVM_FORKSERVER_FORKSERVER_H

#include "base/err/err.h"

#include <stdint.h>

/* Environment of prted: the last vpid; the first one is that of its command line. */
#define FORKSERVER_LAST "DVM_LAST_VPID"
/* In a member's session directory: its output. */
#define FORKSERVER_LOG "prted.log"

/* The last vpid up to `last` that one server can start together with `first`. */
uint32_t forkserver_last(uint32_t first, uint32_t last);

/* Forks one process for each vpid from `first` to `last`. 0: this is such a process, for *vpid.
 * 1: this is the server, and all processes exist. -1: an error, in the server or in a process.
 *
 * `argv` is the server's command line, with the words --vpid, --session-dir and --host-name. The
 * next word of each ends in the number `first`. It is replaced in place by the process's vpid, so
 * /proc shows each daemon's own command line, and pointers into argv stay valid. A process leads a
 * session, reads /dev/null and appends its output to FORKSERVER_LOG.
 *
 * The server prints "<vpid> <pid>\n" to standard output for each process. Call it before threads
 * exist. */
int forkserver_run(char **argv, uint32_t first, uint32_t last, uint32_t *vpid, struct err *err)
    __attribute__((warn_unused_result));

#endif
