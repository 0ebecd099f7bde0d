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
    /* A rank with stop_at_exec has stopped, after on_started; later it is continued by SIGCONT.
     * Each is called once. */
    void (*on_held)(const char *nspace, uint32_t rank, bool held, void *arg);
    /* Reaped: `wait_status` as waitpid(2) gives it. */
    void (*on_exited)(const char *nspace, uint32_t rank, int wait_status, void *arg);
    /* A rank's stdin has room again, after odls_stdin() returned more than 64 KiB. */
    void (*on_stdin_room)(const char *nspace, uint32_t rank, void *arg);
    void (*on_cleaned)(uint64_t scope, int errnum, void *arg); /* after odls_clean_run() */
    void (*on_spawner_lost)(const char *why, void *arg);       /* the daemon has to end */
    /* Called before the end of a stream that a leftover process of the rank holds open. That end
     * is not awaited. */
    void (*on_left_open)(const char *nspace, uint32_t rank, int stream, void *arg);
    /* A waiting rank has passed its checks. It is the first upcall about the rank. */
    void (*on_ready)(const char *nspace, uint32_t rank, void *arg);
};

struct odls_times {
    uint64_t silent_ms; /* limit of time for an answer of the spawner */
    uint64_t linger_ms; /* limit of time for a leftover process that holds the rank's output */
    uint32_t hung_ms;   /* limit of this daemon's own silence, after which its spawner ends it; 0:
                           none.   More than 1.5 times silent_ms: a ping is sent in half of that */
};
#define ODLS_LINGER_MS 2000 /* default of a daemon */

struct odls;
/* The spawner from spawner_split(); its socket is taken. While a request is pending, the spawner
 * has to answer: after half of silent_ms without a message it gets SIGCONT, after all of it
 * SIGKILL, and is declared lost. SIGKILL has no effect from inside a pod, where the spawner is
 * process 1. All processes of its ranks are ended before on_spawner_lost. */
struct odls *odls_create(struct loop *loop, const struct spawner_handle *spawner,
                         const struct odls_times *times, const struct odls_upcalls *up, void *arg,
                         struct err *err);
/* Not from within an upcall. The spawner ends ranks that still run. */
void odls_destroy(struct odls *o);

struct odls_rank {
    uint32_t rank;
    const char *const *argv; /* argv[0] is looked up in env's PATH if it has no slash */
    const char *const *env;
    const char *cwd;    /* absolute, must exist */
    const char *cpuset; /* hwloc list "0-3,8"; NULL: the CPUs of the daemon */
    bool want_stdin;    /* false: /dev/null */
    bool stop_at_exec;  /* stops before its first instruction, until SIGCONT */
    bool traceable; /* may be debugged by a process of the same user that is no ancestor of it */
    bool waits;     /* waits before its exec for odls_go() */
};
/* Copies what it needs. -1: nothing was started (a limit, too many bytes). */
int odls_start(struct odls *o, const char *nspace, const struct odls_rank *ranks, size_t n,
               struct err *err) __attribute__((warn_unused_result));
/* Releases all waiting ranks of a namespace. */
void odls_go(struct odls *o, const char *nspace);
/* Signals the ranks' whole process groups. Unknown namespaces and ended ranks are ignored. */
void odls_signal(struct odls *o, const char *nspace, uint32_t rank_or_all, int signum);
/* SIGTERM now, SIGKILL after the grace to ranks that still live. */
void odls_end(struct odls *o, const char *nspace, uint32_t rank_or_all, uint64_t grace_ms);
/* Queues input and returns the bytes that are queued for the rank. Input over 1 MiB is refused
 * (SIZE_MAX). len 0 closes the rank's stdin. */
size_t odls_stdin(struct odls *o, const char *nspace, uint32_t rank, const void *data, size_t len);
/* Stops and starts the reading of all output of one namespace (back pressure). Ranks that
 * odls_end() has named have their last output read all the same, some time after their end. */
void odls_output_pause(struct odls *o, const char *nspace, bool paused);
/* on() for each namespace whose output is not read now. */
void odls_each_paused(const struct odls *o, void (*on)(void *arg, const char *nspace), void *arg);
/* Paths to be removed, in scopes that the caller numbers. The spawner keeps them. It removes the
 * paths of a scope when the scope is run, or when the daemon has ended. Flags are those of
 * dvm/host/spawner/remove.h; the same path of the same kind again changes its flags. A scope is
 * run once. */
void odls_clean_add(struct odls *o, uint64_t scope, unsigned flags, const char *path);
void odls_clean_run(struct odls *o, uint64_t scope);

#endif
