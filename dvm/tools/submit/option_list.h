/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of prun: one row for each, with what it holds for.
 *
 * JOB: the whole job. PROGRAM: the program that it stands before. PRUN: how prun itself finds the
 * DVM and shows the job, so it goes with --attach. ANY: no job depends on it.
 *
 * An option of JOB or PRUN stands before the first program; before a later one it is refused,
 * unless it says the same. ONCE: it is given once for that; OFTEN: further ones add to it.
 * DVM_PRUN_OPTIONS: an ONCE option of the command line replaces that of the variable. */
#ifndef DVM_SUBMIT_OPTION_LIST_H
#define DVM_SUBMIT_OPTION_LIST_H

/* X(id, name, argument, holds for, how often). -x has no long name. */
#define SUBMIT_OPTIONS(X)                                                                          \
    X(NP, "np", required_argument, PROGRAM, ONCE)                                                  \
    X(NPERNODE, "npernode", required_argument, JOB, ONCE)                                          \
    X(MAP_BY, "map-by", required_argument, JOB, ONCE)                                              \
    X(RANK_BY, "rank-by", required_argument, JOB, ONCE)                                            \
    X(BIND_TO, "bind-to", required_argument, JOB, ONCE)                                            \
    X(DISPLAY, "display", required_argument, JOB, OFTEN)                                           \
    X(MAP_ONLY, "do-not-launch", no_argument, JOB, ONCE)                                           \
    X(MPI, "mpi", required_argument, ANY, OFTEN)                                                   \
    X(QUIET, "quiet", no_argument, ANY, OFTEN)                                                     \
    X(HOST, "host", required_argument, JOB, ONCE)                                                  \
    X(WDIR, "wdir", required_argument, PROGRAM, ONCE)                                              \
    X(TIMEOUT, "timeout", required_argument, JOB, ONCE)                                            \
    X(TAG_OUTPUT, "tag-output", no_argument, PRUN, ONCE)                                           \
    X(TIMESTAMP, "timestamp-output", no_argument, PRUN, ONCE)                                      \
    X(MERGE, "merge-stderr-to-stdout", no_argument, PRUN, ONCE)                                    \
    X(OUTPUT, "output", required_argument, PRUN, ONCE)                                             \
    X(MCA, "mca", required_argument, PROGRAM, OFTEN)                                               \
    X(PMIXMCA, "pmixmca", required_argument, PROGRAM, OFTEN)                                       \
    X(ROOT, "allow-run-as-root", no_argument, ANY, OFTEN)                                          \
    X(DETACH, "detach", no_argument, JOB, ONCE)                                                    \
    X(SURVIVE, "survive", no_argument, JOB, ONCE)                                                  \
    X(ATTACH, "attach", required_argument, PRUN, ONCE)                                             \
    X(STDIN, "stdin", required_argument, JOB, ONCE)                                                \
    X(DAEMON_LIMITS, "daemon-limits", no_argument, JOB, ONCE)                                      \
    X(OVERSUBSCRIBE, "oversubscribe", no_argument, JOB, ONCE)                                      \
    X(NO_WAIT, "no-wait", no_argument, JOB, ONCE)                                                  \
    X(RTOS, "rtos", required_argument, JOB, ONCE)                                                  \
    X(RECOVERABLE, "recoverable", no_argument, JOB, ONCE)                                          \
    X(STRICT, "strict", no_argument, JOB, ONCE)                                                    \
    X(CLEANUP_FILE, "cleanup-file", required_argument, JOB, OFTEN)                                 \
    X(CLEANUP_DIR, "cleanup-dir", required_argument, JOB, OFTEN)                                   \
    X(PRELOAD_FILES, "preload-files", required_argument, JOB, OFTEN)                               \
    X(PRELOAD_BINARY, "preload-binary", no_argument, PROGRAM, ONCE)                                \
    X(STOP_ON_EXEC, "stop-on-exec", no_argument, JOB, ONCE)                                        \
    X(STOP_IN_INIT, "stop-in-init", no_argument, JOB, ONCE)                                        \
    X(STOP_IN_APP, "stop-in-app", no_argument, JOB, ONCE)                                          \
    X(DVM, "dvm", required_argument, PRUN, ONCE)                                                   \
    X(TLS_DIR, "tls-dir", required_argument, PRUN, ONCE)                                           \
    X(RECONNECT, "reconnect", required_argument, PRUN, ONCE)                                       \
    X(VERBOSE, "verbose", no_argument, ANY, OFTEN)                                                 \
    X(HELP, "help", no_argument, ANY, OFTEN)                                                       \
    X(VERSION, "version", no_argument, ANY, OFTEN)

enum option_holds { HOLDS_JOB, HOLDS_PROGRAM, HOLDS_PRUN, HOLDS_ANY };
enum option_times { TIMES_ONCE, TIMES_OFTEN };

/* Values above every character, by which cli_option_error() recognises long options. */
enum option_id {
    OPT_EXPORT = 256, /* -x */
#define OPTION_ID(id, name, argument, holds, times) OPT_##id,
    SUBMIT_OPTIONS(OPTION_ID)
#undef OPTION_ID
        OPT_END
};

#endif
