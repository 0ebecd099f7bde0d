/* SPDX-License-Identifier: BSD-3-Clause */
/* The spawner: one tiny process that creates, limits, reaps and cleans up after ranks (PID 1 in a
 * pod). */
#ifndef DVM_SPAWNER_SPAWNER_H
#define DVM_SPAWNER_SPAWNER_H

#include "base/err/err.h"

/* Splits the program in two before any thread exists: the caller's process becomes the spawner and
 * never returns from here; its child returns the descriptor (SOCK_SEQPACKET, close-on-exec) by
 * which it commands the spawner. The spawner is the subreaper of everything; it passes SIGTERM,
 * SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 to the daemon; when the daemon ends, however it ends, it
 * kills and reaps every rank and their descendants, removes session directories made for them, and
 * exits with the daemon's code (128 + signal). If the spawner dies, daemon and ranks die
 * (PDEATHSIG). */
int spawner_split(struct err *err);

#endif
