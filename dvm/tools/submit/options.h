/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of prun, as a job to submit. */
#ifndef DVM_SUBMIT_OPTIONS_H
#define DVM_SUBMIT_OPTIONS_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/tools/cli/find.h"
#include "dvm/tools/submit/output.h"

#include <stdbool.h>

enum submit_what { SUBMIT_RUN, SUBMIT_HELP, SUBMIT_VERSION };

struct submit_opts {
    enum submit_what what;
    struct job_spec spec; /* owned; without programs if `attach` is given */
    char **sources;       /* owned: where the spec's files are here */
    const char *attach;   /* --attach: the job to follow, borrowed from argv */
    struct output_style output;
    struct cli_where where; /* the daemon; owned */
    int64_t reconnect_ms; /* how long a lost connection is tried to be made again; 0: not at all */
    int64_t end_wait_ms;  /* how long a job that was asked to end is waited for */
    bool verbose;
    size_t nwords;
    char **words; /* those made here, which stand in argv in place of the user's */
};

/* `environ_`: the caller's environment; `cwd`: its working directory, absolute,
 * "" if it has none. Permutes nothing in
 * argv; words of other launchers that mean the same as ours are replaced there, until
 * submit_opts_free(). -1: nothing is left allocated, err says in one line what
 * is wrong. */
int submit_parse(int argc, char **argv, char *const *environ_, const char *cwd,
                 struct submit_opts *out, struct err *err) __attribute__((warn_unused_result));
void submit_opts_free(struct submit_opts *o);

extern const char submit_help[]; /* the text of --help */

#endif
