/* SPDX-License-Identifier: BSD-3-Clause */
/* The spawner: a small process that creates, limits, reaps and cleans up after ranks (process 1
 * in a pod). */
#ifndef DVM_SPAWNER_SPAWNER_H
#define DVM_SPAWNER_SPAWNER_H

#include "base/err/err.h"

#include <stdint.h>
#include <sys/types.h>

/* Its program contains none of the daemon's libraries, so a forked child has few mappings to
 * copy. */
#define SPAWNER_PROGRAM "dvm-spawner" /* installed beside the other programs */

/* The path of the program, on the heap; NULL: it is missing. */
char *spawner_program(struct err *err);

/* The spawner as its daemon knows it. */
struct spawner_handle {
    int sock; /* SOCK_SEQPACKET, close-on-exec */
    pid_t pid;
    uint64_t token; /* part of the marks of its ranks */
};

#define SPAWNER_GRACE_MS 2000 /* time that a daemon's ranks have, usually */

struct spawner_options {
    const char *program; /* spawner_program() */
    const char *level;   /* of the spawner's log, log_level_name() */
    const char *dir;     /* session directory: its file of cleanups; NULL: it keeps none */
    char *const *words;  /* NULL-terminated; follow its own arguments, so that ps shows the DVM */
    uint32_t grace_ms;   /* from SIGTERM to SIGKILL for all processes, after the daemon's end */
};

/* Splits the program in two before any thread exists. The caller's process becomes the spawner
 * and never returns from here; its child, the daemon, returns 0. The options are borrowed for the
 * call. -1, with *err: nothing has been split.
 *
 * The spawner is the subreaper of all processes. It passes SIGTERM, SIGINT, SIGHUP, SIGUSR1 and
 * SIGUSR2 to the daemon. When the daemon ends for any reason, the spawner kills and reaps every
 * rank and their descendants and removes their session directories. It exits with the daemon's code
 * (128 + signal).
 *
 * If the spawner dies, so do the ranks (PDEATHSIG), and the daemon finds its socket closed. The
 * daemon then ends leftover processes of the ranks (orphans.h) and itself. A stopped daemon is
 * continued for that, and after SPAWNER_OUTLIVE_S it is ended by SIGALRM. */
#define SPAWNER_OUTLIVE_S 20
int spawner_split(const struct spawner_options *o, struct spawner_handle *out, struct err *err)
    __attribute__((warn_unused_result));

/* The spawner's part, in its own program. `daemon` is a child of this process, which is the
 * subreaper and has blocked SIGCHLD and the signals above. */
void spawner_run(int sock, pid_t daemon, uint64_t token, uint32_t grace_ms, const char *dir)
    __attribute__((noreturn));

#endif
