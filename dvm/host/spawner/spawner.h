/* SPDX-License-Identifier: BSD-3-Clause */
/* The spawner: one tiny process that creates, limits, reaps and cleans up after ranks (PID 1 in a
 * pod). */
#ifndef DVM_SPAWNER_SPAWNER_H
#define DVM_SPAWNER_SPAWNER_H

#include "base/err/err.h"

#include <stdint.h>
#include <sys/types.h>

/* Its program, which holds none of the daemon's libraries: what it forks has few maps to copy. */
#define SPAWNER_PROGRAM "dvm-spawner" /* beside the other programs */

/* The program beside this one, on the heap; NULL: it is not there. */
char *spawner_program(struct err *err);

/* The spawner as its daemon knows it. */
struct spawner_handle {
    int sock; /* SOCK_SEQPACKET, close-on-exec */
    pid_t pid;
    uint64_t token; /* in the marks of its ranks */
};

/* Splits the program in two before any thread exists: the caller's process becomes the spawner,
 * `program`, and never returns from here; its child returns 0. `level` is that of the spawner's
 * log, and `words` (NULL-terminated) follow its own arguments, so that ps tells whose it is.
 *
 * The spawner is the subreaper of everything; it passes SIGTERM, SIGINT, SIGHUP, SIGUSR1 and
 * SIGUSR2 to the daemon; when the daemon ends, however it ends, it kills and reaps every rank and
 * their descendants, removes session directories made for them, and exits with the daemon's code
 * (128 + signal). If the spawner dies, so do the ranks (PDEATHSIG), and the daemon finds its socket
 * closed: it is to end what the ranks have left (orphans.h) and then itself. If it was stopped it
 * goes on for that, and after SPAWNER_OUTLIVE_S it is ended by SIGALRM. */
#define SPAWNER_OUTLIVE_S 20
int spawner_split(const char *program, const char *level, char *const *words,
                  struct spawner_handle *out, struct err *err);

/* The other half, in that program: `daemon` is a child of this process, the subreaper, which has
 * blocked the signals above and SIGCHLD. */
void spawner_run(int sock, pid_t daemon, uint64_t token) __attribute__((noreturn));

#endif
