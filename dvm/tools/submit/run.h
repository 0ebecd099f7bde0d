/* SPDX-License-Identifier: BSD-3-Clause */
/* Submits a job over a connection and follows it to its end. */
#ifndef DVM_SUBMIT_RUN_H
#define DVM_SUBMIT_RUN_H

#include "dvm/tools/cli/conn.h"
#include "dvm/tools/submit/options.h"

/* Descriptors for prun's standard input, output and error; they stay the caller's. `signals`: a
 * signalfd of SIGINT, SIGTERM, SIGHUP (end the job), SIGUSR1, SIGUSR2 (passed on to the ranks once
 * they run) and SIGCONT, which are blocked. */
struct run_fds {
    int in, out, err;
    int signals;
};

/* Starts another connection to the same daemon. */
typedef struct cli_conn *run_dial_fn(void *arg, struct err *err);

#define SUBMIT_AWAY (-1)

struct submit_away { /* the job may be submitted at another daemon; if there is none: */
    int code;        /* prun's exit code, */
    struct err why;  /* and the reason */
    bool given_back; /* the DVM had accepted the job; nothing of it ran */
};

/* Takes the connection. Returns prun's exit code. Messages go to fds->err. `dial` is used if the
 * options allow reconnects. SUBMIT_AWAY: the daemon takes no jobs now, or its DVM gives the job
 * back. Then *away is filled in, neither input nor files were sent, and the reason is not printed.
 */
int submit_run(struct cli_conn *c, run_dial_fn *dial, void *arg, const struct submit_opts *opts,
               const struct run_fds *fds, struct submit_away *away);

#endif
