/* SPDX-License-Identifier: BSD-3-Clause */
/* Local launch: drives the spawner and owns the ranks' pipes. A job is named by its namespace. */
#ifndef DVM_ODLS_ODLS_H
#define DVM_ODLS_ODLS_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "dvm/host/spawner/spawner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ODLS_STDIN 0
#define ODLS_STDOUT 1
#define ODLS_STDERR 2
#define ODLS_ALL_RANKS UINT32_MAX

/* None is called from within an odls_* call. For each rank started: on_started or on_failed once;
 * after on_started exactly one on_exited and one end of each output stream (len 0), in any order.
 */
struct odls_upcalls {
    void (*on_started)(const char *nspace, uint32_t rank, pid_t pid, void *arg);
    /* The program never ran: what could not be done, and errno. */
    void (*on_failed)(const char *nspace, uint32_t rank, int errnum, const char *what, void *arg);
    void (*on_output)(const char *nspace, uint32_t rank, int stream, const void *data, size_t len,
                      void *arg);
    /* A rank with stop_at_exec has stopped, after on_started; and goes on, by SIGCONT. Once each.
     */
    void (*on_held)(const char *nspace, uint32_t rank, bool held, void *arg);
    /* Reaped: `wait_status` as waitpid(2) gives it. */
    void (*on_exited)(const char *nspace, uint32_t rank, int wait_status, void *arg);
    /* Room again in a rank's stdin after odls_stdin() said more than 64 KiB wait. */
    void (*on_stdin_room)(const char *nspace, uint32_t rank, void *arg);
    void (*on_cleaned)(uint64_t scope, int errnum, void *arg); /* after odls_clean_run() */
    void (*on_spawner_lost)(const char *why, void *arg);       /* the daemon has to end */
    /* Before the end of a stream that is not waited for: a process that the rank left holds it. */
    void (*on_left_open)(const char *nspace, uint32_t rank, int stream, void *arg);
    /* A rank that waits has passed its checks. It is the first upcall about the rank. */
    void (*on_ready)(const char *nspace, uint32_t rank, void *arg);
};

struct odls_times {
    uint64_t silent_ms; /* for an answer of the spawner */
    uint64_t linger_ms; /* for a process that a rank has left and that holds the rank's output */
};
#define ODLS_LINGER_MS 2000 /* in a daemon */

struct odls;
/* The spawner from spawner_split(); its socket is taken. While something is wanted of it, it has to
 * answer: after half of silent_ms without a word it gets SIGCONT, after all of it SIGKILL (to
 * no effect from inside a pod, where it is process 1), and is lost. All processes of its ranks are
 * then ended before on_spawner_lost. */
struct odls *odls_create(struct loop *loop, const struct spawner_handle *spawner,
                         const struct odls_times *times, const struct odls_upcalls *up, void *arg,
                         struct err *err);
/* Not from within an upcall. What still runs is ended by the spawner. */
void odls_destroy(struct odls *o);

struct odls_rank {
    uint32_t rank;
    const char *const *argv; /* argv[0] is looked up in env's PATH if it has no slash */
    const char *const *env;
    const char *cwd;    /* absolute, must exist */
    const char *cpuset; /* hwloc list "0-3,8"; NULL: as the daemon */
    bool want_stdin;    /* else /dev/null */
    bool stop_at_exec;  /* before its first instruction, until SIGCONT */
    bool traceable;     /* by a debugger of the same user that is no ancestor of it */
    bool waits;         /* before its exec, for odls_go() */
};
/* Copies what it needs. -1: nothing was started (a limit, too many bytes). */
int odls_start(struct odls *o, const char *nspace, const struct odls_rank *ranks, size_t n,
               struct err *err) __attribute__((warn_unused_result));
/* All ranks of a namespace that wait do so no longer. */
void odls_go(struct odls *o, const char *nspace);
/* To the ranks' whole process groups. Unknown namespaces and ended ranks are fine. */
void odls_signal(struct odls *o, const char *nspace, uint32_t rank_or_all, int signum);
/* SIGTERM now, SIGKILL after grace to what still lives. */
void odls_end(struct odls *o, const char *nspace, uint32_t rank_or_all, uint64_t grace_ms);
/* Queues input; returns the bytes that wait for the rank now; over 1 MiB the rank's input is
 * refused (returns SIZE_MAX). len 0 closes it. */
size_t odls_stdin(struct odls *o, const char *nspace, uint32_t rank, const void *data, size_t len);
/* Stops and starts the reading of all output of one namespace (back pressure). Ranks that
 * odls_end() has named have their last output read all the same, some time after their end. */
void odls_output_pause(struct odls *o, const char *nspace, bool paused);
/* What is to be removed, in scopes whose numbers are the caller's: kept by the spawner, which
 * removes it when the scope is run, or when the daemon is gone. Flags are those of
 * dvm/host/spawner/remove.h; the same path of the same kind again changes them. A scope is run
 * once. */
void odls_clean_add(struct odls *o, uint64_t scope, unsigned flags, const char *path);
void odls_clean_run(struct odls *o, uint64_t scope);

#endif
